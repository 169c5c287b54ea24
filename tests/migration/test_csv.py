"""CSV files as sources of rows."""

import csv
import io
from pathlib import Path

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway_async import CardVaultCreate, InvalidRequestError
from gateway_async.migration import Columns, read_rows, shards

from .files import CARD, HEADER, all_of, card_row, keys, lines, put, read, wrong

pytestmark = pytest.mark.anyio


async def test_a_row_becomes_a_request(tmp_path: Path) -> None:
    path = put(tmp_path, "Customer,Card No,Exp. Date\nc-1,4111 1111 1111 1111,12/30\n")
    (row,) = await read(
        path, columns=Columns(names={"Card No": "account_number"}, key="Customer", constants={"title": "T"})
    )
    assert (row.key, row.line, row.problems) == ("c-1", 2, ())
    assert row.request == CardVaultCreate(account_number=CARD, exp_date="1230", title="T")
    assert row.source == {"Customer": "c-1", "Card No": "4111 1111 1111 1111", "Exp. Date": "12/30"}


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
async def test_the_delimiter_is_told_from_the_header(tmp_path: Path, delimiter: str) -> None:
    rows = read_rows(put(tmp_path, lines(card_row(1)).replace(",", delimiter)))
    assert keys(await all_of(rows)) == ["1"]
    assert rows.delimiter == delimiter


@pytest.mark.parametrize(
    "names",
    [
        ['"Card\nNumber"', "key", "exp_date"],
        ["key", '"Card\r\nNumber"', "exp_date"],
        ["key", "exp_date", '"Card\n\nNumber"'],
        ['"key"', '"Card Number"', '"exp_date"'],
        ["key", "exp_date", "Card Number", '"Remark, or note; or | this\n,,,,,"'],
    ],
)
async def test_the_delimiter_is_told_from_the_first_record(tmp_path: Path, names: list[str]) -> None:
    cells = {"key": "1", "exp_date": "1230"}
    row = [cells.get(name.strip('"'), "" if "Remark" in name else CARD) for name in names]
    columns = Columns({"Card Number": "account_number"}, ignore=["Remark, or note; or | this ,,,,,"])
    for delimiter in (",", ";", "\t", "|"):
        path = put(tmp_path, f"\n{delimiter.join(names)}\n{delimiter.join(row)}\n")
        rows = read_rows(path, columns=columns if len(names) == 4 else attrs.evolve(columns, ignore=()))
        assert keys(await all_of(rows)) == ["1"]
        assert rows.delimiter == delimiter


@pytest.mark.parametrize("remark", ["remark, " * 12_000, "remark, " * 12_000 + "\n", "x" * 100_000])
async def test_a_long_header_is_read_before_its_delimiter_is_told(tmp_path: Path, remark: str) -> None:
    given = "".join(f"x;{key};{CARD};1230\n" for key in range(2000))
    path = put(tmp_path, f'"{remark}";key;account_number;exp_date\n{given}')
    rows = await read(path, columns=Columns(ignore=[remark]))
    assert keys(rows) == [str(key) for key in range(2000)]
    assert rows[0].line == 2 + remark.count("\n")


@pytest.mark.parametrize("end", ["\x1a", "\n\x1a", "\r\n\x1a\x1a", "\n\x1a\n", "\n \x1a"])
@pytest.mark.parametrize("name", ["Ann", '"Ann"'])
async def test_the_end_that_dos_programs_write_is_no_row(tmp_path: Path, end: str, name: str) -> None:
    assert keys(await read(put(tmp_path, lines(card_row(1), card_row(2, name=name)).rstrip() + end))) == ["1", "2"]
    assert await read(put(tmp_path, HEADER + end)) == []
    rows = await read(put(tmp_path, lines(card_row(1, name="A\x1a"), card_row(2))))
    assert wrong(rows) == {2: ("account_holder_name: contains a line break or another control character",)}


async def test_a_spreadsheets_separator_line_is_understood(tmp_path: Path) -> None:
    (row,) = await read(put(tmp_path, "sep=;\r\n" + lines(card_row(1)).replace(",", ";")))
    assert (row.key, row.line, row.problems) == ("1", 3, ())


