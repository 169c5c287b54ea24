"""Where the lines, the records and the shards of a file begin and end, in bounded memory."""

import csv
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Final, NamedTuple

import attrs

from gateway_async.migration.sources.byte_source import Bytes

MAX_RECORD: Final = 1 << 20
"""Maximum bytes of a record."""

_END_OF_FILE: Final = b"\x1a"
"""Ctrl-Z, with which DOS programs end a text file."""

TOO_LONG: Final = f"longer than {MAX_RECORD} bytes"
_UNCLOSED: Final = "a quote is not closed, or text follows a closing quote"
_LIMIT: Final = "field limit"
"""A part of the error of `csv` for a cell that is too long."""

_MIN_DELIMITERS: Final = 2


@attrs.frozen
class Shard:
    """Consecutive whole records of a file. It can be pickled, and holds no content of them.

    Attributes:
        start: the first byte; for Parquet the first row group.
        end: the byte after the last, or the row group after the last.
        first_line: the number of its first line; for Parquet of its first row.
        rows: number of its records, including blank lines.
    """

    start: int
    end: int
    first_line: int
    rows: int


class Line(NamedTuple):
    """One line of a file: its number, from 1, its offset, and its bytes with the line end; None if it is too long."""

    number: int
    start: int
    content: bytes | None

    @property
    def text(self) -> bytes:
        """Its bytes without the line end."""
        return (self.content or b"").removesuffix(b"\n").removesuffix(b"\r")

    @property
    def is_blank(self) -> bool:
        """Whether it has no text."""
        return self.content is not None and not self.text.strip(_END_OF_FILE).strip()


class LineReader:
    """The lines of a source, of which any may be given back. A line that is too long is dropped chunk by chunk."""

    def __init__(self, source: Bytes, *, number: int = 1, longest: int = MAX_RECORD) -> None:
        self.source = source
        self.longest = longest
        self._number = number
        self._start = source.start
        self._ready: deque[Line] = deque()
        self._unfinished = b""
        self._dropped = 0

    def take(self, *, wait: bool = True) -> Line | None:
        """Take the next line; None at the end, and with `wait=False` also if the next line must be read first."""
        while not self._ready and wait:
            data = self.source.read()
            if not data:
                self._finish()
                break
            self._split(data)
        return self._ready.popleft() if self._ready else None

    def give_back(self, lines: Iterable[Line]) -> None:
        """Make the next lines these ones."""
        self._ready.extendleft(reversed([*lines]))

    def _split(self, data: bytes) -> None:
        lines = (self._unfinished + data).splitlines(keepends=True)
        # A CR at the end may be the first half of CR LF.
        self._unfinished = b"" if lines[-1].endswith(b"\n") else lines.pop()
        for line in lines:
            self._add(line)
        if len(self._unfinished) > self.longest + 1:
            self._dropped += len(self._unfinished) - 1
            self._unfinished = self._unfinished[-1:]

    def _finish(self) -> None:
        """Add the last line if it has no line end."""
        last, self._unfinished = self._unfinished.rstrip(_END_OF_FILE), b""
        if last or self._dropped:
            self._add(last)

    def _add(self, content: bytes) -> None:
        size = self._dropped + len(content)
        is_too_long = size > self.longest and (self._dropped or len(content.rstrip(b"\r\n")) > self.longest)
        self._ready.append(Line(self._number, self._start, None if is_too_long else content))
        self._number += 1
        self._start += size
        self._dropped = 0


class RawRecord(NamedTuple):
    """One record of a file: a line, or several lines if a quoted cell contains line ends.

    Its `content` has no last line end. Only CSV has `cells`. A `problem` says why it is not a whole record.
    """

    first: Line
    content: bytes
    problem: str = ""
    cells: Sequence[str] = ()

    @property
    def is_blank(self) -> bool:
        """Whether it is a line without text."""
        return not self.problem and self.first.is_blank


class CsvRecords(Iterator[str]):
    """The records of CSV, parsed by `csv`, which takes as many lines as a record has.

    A broken record affects only itself. If a quote is opened and not closed properly, the record is its first line
    only, and the next line begins a new record. So a stray quote never swallows the rest of a file.

    Without a `quotechar`, quotes are text. A record of several lines has as many cells as `columns` says, if given.
    """

    def __init__(self, lines: LineReader, delimiter: str, quotechar: str | None, columns: int | None = None) -> None:
        self._lines = lines
        self._delimiter = delimiter
        self._columns = columns
        self._taken: list[Line] = []
        self._wait = self._has_arrived = True
        self._problem = self._unclosed = ""
        quoting: dict[str, Any] = {"quotechar": quotechar} if quotechar else {"quoting": csv.QUOTE_NONE}
        self._reader = csv.reader(self, delimiter=delimiter, strict=True, **quoting)

    def read(self, *, wait: bool = True) -> RawRecord | None:
        """Read the next record; None at the end, and with `wait=False` also if it has not arrived."""
        taken = self._taken = []
        self._wait, self._has_arrived, self._problem = wait, True, ""
        self._unclosed = _UNCLOSED
        cells, problem = None, ""
        try:
            cells = next(self._reader, None)
        except csv.Error as error:
            problem = str(error) if _LIMIT in str(error) else ""
        if not self._has_arrived:
            self._lines.give_back(taken)
            taken.clear()
        if not taken:
            return None
        if taken[0].content is None:
            return RawRecord(taken[0], b"", TOO_LONG)
        if len(taken) > 1 and not (cells and self._is_one_record(cells)):
            cells = None
            self._lines.give_back(taken[1:])
            del taken[1:]
        content = b"".join(line.content or b"" for line in taken[:-1]) + taken[-1].text
        problem = (problem or self._unclosed) if cells is None else self._problem
        return RawRecord(taken[0], content, problem, cells or ())

    def peek(self) -> RawRecord | None:
        """Look at the next record without taking it."""
        record = self.read()
        self._lines.give_back(self._taken)
        return record

    def __next__(self) -> str:
        """Return the next line of a record; stop at the size limit, or if it has not arrived."""
        line = self._lines.take(wait=self._wait)
        if line is None:
            self._has_arrived = self._wait
            raise StopIteration
        self._taken.append(line)
        if line.content is None or line.start - self._taken[0].start + len(line.text) > self._lines.longest:
            self._unclosed = f"a quote is not closed within {self._lines.longest} bytes, the maximum of a record"
            raise StopIteration
        try:
            return self._lines.source.decode(line.content)
        except ValueError as error:
            self._problem = str(error)
            return line.content.decode(self._lines.source.encoding, "replace")

    def _is_one_record(self, cells: Sequence[str]) -> bool:
        """Return whether several lines are one record.

        One record has as many cells as the header, and no line within a cell looks like a row.
        """
        if self._columns is None:
            return True
        between = self._columns - 1
        later = chain.from_iterable(cell.splitlines()[1:] for cell in cells)
        looks_like_row = between >= _MIN_DELIMITERS and any(line.count(self._delimiter) >= between for line in later)
        return len(cells) == self._columns and not looks_like_row
