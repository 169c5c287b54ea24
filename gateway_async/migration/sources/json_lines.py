"""JSON Lines → rows: one object a line."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import msgspec

from gateway_async.migration.columns import Columns, Fit
from gateway_async.migration.creating import row_of, unreadable
from gateway_async.migration.rows import VaultRow
from gateway_async.migration.sources.decoding import decoded
from gateway_async.migration.sources.opening import Bytes
from gateway_async.migration.sources.records import Record, Splitter
from gateway_async.migration.sources.shard import Shard

__all__ = ["JsonRows"]

_decoder: Final = msgspec.json.Decoder(float_hook=str)
"""Numbers with a point or an exponent stay as they were written: a card number in that form has lost digits."""


class JsonRows:
    """The rows of a file with one JSON object a line; blank lines are left out.

    Args:
        source: its bytes.
        columns: how the objects' names become fields.
        shard: the part to read; None for all.
    """

    def __init__(self, source: Bytes, columns: Columns, *, shard: Shard | None = None) -> None:
        self.columns: tuple[str, ...] = ()
        self.fields: dict[str, str] = dict(columns.names)
        self._source = source
        self._constants = columns.constants
        self._fit = lru_cache(256)(columns.fit_some)
        if shard:
            source.move_to(shard.start)
        self._splitter = Splitter(start=shard.start if shard else source.start, line=shard.first_line if shard else 1)
        self._end = shard.end if shard else None

    def batches(self) -> Iterator[Sequence[VaultRow]]:
        """The rows, some at a time."""
        for records in self.records():
            yield [self._row(record) for record in records if record.content.strip() or record.problem]

    def records(self) -> Iterator[Sequence[Record]]:
        """The lines, as they can be told."""
        while data := self._source.read():
            records = self._splitter.feed(data)
            kept = records if self._end is None else [record for record in records if record.start < self._end]
            yield kept
            if len(kept) < len(records):
                return
        yield [record for record in self._splitter.finish() if self._end is None or record.start < self._end]

    def _row(self, record: Record) -> VaultRow:
        text, problem = decoded(record.content, self._source)
        if record.problem or problem:
            return unreadable(record.problem or problem, line=record.line, source=_as_text(record.content))
        try:
            content = _decoder.decode(text)
        except (msgspec.DecodeError, RecursionError) as error:
            return unreadable(f"is no JSON: {error}", line=record.line, source=_as_text(record.content))
        if not isinstance(content, dict):
            return unreadable(
                "must be a JSON object, one on each line", line=record.line, source=_as_text(record.content)
            )
        return self._read(record, content)

    def _read(self, record: Record, content: Mapping[str, Any]) -> VaultRow:
        fit: Fit = self._fit(tuple(content))
        values = list(content.values())
        cells = {field: value for field, value in zip(fit.fields, values, strict=True) if field}
        key = None if fit.key is None else values[fit.key]
        cells = {**self._constants, **cells}
        return row_of(cells, key=key, line=record.line, source=content, problems=fit.problems)


def _as_text(content: bytes) -> Mapping[str, str] | None:
    """A line that cannot be told, under a name that is masked, since a number may be anywhere in it."""
    return {"account_number": content.decode(errors="backslashreplace")} if content else None