async def test_a_dialect_can_be_said(tmp_path: Path) -> None:
    path = put(tmp_path, lines("1,4111111111111111,1230,'Ann, ''A'''"))
    (row,) = await read(path, quotechar="'")
    assert isinstance(row.request, CardVaultCreate)
    assert row.request.account_holder_name == "Ann, 'A'"


@pytest.mark.parametrize(
    "content",
    [
        lines(card_row(1)).encode("utf-8-sig"),
        *(lines(card_row(1, name="Änn")).encode(code) for code in ("utf-16", "utf-32")),
    ],
)
async def test_a_byte_order_mark_is_understood(tmp_path: Path, content: bytes) -> None:
    assert keys(await read(put(tmp_path, content))) == ["1"]


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16-le", "shift_jis", "gb18030", "mac-roman"])
async def test_an_encoding_can_be_said(tmp_path: Path, encoding: str) -> None:
    name = "Ｊ表" if encoding in ("shift_jis", "gb18030") else "Änn"
    (row,) = await read(put(tmp_path, lines(card_row(1, name=name)).encode(encoding)), encoding=encoding)
    assert row.request is not None
    assert row.request.account_holder_name == name


async def test_blank_lines_and_empty_rows_are_left_out(tmp_path: Path) -> None:
    rows = await read(put(tmp_path, "\n" + lines(card_row(1), "", "  ", ",,,", card_row(2)) + "\n\n"))
    assert [(row.key, row.line) for row in rows] == [("1", 3), ("2", 7)]


async def test_how_far_it_is_can_be_told(tmp_path: Path) -> None:
    path = put(tmp_path, lines(*map(card_row, range(5000))))
    rows = read_rows(path)
    assert await rows.header() == tuple(HEADER.split(","))
    assert rows.total == path.stat().st_size
    places = {rows.position async for _ in rows}
    assert max(places) == rows.total
    assert len(places) > 3


async def test_how_far_it_is_in_a_small_file(tmp_path: Path) -> None:
    path = put(tmp_path, lines(*map(card_row, range(10))))
    rows = read_rows(path)
    shares = [round(rows.position / (rows.total or 1), 1) async for _ in rows]
    assert shares == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]


async def test_it_can_be_read_again(tmp_path: Path) -> None:
    path = put(tmp_path, lines(card_row(1)))
    for source in (path, io.BytesIO(path.read_bytes())):
        rows = read_rows(source, format="csv")
        assert keys(await all_of(rows)) == keys(await all_of(rows)) == ["1"]


@pytest.mark.parametrize("per_shard", [1, 7, 1000])
@pytest.mark.parametrize("prefix", ["", "\ufeff", "sep=,\n\n"])
async def test_shards_are_the_whole(tmp_path: Path, per_shard: int, prefix: str) -> None:
    given = [card_row(1), '2,"a\nb",1230,x', card_row(3), '4,"5,6,7', *map(card_row, range(5, 20)), '20,"']
    path = put(tmp_path, prefix + lines(*given))
    whole = await read(path)
    parts = [row for shard in shards(path, per_shard) for row in await read(path, shard=shard)]
    assert parts == whole
    assert len(shards(path, per_shard)) == -(-20 // per_shard)


@given(st.lists(st.tuples(st.text(min_size=1), st.text()), min_size=1, max_size=5), st.sampled_from(",;\t|"))
async def test_any_cell_comes_back(cells: list[tuple[str, str]], delimiter: str) -> None:
    texts = [(key, name) for key, name in cells if (key + name).encode(errors="ignore").decode() == key + name]
    file = io.StringIO()
    writer = csv.writer(file, delimiter=delimiter)
    writer.writerows([HEADER.split(","), *([key, CARD, "1230", name] for key, name in texts)])
    rows = await read(io.BytesIO(file.getvalue().encode()), format="csv")
    assert [(row.source["key"], row.source["account_holder_name"]) for row in rows if row.source] == texts


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"format": None}, "format: not given and not clear from the file name"),
        ({"delimiter": ";;"}, "delimiter: must be one ASCII character"),
        ({"quotechar": "«"}, "quotechar: must be one ASCII character"),
        *(({"encoding": name}, f"encoding: {name} is not known") for name in ("utf-99", "hex", "idna", "undefined")),
        ({"encoding": "utf-16"}, "encoding: the file has no byte order mark"),
    ],
)
async def test_wrong_arguments_are_named(how: dict[str, str], said: str) -> None:
    with pytest.raises(InvalidRequestError, match=said):
        await read(io.BytesIO(b"key\n"), **{"format": "csv", **how})


