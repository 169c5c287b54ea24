"""Files that are not what they should be: a report by row, the rest goes on, and memory stays flat."""

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gateway_async import InvalidRequestError

from .files import CARD, HEADER, card_row, keys, lines, put, read, wrong

pytestmark = pytest.mark.anyio

LONG_LINE = int(os.environ.get("GATEWAY_LONG_LINE", str(40 << 20)))


@pytest.mark.parametrize("content", ["", "\n\n", "\ufeff", HEADER, HEADER + "\r\n", "\ufeff" + HEADER + "\n\n"])
async def test_a_file_without_rows_has_none(tmp_path: Path, content: str) -> None:
    assert await read(put(tmp_path, content)) == []
    assert await read(put(tmp_path, content if HEADER not in content else "", "cards.jsonl")) == []


async def test_a_wrong_encoding_is_told_row_by_row(tmp_path: Path) -> None:
    path = put(tmp_path, lines(card_row(1), card_row(2, name="Änn"), card_row(3)).encode("cp1252"))
    rows = await read(path)
    assert keys(rows) == ["1", "3"]
    (said,) = wrong(rows)[3]
    assert (
        said == "row: byte 0xC4 at position 25 is not valid utf-8"
        " (expected --encoding with the file's encoding, such as cp1252)"
    )
    assert rows[1].source == {"account_number": f"2,{CARD},1230,\\xc4nn"}
    assert keys(await read(path, encoding="cp1252")) == ["1", "2", "3"]


async def test_a_cut_character_is_told_in_other_encodings(tmp_path: Path) -> None:
    content = lines(card_row(1), card_row(2)).rstrip().encode("utf-16")[:-1]
    rows = await read(put(tmp_path, content))
    assert keys(rows) == ["1"]
    assert "bytes that are not in the file's encoding" in wrong(rows)[3][0]


@pytest.mark.parametrize("header", [CARD + ",1230,Ann", "\x00\x01", "PK\x03\x04", "%PDF-1.7", "<html>"])
async def test_what_is_no_table_is_refused(tmp_path: Path, header: str) -> None:
    with pytest.raises(InvalidRequestError, match=r"is the first line the header\?|not a field") as caught:
        await read(put(tmp_path, header + "\n" + card_row(1)))
    assert CARD not in str(caught.value)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
async def test_a_header_with_nul_characters_is_refused(tmp_path: Path, encoding: str) -> None:
    path = put(tmp_path, lines(card_row(1)).encode(encoding))
    with pytest.raises(InvalidRequestError, match=r"header: contains NUL characters.*needs --encoding utf-16-le"):
        await read(path)
    assert keys(await read(path, encoding=encoding)) == ["1"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("cards.csv.gz", "compressed"),
        ("cards.zip", "compressed"),
        ("cards.xlsx", "a workbook"),
        ("cards.json", "JSON Lines"),
        ("cards.csv", "is compressed with gzip"),
        ("cards.jsonl", "is compressed with gzip"),
    ],
)
async def test_what_is_not_read_is_named(tmp_path: Path, name: str, said: str) -> None:
    with pytest.raises(InvalidRequestError, match=f"source: .*{said}"):
        await read(put(tmp_path, gzip.compress(lines(card_row(1)).encode()), name))


async def test_thousands_of_columns_without_a_name_are_read(tmp_path: Path) -> None:
    names = 16_000
    path = put(tmp_path, HEADER + "," * names + "\n" + card_row(1) + "," * (names - 1) + ",x\n" + card_row(2))
    first, second = await read(path)
    assert first.source is not None
    assert (len(first.source), [*first.source.values()][-1]) == (names + 4, "x")
    assert [len(row.problems) for row in (first, second)] == [1, 1]


async def test_a_header_that_never_ends_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequestError, match="header: longer than 1048576 bytes"):
        await read(put(tmp_path, "x" * (3 << 20)))
    with pytest.raises(InvalidRequestError, match="header: a quote is not closed"):
        await read(put(tmp_path, '"key,account_number\n1,2\n'))


async def test_a_long_line_costs_itself_only(tmp_path: Path) -> None:
    for long in ("x" * (3 << 20), '2,"' + "x" * (3 << 20) + '",1,1', '2,"' + "y\n" * 3 + "x" * (1 << 20)):
        rows = await read(put(tmp_path, lines(card_row(1), long, card_row(3))))
        assert keys(rows) == ["1", "3"]
        assert wrong(rows)[3][0].startswith(("row: longer than 1048576 bytes", "row: a quote is not"))


async def test_a_long_cell_is_its_rows_problem(tmp_path: Path) -> None:
    rows = await read(put(tmp_path, lines(card_row(1), card_row(2, name="x" * 200_000), card_row(3))))
    assert keys(rows) == ["1", "3"]
    assert "larger than field limit" in wrong(rows)[3][0]


GROWTH = """
import resource, sys, anyio
from gateway_async.migration import read_rows

class Long:
    left = {size}
    chunks = [{end}, {start}]
    def read(self, n):
        if len(self.chunks) == 1 and self.left > 0:
            self.left -= n
            return {fill} * (n // {width})
        return self.chunks.pop() if self.chunks else b""
    def seekable(self):
        return False

async def main():
    print(*[row.problems or row.key async for row in read_rows(Long(), format="csv")], sep="\\n")

async def warm():
    import io
    [row async for row in read_rows(io.BytesIO({start}), format="csv")]

anyio.run(warm)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
anyio.run(main)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.parametrize(("start", "fill"), [("", "x"), ('2,"', "x"), ('2,"', '""'), ("", ",,")])
def test_memory_is_flat_whatever_the_line(start: str, fill: str) -> None:
    before, after = (lines(card_row(1)) + start).encode(), f"\n{card_row(2)}\n".encode()
    program = GROWTH.format(size=LONG_LINE, start=before, end=after, fill=fill.encode(), width=len(fill))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)  # noqa: S603  our own interpreter
    first, long, last, growth = done.stdout.splitlines()
    assert (first, last) == ("1", "2")
    assert "longer than 1048576 bytes" in long
    assert int(growth) < 24
