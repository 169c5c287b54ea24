"""Bytes cut into records: however they come in, whatever is in them, and never more of them than a bound."""

import csv
import io
from typing import Literal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gateway_async.migration.sources.boundaries import CsvRecords, Line, LineReader, RawRecord
from gateway_async.migration.sources.byte_source import Bytes


def split(
    content: bytes,
    *,
    size: int = 1 << 20,
    quote: str | None = '"',
    longest: int = 1000,
    delimiter: str = ",",
    encoding: str = "latin-1",
) -> list[RawRecord]:
    """Return the records of a content that arrives in chunks."""
    file = io.BytesIO(content)
    source = Bytes(file, encoding, read=lambda _: file.read(size), close=file.close, total=None)
    records = CsvRecords(LineReader(source, longest=longest), delimiter, quote)
    return [*iter(records.read, None)]


def contents(records: list[RawRecord]) -> list[bytes]:
    """Return the contents, or the first words of the problems."""
    return [record.problem.encode()[:24] if record.problem else record.content for record in records]


UNCLOSED = b"a quote is not closed, o"
UNCLOSED_SO_FAR = b"a quote is not closed wi"
TOO_LONG = b"longer than 1048576 byte"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", []),
        (b"a", [b"a"]),
        (b"a\nb\r\nc\rd", [b"a", b"b", b"c", b"d"]),
        (b"\n\r\n\r", [b"", b"", b""]),
        (b'a,"b\nc"\nd\n', [b'a,"b\nc"', b"d"]),
        (b'"a ""b"" c"\r\nd', [b'"a ""b"" c"', b"d"]),
        (b'12" pipe,a\nb\n', [b'12" pipe,a', b"b"]),
        (b'a,"b\nc,d\ne,"f"\ng\n', [UNCLOSED, b"c,d", b'e,"f"', b"g"]),
        (b'"a"b\nc\n', [UNCLOSED, b"c"]),
        (b'a\nb,"c', [b"a", UNCLOSED]),
        (b'a,"b\nc\nd', [UNCLOSED, b"c", b"d"]),
        (b"a\n" + b"x" * 1000 + b"\r\nb\n", [b"a", b"x" * 1000, b"b"]),
        (b"a\n" + b"x" * 1001 + b"\nb\n", [b"a", TOO_LONG, b"b"]),
        (b"x" * 5000 + b"\r\nb", [TOO_LONG, b"b"]),
        (b'"' + b"x\n" * 600 + b"\nb", [UNCLOSED_SO_FAR, *[b"x"] * 599, b"", b"b"]),
        (b"x" * 5000, [TOO_LONG]),
    ],
)
def test_records_are_told(content: bytes, expected: list[bytes]) -> None:
    """Mixed line ends, quoted ones, stray quotes and lines without end, in chunks of any size."""
    for size in (1, 7, 1 << 20):
        assert contents(split(content, size=size)) == expected


def test_a_record_knows_its_place() -> None:
    found = split(b'a\r\n"b\nc"\n' + b"x" * 2000 + b"\nd", size=3)
    assert [(record.first.number, record.first.start) for record in found] == [(1, 0), (2, 3), (4, 9), (5, 2010)]


def test_without_quoting_a_quote_is_a_byte() -> None:
    assert contents(split(b'"a\nb"\n', quote=None)) == [b'"a', b'b"']


def test_what_is_too_long_is_not_kept() -> None:
    chunks = iter([b'"' + b"x" * 999] * 1000 + [b"\nnext\n", b""])
    source = Bytes(io.BytesIO(), "latin-1", read=lambda _: next(chunks), close=io.BytesIO().close, total=None)
    lines = LineReader(source, longest=1000)
    for _ in range(900):
        assert lines.take(wait=False) is None
        lines._split(source.read())
        assert len(lines._unfinished) <= 3000
    assert lines.take() == Line(1, 0, None)
    assert lines.take() == Line(2, 1_000_001, b"next\n")


def test_a_record_that_has_not_arrived_is_not_waited_for() -> None:
    chunks = iter([b'a\nb,"c\n', b'd"\n', b""])
    source = Bytes(io.BytesIO(), "latin-1", read=lambda _: next(chunks), close=io.BytesIO().close, total=None)
    records = CsvRecords(LineReader(source), ",", '"')
    found = [records.read(), records.read(wait=False), records.read(), records.read()]
    assert [record and record.cells for record in found] == [["a"], None, ["b", "c\nd"], None]


SOUP = st.lists(st.sampled_from([b'"', b'""', b",", b"\n", b"\r", b"\r\n", b"a", b"\xe9", b"x" * 30]), max_size=40).map(
    b"".join
)


@given(SOUP, st.integers(1, 20))
@example(b'"\n' + b"x" * 60 + b'"\n', 1)
@example(b'"\n' + b"x" * 47 + b'"\r\n', 1)
def test_chunks_make_no_difference(content: bytes, size: int) -> None:
    whole = split(content, longest=50)
    assert split(content, longest=50, size=size) == whole
    starts = [record.first.start for record in whole]
    assert starts == sorted(set(starts))
    assert all(content[record.first.start :].startswith(record.content) for record in whole)


CELLS = st.lists(st.lists(st.text(max_size=8), min_size=2, max_size=4), max_size=8)


@given(
    CELLS,
    st.sampled_from(",;\t|"),
    st.sampled_from("\"'"),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)
def test_whatever_is_written_is_read(
    rows: list[list[str]], delimiter: str, quote: str, end: str, quoting: Literal[0, 1]
) -> None:
    file = io.StringIO()
    if "\\" in repr(rows):
        quoting = csv.QUOTE_ALL  # older writers leave line ends that are not their own unquoted
    csv.writer(file, delimiter=delimiter, quotechar=quote, lineterminator=end, quoting=quoting).writerows(rows)
    content = file.getvalue().encode(errors="replace")
    records = split(content, quote=quote, delimiter=delimiter, encoding="utf-8")
    assert [record.problem for record in records] == [""] * len(rows)
    assert [record.cells for record in records] == [
        [cell.encode(errors="replace").decode() for cell in row] for row in rows
    ]
