"""Rows of CSV files, in any dialect."""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Final

from gateway_async.errors import InvalidRequestError
from gateway_async.migration.output.formulas import unescape_formulas
from gateway_async.migration.rows.builder import row_of, unreadable
from gateway_async.migration.rows.columns import PROBLEMS, SECRET_FIELDS, Columns
from gateway_async.migration.rows.row import VaultRow
from gateway_async.migration.sources.byte_source import Bytes
from gateway_async.migration.sources.decoding import decoded
from gateway_async.migration.sources.records import LONGEST, RawRecord, Splitter
from gateway_async.migration.sources.shard import Shard

__all__ = ["CsvRows"]

_FEW: Final = 2
_DELIMITERS: Final = ",;\t|"
_SEPARATOR_LINE: Final = re.compile(rb"sep=(.)(?:\r\n|\n|\r)", re.IGNORECASE)
_HEADER_END: Final = re.compile(rb"[^\r\n][\r\n]")


class CsvRows:
    """The rows of a CSV file. Its first record that is not blank is the header.

    Args:
        source: the bytes of the file.
        columns: the mapping of its columns to fields.
        delimiter: between two cells; None for the most frequent one in the header: comma, semicolon, tab or bar.
        quotechar: around a cell that contains line ends or delimiters; doubled inside of the cell; None for no quoting.
        shard: the part to read; None for all.

    Raises:
        InvalidRequestError: the header cannot be read, or does not fit.
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
        self._source = source
        self._quote = quotechar
        self._constants = columns.constants
        head, before = _head(source)
        separator = _SEPARATOR_LINE.match(head)
        if separator:
            head, before = head[separator.end() :], before + separator.end()
            delimiter = delimiter or separator[1].decode("latin-1")
        self.delimiter = delimiter or _sniffed(head, quotechar)
        source.give_back(head)
        quote = quotechar.encode() if quotechar else None
        self._splitter = Splitter(quote, self.delimiter.encode(), line=1 + bool(separator), start=before)
        self.columns = self._header()
        self._fit = columns.fit(self.columns)
        self.fields = self._fit.named(self.columns)
        self._problems = self.columns.index(PROBLEMS) if PROBLEMS in self.columns else None
        if shard:
            source.move_to(shard.start)
            self._splitter = Splitter(quote, self.delimiter.encode(), line=shard.first_line, start=shard.start)
        self._splitter.plausible = self._is_one_record
        self._end = shard.end if shard else None

    def first_names(self) -> tuple[str, ...]:
        """Return the names of the columns."""
        return self.columns

    def batches(self) -> Iterator[Sequence[VaultRow]]:
        """Yield the rows in batches."""
        for records in self.records():
            yield self._rows(records)

    def records(self) -> Iterator[Sequence[RawRecord]]:
        """Yield the records below the header in batches."""
        for records in _split(self._source, self._splitter):
            kept = records if self._end is None else [record for record in records if record.start < self._end]
            yield kept
            if len(kept) < len(records):
                return

    def _header(self) -> tuple[str, ...]:
        """Return the names of the columns. It reads line by line, so that the lines below remain unread."""
        while data := self._source.read():
            lines = data.splitlines(keepends=True)
            for place, line in enumerate(lines):
                for record in self._splitter.feed(line):
                    if record.content.strip() or record.problem:
                        self._source.give_back(b"".join(lines[place + 1 :]))
                        return self._names(record)
        last = (record for record in self._splitter.finish() if record.content.strip() or record.problem)
        return next((self._names(record) for record in last), ())

    def _names(self, record: RawRecord) -> tuple[str, ...]:
        text, problem = decoded(record.content, self._source)
        if record.problem or problem:
            raise InvalidRequestError(f"header: {record.problem or problem}")
        return tuple(name.strip() for name in self._cells([text])[0])

    def _is_one_record(self, content: bytes) -> bool:
        """Return whether several lines are one record.

        One record has as many cells as the header, and no line within a cell looks like a row.
        """
        cells = self._told_alone(content.decode(self._source.encoding, "replace"))
        if isinstance(cells, str) or len(cells) != len(self.columns):
            return False
        between = len(self.columns) - 1
        later = chain.from_iterable(cell.splitlines()[1:] for cell in cells)
        return between < _FEW or not any(line.count(self.delimiter) >= between for line in later)

    # --- convert records to rows

    def _rows(self, records: Sequence[RawRecord]) -> list[VaultRow]:
        whole, rows = [], {}
        for record in records:
            if record.problem:
                rows[record.line] = self._unreadable(record, record.problem)
            elif record.content.strip():
                text, problem = decoded(record.content, self._source)
                if problem:
                    rows[record.line] = self._unreadable(record, problem)
                else:
                    whole.append((record, text))
        for (record, text), cells in zip(whole, self._told([text for _, text in whole]), strict=True):
            row = self._row(record, text, cells)
            if row is not None:
                rows[record.line] = row
        return [rows[line] for line in sorted(rows)]

    def _told(self, texts: list[str]) -> Sequence[list[str] | str]:
        """Return the cells of some records; for a record that cannot be split into cells, the reason."""
        try:
            cells = self._cells(texts)
        except csv.Error:
            cells = []
        return cells if len(cells) == len(texts) else [self._told_alone(text) for text in texts]

    def _told_alone(self, text: str) -> list[str] | str:
        try:
            cells = self._cells([text])
        except csv.Error as error:
            return str(error)
        return cells[0] if len(cells) == 1 else "its quotes cannot be told apart"

    def _cells(self, texts: Iterable[str]) -> list[list[str]]:
        if self._quote is None:
            return list(csv.reader(texts, delimiter=self.delimiter, quoting=csv.QUOTE_NONE))
        return list(csv.reader(texts, delimiter=self.delimiter, quotechar=self._quote))

    def _row(self, record: RawRecord, text: str, cells: list[str] | str) -> VaultRow | None:
        """Return a row; None if all of its cells are empty."""
        if isinstance(cells, str):
            return self._unreadable(record, cells, text)
        if not any(map(str.strip, cells)):
            return None
        if any(map(str.strip, cells[len(self.columns) :])) or len(cells) < len(self.columns):
            return self._unreadable(record, f"has {len(cells)} cells, the header has {len(self.columns)}", text)
        if self._problems is not None:
            cells = [*unescape_formulas(cells, cells[self._problems])]
        values = {field: cell for field, cell in zip(self._fit.fields, cells, strict=False) if field}
        key = None if self._fit.key is None else cells[self._fit.key]
        source = dict(zip(self.columns, cells, strict=False))
        return row_of({**self._constants, **values}, key=key, line=record.line, source=source)

    def _unreadable(self, record: RawRecord, problem: str, text: str = "") -> VaultRow:
        """Return a row that cannot be split into cells.

        Its text is stored under a column that is masked, because it may contain a card number.
        """
        text = text or record.content.decode(self._source.encoding, "backslashreplace")
        secret = next((place for place, field in enumerate(self._fit.fields) if field in SECRET_FIELDS), 0)
        return unreadable(problem, line=record.line, source={self.columns[secret]: text} if text else None)


def _split(source: Bytes, splitter: Splitter, *, last: bool = True) -> Iterator[list[RawRecord]]:
    while data := source.read():
        if records := splitter.feed(data):
            yield records
    if last and (records := splitter.finish()):
        yield records


def _head(source: Bytes) -> tuple[bytes, int]:
    """Return the beginning of a file up to its first line end, and its offset."""
    head = b""
    while not _HEADER_END.search(head) and len(head) <= LONGEST and (more := source.read()):
        head += more
    return head, source.start


def _sniffed(head: bytes, quotechar: str | None) -> str:
    """Return the most frequent delimiter in the first line, ignoring quoted cells."""
    lines = head.decode("latin-1").split("\n" if b"\n" in head else "\r")
    line = next((line for line in lines if line.strip()), "")
    if quotechar:
        quote = re.escape(quotechar)
        line = re.sub(rf"{quote}[^{quote}]*{quote}", "", line)
    return max(_DELIMITERS, key=line.count)
