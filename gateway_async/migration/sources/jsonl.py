"""Rows of JSON Lines files: one object a line."""

import json
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

import msgspec

from gateway_async._wire.json_text import object_names, replace_surrogates
from gateway_async.errors import InvalidRequestError
from gateway_async.migration.rows.builder import build_mapped_row
from gateway_async.migration.rows.columns import Columns
from gateway_async.migration.rows.row import VaultRow
from gateway_async.migration.sources.byte_source import Bytes
from gateway_async.migration.sources.records import Shard, Splitter
from gateway_async.migration.sources.text_rows import TextRows

__all__ = ["JsonRows"]

_NAME_END: Final = re.compile(r'"\s*:')
_decoder: Final = msgspec.json.Decoder(float_hook=str)
"""Keeps numbers with a point or an exponent as text, because a card number in that form has lost digits."""


class JsonRows(TextRows):
    """The rows of a file with one JSON object a line. Blank lines are skipped.

    Args:
        source: the bytes of the file.
        columns: the mapping of the objects' names to fields.
        shard: the part to read; None for all.

    Raises:
        InvalidRequestError: the file is one JSON document, such as an array.
    """

    def __init__(self, source: Bytes, columns: Columns, *, shard: Shard | None = None) -> None:
        super().__init__(source, shard)
        if shard is None and (kind := _kind_of_document(self._peek())):
            raise InvalidRequestError(f"source: is a JSON {kind} (expected JSON Lines: one object on each line)")
        self.fields = dict(columns.names)
        self._constants = columns.constants
        self._mapping = lru_cache(256)(columns.map_names)
        if shard:
            source.move_to(shard.start)
        self._splitter = Splitter(start=shard.start if shard else source.start, line=shard.first_line if shard else 1)

    def first_names(self) -> tuple[str, ...]:
        """Return the names in the first object without consuming it; () if the file begins with something else."""
        try:
            content = _decoder.decode(_first_line(self._peek()))
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            return ()
        return tuple(content) if isinstance(content, dict) else ()

    def _peek(self) -> bytes:
        data = self._source.read()
        self._source.push_back(data)
        return data

    def _build_row(self, content: tuple[Sequence[str], dict[str, Any]], line: int) -> VaultRow:
        names, cells = content
        values = [cells[name] for name in names]
        return build_mapped_row(self._mapping(tuple(names)), values, self._constants, line=line, source=cells)

    def _parse(self, text: str) -> tuple[Sequence[str], dict[str, Any]]:
        """Return the names of an object, including repeated ones, and its values."""
        try:
            content = _decode(text)
        except (msgspec.DecodeError, RecursionError) as error:
            raise ValueError(f"not valid JSON: {error}") from None
        if not isinstance(content, dict):
            raise ValueError("must be a JSON object, one on each line")
        may_repeat = len(_NAME_END.findall(text)) > len(content)  # otherwise there is no room for another name
        return object_names(text) if may_repeat else [*content], content


def _decode(text: str) -> Any:
    """Decode a line. Half an emoji stays as it is, so that the check of its field reports it."""
    try:
        return _decoder.decode(text)
    except msgspec.DecodeError:
        _decoder.decode(replace_surrogates(text.encode()))  # if this is valid, the halves were all that was wrong
        return json.loads(text, parse_float=str)


def _first_line(data: bytes) -> bytes:
    return next((line for line in map(bytes.strip, data.splitlines()) if line), b"")


def _kind_of_document(data: bytes) -> str:
    """Return the kind of one JSON document, or "" for JSON Lines.

    Some lines of a document could be taken for rows.
    """
    first = _first_line(data)
    if first.startswith(b"["):
        return "array"
    return "document over several lines" if first.endswith((b"[", b"{")) else ""
