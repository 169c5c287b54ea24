"""Rows of text files: CSV and JSON Lines."""

import csv
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from itertools import chain
from typing import Any, Final

import msgspec

from gateway_async._secrets import is_confidential
from gateway_async._text import pluralize
from gateway_async._wire.json_text import object_names, replace_surrogates
from gateway_async.errors import InvalidRequestError
from gateway_async.migration.output.tables import unescape_formulas
from gateway_async.migration.rows.builder import build_mapped_row, unreadable_row
from gateway_async.migration.rows.columns import PROBLEMS, SURPLUS, Columns, source_names
from gateway_async.migration.rows.row import VaultRow
from gateway_async.migration.sources.byte_source import Bytes
from gateway_async.migration.sources.records import MAX_RECORD, RawRecord, Shard, Splitter, read_records


class TextRows(ABC):
    """The rows of a text file, one for each record that is not blank. `Rows` describes its attributes."""

    _splitter: Splitter
    _hidden = "account_number"
    """The column of the text of an unreadable record: a masked one, because it may contain a card number."""

    def __init__(self, source: Bytes, shard: Shard | None) -> None:
        self.columns: tuple[str, ...] = ()
        self.fields: Mapping[str, str] = {}
        self.total = shard.end - shard.start if shard else source.total
        self._source = source
        self._shard = shard

    @property
    def position(self) -> int:
        """Number of bytes read."""
        return max(self._source.position - (self._shard.start if self._shard else 0), 0)

    def batches(self) -> Iterator[Sequence[VaultRow]]:
        """Yield the rows in batches."""
        for records in self.records():
            rows = (self._row(record) for record in records if not record.is_blank)
            yield [row for row in rows if row is not None]

    def records(self) -> Iterator[Sequence[RawRecord]]:
        """Yield the records in batches, without the header."""
        return read_records(self._source, self._splitter, self._shard.end if self._shard else None)

    def close(self) -> None:
        """Close the file."""
        self._source.close()

    def _row(self, record: RawRecord) -> VaultRow | None:
        """Return a record's row; None if all of its cells are empty."""
        try:
            content = self._content(record)
        except ValueError as error:
            text = record.content.decode(self._source.encoding, "backslashreplace")
            return unreadable_row(str(error), line=record.line, source={self._hidden: text} if text else None)
        return self._build_row(content, record.line)

    def _content(self, record: RawRecord) -> Any:
        """Return the content of a record. Raise ValueError for one that is incomplete or cannot be parsed."""
        if record.problem:
            raise ValueError(record.problem)
        return self._parse(self._source.decode(record.content))

    @abstractmethod
    def _parse(self, text: str) -> Any: ...

    @abstractmethod
    def _build_row(self, content: Any, line: int) -> VaultRow | None: ...


_MIN_DELIMITERS: Final = 2
_DELIMITERS: Final = ",;\t|"
_SEPARATOR_LINE: Final = re.compile(rb"sep=(.)(?:\r\n|\n|\r)", re.IGNORECASE)
_NUL: Final = (
    "contains NUL characters; is the first line the header? (expected text; UTF-16 without a byte order mark needs "
    "--encoding utf-16-le or utf-16-be)"
)
_HEADER_END: Final = re.compile(rb"[^\r\n][\r\n]")