async def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequestError, match=r"gone\.csv: No such file"):
        await read(tmp_path / "gone.csv")
    with pytest.raises(InvalidRequestError, match="Is a directory"):
        await read(tmp_path, format="csv")


async def test_shards_of_an_encoding_with_two_bytes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequestError, match=r"encoding: .*expected UTF-8"):
        shards(put(tmp_path, lines(card_row(1)).encode("utf-16")), 10)


@pytest.mark.parametrize(
    "stray",
    [
        '2,"4111111111111111,1230,Ann',
        '2,4111111111111111,1230,"Ann',
        '2,4111111111111111,"1230,Ann',
        '2,"Ann" x,1230,Ann',
        '"2,4111111111111111,1230,Ann"',
    ],
)
async def test_a_stray_quote_costs_its_own_row_only(tmp_path: Path, stray: str) -> None:
    for later in ('4,4111111111111111,1230,Bob"', '4,4111111111111111,1230,"B, B"', '4,"",1230,x', card_row(4)):
        rows = await read(put(tmp_path, lines(card_row(1), stray, card_row(3), later, *map(card_row, range(5, 50)))))
        assert set(wrong(rows)) <= {3, 5}
        assert 3 in wrong(rows)
        assert [row.line for row in rows] == list(range(2, 51))


async def test_a_cell_may_have_several_lines(tmp_path: Path) -> None:
    path = put(tmp_path, 'key,account_number,exp_date,notes\n1,4111111111111111,1230,"called\r\ntwice, so"\n')
    assert keys(await read(path, columns=Columns(ignore=["notes"]))) == ["1"]
    rows = await read(path, columns=Columns(names={"notes": "title"}))
    assert wrong(rows) == {2: ("title: contains a line break or another control character",)}


async def test_counts_are_told(tmp_path: Path) -> None:
    """Too few and too many cells are problems. Additional empty cells at the end are allowed."""
    rows = await read(put(tmp_path, lines("1,2", card_row(2) + ",x", card_row(3) + ",,")))
    assert wrong(rows) == {
        2: ("row: has 2 cells (expected 4 as in the header)",),
        3: ("row: has 5 cells (expected 4 as in the header)",),
    }
    assert keys(rows) == ["3"]


async def test_cells_of_a_short_or_long_row_stay_in_their_columns(tmp_path: Path) -> None:
    short, long = await read(put(tmp_path, lines("1,2", card_row(2) + ",x,,y")))
    assert short.source == {"key": "1", "account_number": "2"}
    assert long.source == {**dict(zip(HEADER.split(","), card_row(2).split(","), strict=True)), "": ["x", "", "y"]}


async def test_a_column_without_a_name_may_only_be_empty(tmp_path: Path) -> None:
    path = put(tmp_path, f"{HEADER},,\n{card_row(1)},,\n{card_row(2)}, ,Bob\n")
    rows = await read(path)
    assert keys(rows) == ["1"]
    assert list(wrong(rows)) == [3]
    assert wrong(rows)[3][0].startswith(
        "column 6: has a value, but no name in the header (expected a name, or --ignore"
    )
    assert keys(await read(path, columns=Columns(ignore=[""]))) == ["1", "2"]
    path = put(tmp_path, f"key,account_number,exp_date,\n1,{CARD},1230,Ann\n")
    (row,) = await read(path, columns=Columns(names={"": "account_holder_name"}))
    assert (row.problems, row.request and row.request.account_holder_name) == ((), "Ann")


async def test_ignored_columns_of_one_name_keep_their_cells(tmp_path: Path) -> None:
    path = put(tmp_path, f"key,account_number,exp_date,Remark,Remark,,\n1,{CARD},1230,a,b,c,d\n")
    (row,) = await read(path, columns=Columns(ignore=["Remark", ""]))
    assert row.source is not None
    assert list(row.source.values()) == ["1", CARD, "1230", "a", "b", "c", "d"]
