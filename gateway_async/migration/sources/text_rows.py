"""Rows of text files: CSV and JSON Lines."""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial
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
from gateway_async.migration.sources.boundaries import TOO_LONG, CsvRecords, Line, LineReader, RawRecord, Shard
from gateway_async.migration.sources.byte_source import Bytes

_DELIMITERS: Final = ",;\t|"
_SEPARATOR_LINE: Final = re.compile(rb"sep=(.)", re.IGNORECASE)
_NUL: Final = (
    "contains NUL characters; is the first line the header? (expected text; UTF-16 without a byte order mark needs "
    "--encoding utf-16-le or utf-16-be)"
)


class TextRows(ABC):
    """The rows of a text file, one for each record that is not blank. `Rows` describes its attributes."""

    _hidden = "account_number"
    """The column of the text of an unreadable record: a masked one, because it may contain a card number."""

    def __init__(self, source: Bytes, shard: Shard | None) -> None:
        self.columns: tuple[str, ...] = ()
        self.fields: Mapping[str, str] = {}
        self.total = shard.end - shard.start if shard else source.total
        self.close = source.close
        self._source = source
        self._shard = shard
        self._lines = LineReader(source)

    @property
    def position(self) -> int:
        """Number of bytes read."""
        return max(self._source.position - (self._shard.start if self._shard else 0), 0)

    def batches(self) -> Iterator[Sequence[VaultRow]]:
        """Yield the rows in batches: waits for a record, and yields it with those that have arrived, too."""
        while (first := self._next_record(wait=True)) is not None:
            records = [first, *iter(partial(self._next_record, wait=False), None)]
            rows = (self._row(record) for record in records if not record.is_blank)
            yield [row for row in rows if row is not None]

    def records(self) -> Iterator[RawRecord]:
        """Yield the records, without the header."""
        return iter(partial(self._next_record, wait=True), None)

    def _next_record(self, *, wait: bool) -> RawRecord | None:
        """Return the next record of the file or the shard; None at the end, or if none has arrived."""
        record = self._read_record(wait=wait)
        return None if record is None or (self._shard and record.first.start >= self._shard.end) else record

    def _start_at_shard(self) -> None:
        if self._shard:
            self._source.move_to(self._shard.start)
            self._lines = LineReader(self._source, number=self._shard.first_line)

    def _row(self, record: RawRecord) -> VaultRow | None:
        """Return a record's row; None if all of its cells are empty."""
        problem = record.problem
        if not problem:
            try:
                return self._parse(record, record.first.number)
            except ValueError as error:
                problem = str(error)
        text = record.content.decode(self._source.encoding, "backslashreplace")
        return unreadable_row(problem, line=record.first.number, source={self._hidden: text} if text else None)

    @abstractmethod
    def _read_record(self, *, wait: bool) -> RawRecord | None: ...

    @abstractmethod
    def _parse(self, record: RawRecord, line: int) -> VaultRow | None:
        """Return the row of a record. Raise ValueError if it cannot be parsed."""


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
        # No local variable here has bytes of the file, because an error about the header shows them in its traceback.
        chosen = _take_separator_line(self._lines)
        self.delimiter = delimiter or chosen or _detect_delimiter(self._lines, quotechar)
        self.columns = _names(CsvRecords(self._lines, self.delimiter, quotechar).read())
        self._mapping = columns.map_header(self.columns)
        self._source_names = source_names(self.columns)
        self.fields = self._mapping.fields_by_column(self.columns)
        secret = [name for name, field in self.fields.items() if is_confidential(field)]
        self._hidden = next(iter([*secret, *self.columns]), "")
        self._problems = self.columns.index(PROBLEMS) if PROBLEMS in self.columns else None
        self._start_at_shard()
        self._records = CsvRecords(self._lines, self.delimiter, quotechar, len(self.columns))

    def _read_record(self, *, wait: bool) -> RawRecord | None:
        return self._records.read(wait=wait)

    def _parse(self, record: RawRecord, line: int) -> VaultRow | None:
        cells, expected = record.cells, len(self.columns)
        if not any(map(str.strip, cells)):
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


