"""Rows of JSON Lines files: one object a line."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import msgspec

from gateway_async.migration.rows.builder import build_row, unreadable_row
from gateway_async.migration.rows.columns import ColumnMapping, Columns
from gateway_async.migration.rows.row import VaultRow
from gateway_async.migration.sources.byte_source import Bytes
from gateway_async.migration.sources.records import RawRecord, Shard, Splitter, read_records

__all__ = ["JsonRows"]

_decoder: Final = msgspec.json.Decoder(float_hook=str)
"""Keeps numbers with a point or an exponent as text, because a card number in that form has lost digits."""


class JsonRows:
    """The rows of a file with one JSON object a line. Blank lines are skipped.

    Args:
        source: the bytes of the file.
        columns: the mapping of the objects' names to fields.
        shard: the part to read; None for all.
    """

    def __init__(self, source: Bytes, columns: Columns, *, shard: Shard | None = None) -> None:
        self.columns: tuple[str, ...] = ()
        self.fields: dict[str, str] = dict(columns.names)
        self._source = source
        self._constants = columns.constants
        self._mapping = lru_cache(256)(columns.map_names)
        if shard:
            source.move_to(shard.start)
        self._splitter = Splitter(start=shard.start if shard else source.start, line=shard.first_line if shard else 1)
        self._end = shard.end if shard else None

    def first_names(self) -> tuple[str, ...]:
        """Return the names in the first object without consuming it; () if the file begins with something else."""
        data = self._source.read()
        self._source.give_back(data)
        first = next((line for line in data.splitlines() if line.strip()), b"")
        try:
            content = _decoder.decode(first)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            return ()
        return tuple(content) if isinstance(content, dict) else ()

    def batches(self) -> Iterator[Sequence[VaultRow]]:
        """Yield the rows in batches."""
        for records in self.records():
            yield [self._row(record) for record in records if record.content.strip() or record.problem]

    def records(self) -> Iterator[Sequence[RawRecord]]:
        """Yield the lines in batches."""
        return read_records(self._source, self._splitter, self._end)

    def _row(self, record: RawRecord) -> VaultRow:
        try:
            content = self._read_object(record)
        except ValueError as error:
            return unreadable_row(str(error), line=record.line, source=_as_text(record.content))
        mapping: ColumnMapping = self._mapping(tuple(content))
        values = list(content.values())
        cells = {field: value for field, value in zip(mapping.fields, values, strict=True) if field}
        key = None if mapping.key is None else values[mapping.key]
        cells = {**self._constants, **cells}
        return build_row(cells, key=key, line=record.line, source=content, problems=mapping.problems)

    def _read_object(self, record: RawRecord) -> Mapping[str, Any]:
        if record.problem:
            raise ValueError(record.problem)
        text = self._source.decode(record.content)
        try:
            content = _decoder.decode(text)
        except (msgspec.DecodeError, RecursionError) as error:
            raise ValueError(f"not valid JSON: {error}") from None
        if not isinstance(content, dict):
            raise ValueError("must be a JSON object, one on each line")
        return content


def _as_text(content: bytes) -> Mapping[str, str] | None:
    """Return an unreadable line under a name that is masked."""
    return {"account_number": content.decode(errors="backslashreplace")} if content else None
