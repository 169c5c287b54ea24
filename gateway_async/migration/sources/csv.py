"""Rows of CSV files, in any dialect."""

import csv
import re
from itertools import chain
from typing import Any, Final

from gateway_async._problem import pluralize
from gateway_async._secrets import is_confidential
from gateway_async.errors import InvalidRequestError
from gateway_async.migration.output.formulas import unescape_formulas
from gateway_async.migration.rows.builder import build_mapped_row
from gateway_async.migration.rows.columns import PROBLEMS, Columns
from gateway_async.migration.rows.row import VaultRow
from gateway_async.migration.sources.byte_source import Bytes
from gateway_async.migration.sources.records import MAX_RECORD, RawRecord, Shard, Splitter
from gateway_async.migration.sources.text_rows import TextRows

__all__ = ["CsvRows"]

_MIN_DELIMITERS: Final = 2
_DELIMITERS: Final = ",;\t|"
_SEPARATOR_LINE: Final = re.compile(rb"sep=(.)(?:\r\n|\n|\r)", re.IGNORECASE)
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
        head, before = _head(source)
        separator = _SEPARATOR_LINE.match(head)
        if separator:
            head, before = head[separator.end() :], before + separator.end()
            delimiter = delimiter or separator[1].decode("latin-1")
        self.delimiter = delimiter or _detect_delimiter(head, quotechar)
        self._dialect: dict[str, Any] = (
            {"delimiter": self.delimiter, "quotechar": quotechar}
            if quotechar
            else {"delimiter": self.delimiter, "quoting": csv.QUOTE_NONE}
        )
        source.give_back(head)
        quote = quotechar.encode() if quotechar else None
        self._splitter = Splitter(quote, self.delimiter.encode(), line=1 + bool(separator), start=before)
        self.columns = self._header()
        self._mapping = columns.map_header(self.columns)
        self.fields = self._mapping.fields_by_column(self.columns)
        secret = [name for name, field in self.fields.items() if is_confidential(field)]
        self._hidden = next(iter([*secret, *self.columns]), "")
        self._problems = self.columns.index(PROBLEMS) if PROBLEMS in self.columns else None
        if shard:
            source.move_to(shard.start)
            self._splitter = Splitter(quote, self.delimiter.encode(), line=shard.first_line, start=shard.start)
        self._splitter.plausible = self._is_one_record

    def _header(self) -> tuple[str, ...]:
        """Return the names of the columns. It reads line by line, so that the lines below remain unread."""
        while data := self._source.read():
            lines = data.splitlines(keepends=True)
            for index, line in enumerate(lines):
                for record in self._splitter.feed(line):
                    if record.content.strip() or record.problem:
                        self._source.give_back(b"".join(lines[index + 1 :]))
                        return self._names(record)
        last = (record for record in self._splitter.finish() if record.content.strip() or record.problem)
        return next((self._names(record) for record in last), ())

    def _names(self, record: RawRecord) -> tuple[str, ...]:
        try:
            return tuple(name.strip() for name in super()._content(record))
        except ValueError as error:
            raise InvalidRequestError(f"header: {error}") from None

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
        if not any(map(str.strip, cells)):
            return []
        if any(map(str.strip, cells[len(self.columns) :])) or len(cells) < len(self.columns):
            raise ValueError(
                f"has {len(cells)} {pluralize(len(cells), 'cell')} (expected {len(self.columns)} as in the header)"
            )
        return cells

    def _build_row(self, content: list[str], line: int) -> VaultRow | None:
        cells = content
        if not cells:
            return None
        if self._problems is not None:
            cells = [*unescape_formulas(cells, cells[self._problems])]
        source = dict(zip(self.columns, cells, strict=False))
        return build_mapped_row(self._mapping, cells, self._constants, line=line, source=source)

    def _parse(self, text: str) -> list[str]:
        try:
            records = list(csv.reader((text,), **self._dialect))
        except csv.Error as error:
            raise ValueError(str(error)) from None
        if len(records) != 1:
            raise ValueError("its quotes are ambiguous")
        return records[0]


def _head(source: Bytes) -> tuple[bytes, int]:
    """Return the bytes of a file's first line, and their offset."""
    head = b""
    while not _HEADER_END.search(head) and len(head) <= MAX_RECORD and (more := source.read()):
        head += more
    return head, source.start


def _detect_delimiter(head: bytes, quotechar: str | None) -> str:
    """Return the most frequent delimiter in the first line, ignoring quoted cells."""
    lines = head.decode("latin-1").split("\n" if b"\n" in head else "\r")
    line = next((line for line in lines if line.strip()), "")
    if quotechar:
        quote = re.escape(quotechar)
        line = re.sub(rf"{quote}[^{quote}]*{quote}", "", line)
    return max(_DELIMITERS, key=line.count)