def _take_separator_line(lines: LineReader) -> str:
    """Take what is before the header: blank lines, and a first line such as `sep=;`. Return its delimiter, or ""."""
    chosen = ""
    while (line := lines.take()) is not None:
        separator = _SEPARATOR_LINE.fullmatch(line.text) if line.number == 1 else None
        if separator:
            chosen = separator[1].decode("latin-1")
        elif not line.is_blank:
            lines.give_back([line])
            break
    return chosen


def _detect_delimiter(lines: LineReader, quotechar: str | None) -> str:
    """Return the delimiter that divides the first record into most cells; those whose quotes fit come first."""

    def count_cells(delimiter: str) -> tuple[bool, int]:
        record = CsvRecords(lines, delimiter, quotechar).peek()
        if record is None or record.problem:
            return False, 0 if record is None else record.content.count(delimiter.encode())
        return len(record.cells) > 1, len(record.cells)

    return max(_DELIMITERS, key=count_cells)


def _names(header: RawRecord | None) -> tuple[str, ...]:
    names = tuple(name.strip() for name in header.cells) if header else ()
    problem = header.problem if header else ""
    problem = problem or (_NUL if any("\0" in name for name in names) else "")
    if problem:
        del header, names  # it may be a row
        raise InvalidRequestError(f"header: {problem}")
    return names


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
        if shard is None and (kind := _kind_of_document(self._first_line())):
            raise InvalidRequestError(f"source: is a JSON {kind} (expected JSON Lines: one object on each line)")
        self.fields = dict(columns.names)
        self._constants = columns.constants
        self._mapping = lru_cache(256)(columns.map_names)
        self._start_at_shard()

    def first_names(self) -> tuple[str, ...]:
        """Read the names in the first object without consuming it; () if the file begins with something else."""
        try:
            content = _decoder.decode(self._first_line())
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            return ()
        return tuple(content) if isinstance(content, dict) else ()

    def _first_line(self) -> bytes:
        """Return the first line that is not blank, without taking it."""
        taken: list[Line] = []
        while (line := self._lines.take()) is not None:
            taken.append(line)
            if not line.is_blank:
                break
        self._lines.give_back(taken)
        return line.text.strip() if line else b""

    def _read_record(self, *, wait: bool) -> RawRecord | None:
        line = self._lines.take(wait=wait)
        return line and RawRecord(line, line.text, TOO_LONG if line.content is None else "")

    def _parse(self, record: RawRecord, line: int) -> VaultRow:
        text = self._source.decode(record.content)
        try:
            content = _decode(text)
        except (msgspec.DecodeError, RecursionError) as error:
            raise ValueError(f"not valid JSON: {error}") from None
        if not isinstance(content, dict):
            raise ValueError("must be a JSON object, one on each line")
        may_repeat = len(_NAME_END.findall(text)) > len(content)  # otherwise there is no room for another name
        names = object_names(text) if may_repeat else [*content]
        values = [content[name] for name in names]
        return build_mapped_row(self._mapping(tuple(names)), values, self._constants, line=line, source=content)


def _decode(text: str) -> Any:
    """Decode a line. Half an emoji stays as it is, so that the check of its field reports it."""
    try:
        return _decoder.decode(text)
    except msgspec.DecodeError:
        _decoder.decode(replace_surrogates(text.encode()))  # if this is valid, the halves were all that was wrong
        return json.loads(text, parse_float=str)


def _kind_of_document(first_line: bytes) -> str:
    """Return the kind of one JSON document, or "" for JSON Lines.

    Some lines of a document could be taken for rows.
    """
    if first_line.startswith(b"["):
        return "array"
    return "document over several lines" if first_line.endswith((b"[", b"{")) else ""
