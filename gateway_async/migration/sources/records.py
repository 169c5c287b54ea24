"""Splits bytes into records of bounded length: one a line, or several lines if a quoted cell contains line ends.

A broken record affects only itself. One that is too long is dropped chunk by chunk. If a quote is opened and not closed
properly, the record is its first line only, and the next line begins a new record. So a stray quote never swallows the
rest of a file. A closing quote must be followed by a delimiter or a line end. In addition, the reader of a file may
declare that several lines are unlikely to be one record.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

import attrs

from gateway_async.migration.sources.byte_source import Bytes

MAX_RECORD: Final = 1 << 20
"""Maximum bytes of a record."""

_END_OF_FILE: Final = b"\x1a"
"""Ctrl-Z, with which DOS programs end a text file."""

_UNCLOSED: Final = "a quote is not closed, or text follows a closing quote"
_LONGEST_LINE_END: Final = 2
_LARGE: Final = 1 << 16
"""Bytes of an incomplete record above which its end is not searched again until they have doubled."""

_LINE_END: Final = re.compile(rb"\r\n|\n|\r")
_NEWLINE: Final = re.compile(rb"[\r\n]")


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


class RawRecord(NamedTuple):
    """One record of a file.

    Attributes:
        line: the number of its first line, from 1.
        start: its offset in bytes.
        content: its bytes without the line end; b"" if it is too long.
        problem: why it is not a whole record; "" if it is one.
    """

    line: int
    start: int
    content: bytes
    problem: str = ""

    @property
    def is_blank(self) -> bool:
        """Whether it is a line without text."""
        return not (self.problem or self.content.strip(_END_OF_FILE).strip())


class _RecordEnd(NamedTuple):
    end: int
    after: int
    lines: int
    problem: str = ""


class Splitter:
    """Splits bytes into records.

    Args:
        quote: the byte that begins and ends a quoted cell, and is doubled inside of it; None for no quoting.
        delimiter: the byte between two cells.
        line: the number of the first line.
        start: the offset of the first byte.
        longest: maximum bytes of a record.

    Attributes:
        plausible: a function that returns whether a record of several lines may be one; None to accept all.
    """

    def __init__(
        self,
        quote: bytes | None = None,
        delimiter: bytes = b",",
        *,
        line: int = 1,
        start: int = 0,
        longest: int = MAX_RECORD,
    ) -> None:
        self._line = line
        self._start = start
        self._longest = longest
        self._quote = quote
        self.plausible: Callable[[bytes], bool] | None = None
        self._skipping = False
        self._next_search_size = 0
        self._pending = b""
        if quote is not None:
            self._record, self._open = _patterns(re.escape(quote), re.escape(delimiter))

    @property
    def rest(self) -> tuple[int, int]:
        """The line and the offset of the bytes that are not in a record yet."""
        return self._line, self._start

    def feed(self, data: bytes) -> list[RawRecord]:
        """Add bytes, and return the records that end in them."""
        self._pending = self._pending + data if self._pending else data
        if len(self._pending) < self._next_search_size:
            return []
        return list(self._records(last=False))

    def finish(self) -> list[RawRecord]:
        """Return the last record if it has no line end."""
        self._pending = self._pending.rstrip(_END_OF_FILE)
        return list(self._records(last=True))

    def _records(self, *, last: bool) -> Iterator[RawRecord]:
        data, at = self._pending, 0
        if self._skipping:
            at = self._skip_line(data, 0)
        while at < len(data) and not self._skipping:
            found = self._find_end(data, at, last)
            if found is None:
                break
            yield self._create_record(data, at, found)
            at = found.after
            if self._skipping:
                at = self._skip_line(data, at)
        self._pending = data[at:]
        self._next_search_size = 2 * len(self._pending) if len(self._pending) > _LARGE else 0

    def _create_record(self, data: bytes, at: int, found: _RecordEnd) -> RawRecord:
        content, problem = data[at : found.end], found.problem
        if len(content) > self._longest:
            content, problem = b"", f"longer than {self._longest} bytes"
        record = RawRecord(self._line, self._start, content, problem)
        self._line += found.lines
        self._start += found.after - at
        return record

    def _skip_line(self, data: bytes, at: int) -> int:
        """Skip the rest of a line that is too long."""
        end = _LINE_END.search(data, at)
        if end is None or _may_be_half(end, data):
            stop = len(data) - (end is not None)
        else:
            stop, self._skipping = end.end(), False
            self._line += 1
        self._start += stop - at
        return stop

    # --- the end of one record

    def _find_end(self, data: bytes, at: int, last: bool) -> _RecordEnd | None:
        """Return the end of the record at `at`; None if more bytes are needed."""
        newline = _NEWLINE.search(data, at)
        end = newline.start() if newline else len(data)
        if self._quote is not None and data.find(self._quote, at, end) >= 0:
            return self._find_quoted(data, at, last)
        return self._find_line(data, at, last)

    def _find_line(self, data: bytes, at: int, last: bool, problem: str = "") -> _RecordEnd | None:
        end = _LINE_END.search(data, at)
        if end is not None and (last or not _may_be_half(end, data)):
            return _RecordEnd(end.start(), end.end(), 1, problem)
        if last:
            return _RecordEnd(len(data), len(data), 1, problem)
        if end is None and len(data) - at > self._longest:
            self._skipping = True
            return _RecordEnd(len(data), len(data), 0)
        return None

    def _find_quoted(self, data: bytes, at: int, last: bool) -> _RecordEnd | None:
        match = self._record.match(data, at)
        if match is not None and (last or (match["end"] and not (match["end"] == b"\r" and match.end() == len(data)))):
            lines = len(_LINE_END.findall(data, at, match.start("end"))) + 1
            if lines == 1 or self._is_plausible(data[at : match.start("end")]):
                return _RecordEnd(match.start("end"), match.end(), lines)
            return self._find_line(data, at, last, _UNCLOSED)
        if (
            not last
            and len(data) - at <= self._longest + _LONGEST_LINE_END
            and (match is not None or self._open.match(data, at))
        ):
            return None
        return self._find_line(data, at, last, _UNCLOSED)

    def _is_plausible(self, record: bytes) -> bool:
        """Return whether a record of several lines may be one.

        The length limit makes the result the same for all chunk sizes.
        """
        return len(record) <= self._longest and (self.plausible is None or self.plausible(record))


def _may_be_half(end: re.Match[bytes], data: bytes) -> bool:
    """Return whether a CR may be the first half of CR LF."""
    return end.group() == b"\r" and end.end() == len(data)


def _patterns(quote: bytes, delimiter: bytes) -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    """Return the patterns of whole records and of open quotes.

    Neither pattern ever backtracks.
    """
    quoted = rb"%b(?:[^%b]++|%b%b)*+" % (quote, quote, quote, quote)
    cell = rb"(?>%b%b|(?:[^%b%b\r\n][^%b\r\n]*+)?)" % (quoted, quote, quote, delimiter, delimiter)
    record = rb"%b(?:%b%b)*+(?P<end>\r\n|\n|\r|\Z)" % (cell, delimiter, cell)
    breaks_off = rb"(?:%b%b)*+%b%b?\Z" % (cell, delimiter, quoted, quote)
    return re.compile(record), re.compile(breaks_off)


def read_records(source: Bytes, splitter: Splitter, end: int | None = None) -> Iterator[Sequence[RawRecord]]:
    """Yield the records of a source that start before the byte `end`."""
    while data := source.read():
        records = splitter.feed(data)
        kept = records if end is None else [record for record in records if record.start < end]
        yield kept
        if len(kept) < len(records):
            return
    yield [record for record in splitter.finish() if end is None or record.start < end]