class CsvRows(TextRows):
    """The rows of a CSV file, with the arguments of `read_rows`. Its first record that is not blank is the header.

    Raises:
        InvalidRequestError: the header cannot be read, or its columns cannot be mapped.
    """

    def __init__(
        self,
        source: Bytes,
        columns: Columns,
        *,
        delimiter: str | None = None,
        quotechar: str | None = '"',
        shard: Shard | None = None,
    ) -> None:
        super().__init__(source, shard)
        self._constants = columns.constants
        quote = quotechar.encode() if quotechar else None
        # No local variable here has bytes of the file, because an error about the header shows them in its traceback.
        chosen, before = _read_separator_line(source)
        self.delimiter = delimiter or chosen or _detect_delimiter(source, quote)
        quoting: dict[str, Any] = {"quotechar": quotechar} if quotechar else {"quoting": csv.QUOTE_NONE}
        self._read_csv = partial(csv.reader, delimiter=self.delimiter, **quoting)
        self._split_from = partial(Splitter, quote, self.delimiter.encode())
        self._splitter = self._split_from(line=1 + bool(chosen), start=before)
        self.columns = self._names(self._header(before))
        self._mapping = columns.map_header(self.columns)
        self._source_names = source_names(self.columns)
        self.fields = self._mapping.fields_by_column(self.columns)
        secret = [name for name, field in self.fields.items() if is_confidential(field)]
        self._hidden = next(iter([*secret, *self.columns]), "")
        self._problems = self.columns.index(PROBLEMS) if PROBLEMS in self.columns else None
        if shard:
            source.move_to(shard.start)
            self._splitter = self._split_from(line=shard.first_line, start=shard.start)
        self._splitter.plausible = self._is_one_record

    def _header(self, start: int) -> RawRecord | None:
        """Return the header. What follows is given back: its records have as many cells as the header."""
        read = b""
        while data := self._source.read():
            read += data
            records = self._splitter.feed(data)
            for index, record in enumerate(records):
                if not record.is_blank:
                    is_last = index + 1 == len(records)
                    line, end = self._splitter.rest if is_last else records[index + 1][:2]
                    self._source.push_back(read[end - start :])
                    self._splitter = self._split_from(line=line, start=end)
                    return record
        return next((record for record in self._splitter.finish() if not record.is_blank), None)

    def _names(self, header: RawRecord | None) -> tuple[str, ...]:
        names: tuple[str, ...] = ()
        try:
            names = tuple(name.strip() for name in super()._content(header)) if header else ()
            problem = _NUL if any("\0" in name for name in names) else ""
        except ValueError as error:
            problem = str(error)
        if problem:
            del header, names  # it may be a row
            raise InvalidRequestError(f"header: {problem}")
        return names

    def _is_one_record(self, content: bytes) -> bool:
        """Return whether several lines are one record.

        One record has as many cells as the header, and no line within a cell looks like a row.
        """
        try:
            cells = self._parse(content.decode(self._source.encoding, "replace"))
        except ValueError:
            return False
        between = len(self.columns) - 1
        later = chain.from_iterable(cell.splitlines()[1:] for cell in cells)
        looks_like_row = between >= _MIN_DELIMITERS and any(line.count(self.delimiter) >= between for line in later)
        return len(cells) == len(self.columns) and not looks_like_row

    # --- convert records to rows

    def _content(self, record: RawRecord) -> list[str]:
        """Return the cells of a row; [] if all are empty."""
        cells: list[str] = super()._content(record)
        return cells if any(map(str.strip, cells)) else []

    def _build_row(self, content: list[str], line: int) -> VaultRow | None:
        cells, expected = content, len(self.columns)
        if not cells:
            return None
        if any(map(str.strip, cells[expected:])) or len(cells) < expected:
            reason = f"has {len(cells)} {pluralize(len(cells), 'cell')} (expected {expected} as in the header)"
            if self._problems == expected - 1 < len(cells):  # in a file of rejects, surplus cells come before its note
                cells = [*cells[: self._problems], cells[-1], *cells[self._problems : -1]]
            return unreadable_row(reason, line=line, source=self._source_of(cells))
        if self._problems is not None:
            cells = [*unescape_formulas(cells, cells[self._problems])]
        source = self._source_of(cells[:expected])
        return build_mapped_row(self._mapping, cells, self._constants, line=line, source=source)

    def _source_of(self, cells: Sequence[str]) -> dict[str, Any]:
        surplus = cells[len(self.columns) :]
        source: dict[str, Any] = dict(zip(self._source_names, cells, strict=False))
        return source | {SURPLUS: surplus} if surplus else source

    def _parse(self, text: str) -> list[str]:
        try:
            records = list(self._read_csv((text,)))
        except csv.Error as error:
            raise ValueError(str(error)) from None
        if len(records) != 1:
            raise ValueError("its quotes are ambiguous")
        return records[0]


def _read_separator_line(source: Bytes) -> tuple[str, int]:
    """Read a line such as `sep=;` before the header.

    Returns its delimiter, or "", and the offset of the header.
    """
    head = b""
    while not _HEADER_END.search(head) and len(head) <= MAX_RECORD and (more := source.read()):
        head += more
    separator = _SEPARATOR_LINE.match(head)
    end = separator.end() if separator else 0
    source.push_back(head[end:])
    return separator[1].decode("latin-1") if separator else "", source.start + end


def _detect_delimiter(source: Bytes, quote: bytes | None) -> str:
    """Return the delimiter that divides the first record into most cells. What is read of the source is given back.

    Each delimiter splits records in its own way, because a quoted cell begins after a delimiter.
    """
    splitters = {delimiter: Splitter(quote, delimiter.encode()) for delimiter in _DELIMITERS}
    firsts: dict[str, RawRecord] = {}
    head = b""
    while len(firsts) < len(splitters) and len(head) <= MAX_RECORD:
        data = source.read()
        head += data
        for delimiter in splitters.keys() - firsts.keys():
            records = splitters[delimiter].feed(data) if data else splitters[delimiter].finish()
            firsts.update((delimiter, record) for record in reversed(records) if not record.is_blank)
        if not data:
            break
    source.push_back(head)
    cells = {delimiter: _count_cells(record, delimiter, quote) for delimiter, record in firsts.items()}
    return max(_DELIMITERS, key=lambda delimiter: cells.get(delimiter, (False, 0)))


def _count_cells(record: RawRecord, delimiter: str, quote: bytes | None) -> tuple[bool, int]:
    """Return whether quotes fit several cells, and their number."""
    text = record.content.decode("latin-1")
    if not record.problem and quote is not None:
        with suppress(csv.Error):
            count = sum(map(len, csv.reader((text,), delimiter=delimiter, quotechar=quote.decode())))
            return count > 1, count
    return False, text.count(delimiter) + 1


_NAME_END: Final = re.compile(r'"\s*:')
_decoder: Final = msgspec.json.Decoder(float_hook=str)
"""Keeps numbers with a point or an exponent as text, because a card number in that form has lost digits."""


class JsonRows(TextRows):
    """The rows of a file with one JSON object a line. Blank lines are skipped.

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
