"""Rows of JSON Lines files: one object a line."""

from functools import lru_cache
from typing import Any, Final

import msgspec

from gateway_async.migration.rows.builder import build_mapped_row
from gateway_async.migration.rows.columns import Columns
from gateway_async.migration.rows.row import VaultRow
from gateway_async.migration.sources.byte_source import Bytes
from gateway_async.migration.sources.records import Shard, Splitter
from gateway_async.migration.sources.text_rows import TextRows

__all__ = ["JsonRows"]

_decoder: Final = msgspec.json.Decoder(float_hook=str)
"""Keeps numbers with a point or an exponent as text, because a card number in that form has lost digits."""


class JsonRows(TextRows):
    """The rows of a file with one JSON object a line. Blank lines are skipped.

    Args:
        source: the bytes of the file.
        columns: the mapping of the objects' names to fields.
        shard: the part to read; None for all.
    """

    def __init__(self, source: Bytes, columns: Columns, *, shard: Shard | None = None) -> None:
        super().__init__(source, shard)
        self.fields = dict(columns.names)
        self._constants = columns.constants
        self._mapping = lru_cache(256)(columns.map_names)
        if shard:
            source.move_to(shard.start)
        self._splitter = Splitter(start=shard.start if shard else source.start, line=shard.first_line if shard else 1)

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

    def _build_row(self, content: dict[str, Any], line: int) -> VaultRow:
        mapping = self._mapping(tuple(content))
        return build_mapped_row(mapping, [*content.values()], self._constants, line=line, source=content)

    def _parse(self, text: str) -> dict[str, Any]:
        try:
            content = _decoder.decode(text)
        except (msgspec.DecodeError, RecursionError) as error:
            raise ValueError(f"not valid JSON: {error}") from None
        if not isinstance(content, dict):
            raise ValueError("must be a JSON object, one on each line")
        return content
