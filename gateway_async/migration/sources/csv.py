"""Rows of CSV files, in any dialect."""

import csv
import re
from collections.abc import Sequence
from contextlib import suppress
from itertools import chain
from typing import Any, Final

from gateway_async._kernel import pluralize
from gateway_async._secrets import is_confidential
from gateway_async.errors import InvalidRequestError
from gateway_async.migration.output.formulas import unescape_formulas
from gateway_async.migration.rows.builder import build_mapped_row, unreadable_row
from gateway_async.migration.rows.columns import PROBLEMS, SURPLUS, Columns, source_names
from gateway_async.migration.rows.row import VaultRow
from gateway_async.migration.sources.byte_source import Bytes
from gateway_async.migration.sources.records import MAX_RECORD, RawRecord, Shard, Splitter
from gateway_async.migration.sources.text_rows import TextRows

__all__ = ["CsvRows"]

_MIN_DELIMITERS: Final = 2
_DELIMITERS: Final = ",;\t|"
_SEPARATOR_LINE: Final = re.compile(rb"sep=(.)(?:\r\n|\n|\r)", re.IGNORECASE)
_NUL: Final = (
    "contains NUL characters; is the first line the header? (expected text; UTF-16 without a byte order mark needs "
    "--encoding utf-16-le or utf-16-be)"
)
_HEADER_END: Final = re.compile(rb"[^\r\n][\r\n]")


class CsvRows(TextRows):
    """The rows of a CSV file. Its first record that is not blank is the header.

    Args:
        source: the bytes of the file.
        columns: the mapping of its columns to fields.
        delimiter: between two cells; None for the most frequent one in the header: comma, semicolon, tab or bar.
        quotechar: around a cell that contains line ends or delimiters; doubled inside of the cell; None for no quoting.
        shard: the part to read; None for all.

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
        self._dialect: dict[str, Any] = (
            {"delimiter": self.delimiter, "quotechar": quotechar}
            if quotechar
            else {"delimiter": self.delimiter, "quoting": csv.QUOTE_NONE}
        )
        self._quote = quote
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

    def _split_from(self, line: int, start: int) -> Splitter:
        return Splitter(self._quote, self.delimiter.encode(), line=line, start=start)

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
                    self._splitter = self._split_from(line, end)
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
        """Return cells by the names of their columns."""
        surplus = cells[len(self.columns) :]
        source: dict[str, Any] = dict(zip(self._source_names, cells, strict=False))
        return source | {SURPLUS: surplus} if surplus else source

    def _parse(self, text: str) -> list[str]:
        try:
            records = list(csv.reader((text,), **self._dialect))
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
