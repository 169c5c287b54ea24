"""The files a migration leaves: vault ids, and rejects that can be mended and migrated again."""

import csv
import json
import math
import stat
from collections.abc import AsyncIterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway_async import InvalidRequestError
from gateway_async.migration import Columns, JournalEntry, RowResult, RowState, VaultRow, read_rows
from gateway_async.migration.output.files import back_up, backup_path, check_output
from gateway_async.migration.output.rejects import Rejects
from gateway_async.migration.output.tables import (
    FORMULA_NOTE,
    InputFormat,
    escape_formula,
    unescape_formulas,
    write_vault_ids,
)

from .files import CARD

COLUMNS = Columns({"Card No": "account_number", "Expiry": "exp_date"}, key="Customer", ignore=("Remark",))
NAMES = ("Customer", "Card No", "Expiry", "Remark")


def entry(key: str) -> JournalEntry:
    return JournalEntry(
        key=key,
        api_id=f"m{key}",
        state=RowState.STORED,
        fingerprint="",
        line=1,
        reasons=(),
        vault_id=f"v{key}",
        last_four="1111",
        brand="visa",
        run=1,
        changed_at=datetime(2026, 11, 21, tzinfo=UTC),
    )


async def entries(*keys: str) -> AsyncIterator[JournalEntry]:
    for key in keys:
        yield entry(key)


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


@pytest.mark.anyio
async def test_which_key_became_which_account(tmp_path: Path) -> None:
    for name in ("out.csv", "out.jsonl"):
        path = tmp_path / name
        path.write_text("key,account_vault_api_id\n")
        check_output("out", path)
        assert await write_vault_ids(path, entries("1", 'b,"2"')) == 2
    rows = list(csv.DictReader((tmp_path / "out.csv").read_text().splitlines()))
    assert rows == [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert list(rows[1].values()) == ['b,"2"', 'vb,"2"', 'mb,"2"', "1111", "visa"]
    assert contents(tmp_path).keys() == {"out.csv", "out.jsonl"}


@pytest.mark.anyio
async def test_a_file_that_is_not_finished_replaces_nothing(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_text("former")

    async def broken() -> AsyncIterator[JournalEntry]:
        yield entry("1")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        await write_vault_ids(path, broken())
    assert contents(tmp_path) == {"out.csv": "former"}


@pytest.mark.parametrize(
    ("option", "name", "said"),
    [
        ("out", "none/out.csv", "does not exist"),
        ("out", "out.txt", "must end in .csv"),
        ("out", "diary.csv", "expected --force to replace it"),
        ("rejects", "diary.csv", "expected --force to replace it"),
    ],
)
def test_a_path_is_refused_before_anything_is_sent(tmp_path: Path, option: str, name: str, said: str) -> None:
    (tmp_path / "diary.csv").write_text("Dear diary")
    with pytest.raises(InvalidRequestError, match=said):
        check_output(option, tmp_path / name)


@pytest.mark.parametrize(("suffix", "role"), [("~", "the backup"), (".part", "the temporary file")])
def test_the_input_is_not_lost(tmp_path: Path, suffix: str, role: str) -> None:
    source = tmp_path / f"rejects.csv{suffix}"
    source.touch()
    with pytest.raises(InvalidRequestError, match=rf"the input, would be {role} of rejects\.csv"):
        check_output("rejects", tmp_path / "rejects.csv", source=source, force=True)


@pytest.mark.parametrize("option", ["out", "rejects", "report", "report-json"])
def test_a_file_may_be_replaced(tmp_path: Path, option: str) -> None:
    path = tmp_path / "diary.csv"
    path.write_text("Dear diary")
    check_output(option, path, force=True)
    path.write_text('key,account_vault_api_id,problems,"rows_per_second"')
    check_output(option, path)


def test_two_processes_do_not_mix_their_files(tmp_path: Path) -> None:
    path, input_format = tmp_path / "rejects.csv", InputFormat(format="csv", columns=NAMES)
    slow, quick = (Rejects(path, lambda: input_format) for _ in range(2))
    slow.add(*rejected(CELLS, "slow"))
    quick.add(*rejected(CELLS, "quick"))
    with pytest.raises(OSError, match="another process writes"):
        slow.close()
    assert quick.close()
    assert "line 2: quick" in path.read_text()
    assert [each.name for each in tmp_path.iterdir()] == ["rejects.csv"]


def rejected(source: dict[str, Any], *reasons: str, line: int = 2, told: bool = True) -> tuple[VaultRow, RowResult]:
    row = VaultRow(key="c1", line=line, source=source, problems=() if told else reasons)
    end = RowResult(key="c1", api_id="m", state=RowState.REJECTED, fingerprint="", line=line, reasons=reasons)
    return row, end


def written(path: Path, input_format: InputFormat, *rows: tuple[VaultRow, RowResult], unmasked: bool = False) -> str:
    parquet = pytest.importorskip("pyarrow.parquet") if input_format.format == "parquet" else None
    rejects = Rejects(path, lambda: input_format, with_card_numbers=unmasked)
    for row, end in rows:
        rejects.add(row, end)
    assert rejects.close()
    assert rejects.count == len(rows)
    if parquet:
        return str(parquet.read_table(path).to_pylist())
    return path.read_bytes().decode(input_format.encoding)


REMARK = f"see {CARD} or 4111.1111/1111_1111"
CELLS = {"Customer": "c1", "Card No": "4111 1111 1111 1112", "Expiry": "13/30", "Remark": REMARK}


def test_rejects_have_the_shape_of_their_input(tmp_path: Path) -> None:
    input_format = InputFormat(format="csv", mapping=COLUMNS, columns=NAMES, delimiter=";", encoding="cp1252")
    source = {**CELLS, "Customer": "Zoë; 1"}
    text = written(tmp_path / "rejects.csv", input_format, rejected(source, "exp_date: no", "zip: no", line=7))
    assert text.splitlines() == [
        "Customer;Card No;Expiry;problems",
        '"Zoë; 1";************1112;13/30;"line 7: exp_date: no; zip: no"',
    ]


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_masked_rejects_leave_out_what_is_ignored(tmp_path: Path, kind: str) -> None:
    names = ("Customer", "Card No", "track_data", "account_holder_name", "Remark", "CVV")
    input_format = InputFormat(format=kind, mapping=attrs.evolve(COLUMNS, ignore=("Remark", "CVV")), columns=names)
    holder = "Ada 4111+1111\u20111111 \u200b1111, 5454\n5454\n5454\n5454"
    track = ";4111111111111111=30121011234567890?"
    cells = ("c1", "4111 1111 1111 1112", track, holder, "account 12345678", "737")
    path = tmp_path / f"rejects.{kind}"
    text = written(path, input_format, rejected(dict(zip(names, cells, strict=True)), "exp_date: is missing"))
    assert "Ada ************1111, ************5454" in text
    for hidden in ("Remark", "CVV", "737", "12345678", "567890", "4111", "5454\n"):
        assert hidden not in text


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_masked_rejects_hide_a_row_that_is_not_told_into_cells(tmp_path: Path, kind: str) -> None:
    input_format = InputFormat(format=kind, mapping=COLUMNS, columns=NAMES)
    rows = [rejected({"Card No": text}, "row: has 5 cells", told=False) for text in ("c1,7 3 7", "c,73")]
    text = written(tmp_path / "rejects", input_format, *rows)
    assert ("7 3 7" in text, "c,73" in text) == (False, True)


@pytest.mark.anyio
@pytest.mark.parametrize("unmasked", [True, False])
async def test_a_short_or_long_row_keeps_its_cells_in_place(tmp_path: Path, unmasked: bool) -> None:
    names = "Customer,Card No,Expiry,account_holder_name,Remark"
    given = [f"1001,{CARD},1230", f"1002,{CARD},1230,Ann,x,more,,737", f"{CARD},12,Ann", f"1003,12,{CARD}"]
    (tmp_path / "cards.csv").write_text("\n".join([names, *given]))
    columns = attrs.evolve(COLUMNS, ignore=("Remark",))
    rows = read_rows(tmp_path / "cards.csv", columns=columns)
    input_format = InputFormat(format="csv", mapping=columns, columns=await rows.header())
    path = tmp_path / "rejects.csv"
    text = written(
        path, input_format, *[(row, rejected({}, *row.problems)[1]) async for row in rows], unmasked=unmasked
    )
    found = list(csv.DictReader(text.splitlines()))
    if unmasked:
        assert [row["Card No"] for row in found] == [CARD, CARD, "12", "12"]
        assert text.splitlines()[2].startswith(f"1002,{CARD},1230,Ann,x,more,,737,line 3: row: has 8 cells")
        assert found[0]["problems"].startswith("line 2: row: has 3 cells")
        again = [row async for row in read_rows(path, columns=columns)]
        written(path, input_format, *[(row, rejected({}, *row.problems)[1]) for row in again], unmasked=True)
        assert path.read_text().splitlines()[2].startswith(f"1002,{CARD},1230,Ann,x,more,,737,line 3: row: has ")
        return
    assert [row["Customer"] for row in found] == ["1001", "1002", "************", "************"]
    assert found[0]["problems"].startswith("line 2: row: has 3 cells")
    for hidden in (CARD, "737", "1003"):
        assert hidden not in text


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
@pytest.mark.parametrize("told", [True, False])
def test_rejects_show_no_card_number(tmp_path: Path, kind: str, told: bool) -> None:
    input_format = InputFormat(format=kind, mapping=COLUMNS, columns=NAMES)
    cells = dict(CELLS)
    if not told:
        cells |= {"Customer": '";4111 1111 1111 1112;%B41111/ADA', "": ["021000021", "x"]}  # type: ignore[dict-item]
    text = written(tmp_path / "rejects", input_format, rejected(cells, "row: has 6 cells", told=told))
    for number in ("4111 1111 1111 1112", "4111.1111", CARD, *([] if told else ["41111/", "021000021"])):
        assert number not in text


def test_rejects_with_card_numbers_are_for_one_pair_of_eyes(tmp_path: Path) -> None:
    path = tmp_path / "rejects.csv"
    path.write_text("mended,problems\n")
    input_format = InputFormat(format="csv", columns=NAMES)
    text = written(path, input_format, rejected({**CELLS, "": ["more", ""]}, "row: has 6 cells"), unmasked=True)
    assert text.splitlines()[1] == f"c1,4111 1111 1111 1112,13/30,{REMARK},more,,line 2: row: has 6 cells"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert (tmp_path / "rejects.csv~").read_text() == "mended,problems\n"


def test_earlier_rejects_are_set_aside_when_nothing_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "rejects.csv"
    path.write_text("Customer,problems\n")
    assert [back_up(path, backup_path(path)) for _ in range(2)] == [True, False]
    assert contents(tmp_path) == {"rejects.csv~": "Customer,problems\n"}


def test_no_card_number_is_left_by_a_run_that_was_killed(tmp_path: Path) -> None:
    (tmp_path / "rejects.csv.part").write_text(f"c1,{CARD}\n")
    assert not Rejects(tmp_path / "rejects.csv", InputFormat).close()  # type: ignore[arg-type]  # it is not asked
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_takes_nothing_is_refused_before_anything_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda path, _mode: Path(path) != tmp_path)
    for option in ("out", "rejects", "report"):
        with pytest.raises(InvalidRequestError, match=f"folder {tmp_path} is not writable"):
            check_output(option, tmp_path / "out.csv")


def test_a_disk_that_takes_nothing_is_told_at_the_end(tmp_path: Path) -> None:
    rejects = Rejects(tmp_path / "gone" / "rejects.csv", lambda: InputFormat(format="jsonl"))
    rejects.add(*rejected(CELLS, "no"))
    with pytest.raises(FileNotFoundError):
        rejects.close()


@pytest.mark.anyio
@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
async def test_rejects_can_be_mended_and_read_again(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"rejects.{kind}"
    input_format = InputFormat(format=kind, mapping=COLUMNS, columns=NAMES)
    mended = {**CELLS, "Card No": CARD, "Expiry": "12/30"}
    written(path, input_format, rejected(mended, "exp_date: no", "and more"), unmasked=True)
    (row,) = [row async for row in read_rows(path, columns=COLUMNS)]
    assert (row.key, row.problems) == ("c1", ())
    assert row.request is not None


@pytest.mark.anyio
async def test_parquet_rejects_mean_the_same_as_their_input(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow.parquet") and pytest.importorskip("pyarrow")
    table = pyarrow.table(
        {
            "key": [1001.0, 2.0],
            "account_number": [CARD.encode(), CARD.encode()],
            "exp_date": [date(2030, 12, 31)] * 2,
            "billing_zip": [math.nan, 2134.0],
            "account_holder_name": [b"Ann", b"\xff"],
        }
    )
    pyarrow.parquet.write_table(table, tmp_path / "cards.parquet")
    given = [row async for row in read_rows(tmp_path / "cards.parquet")]
    input_format = InputFormat(format="parquet", columns=table.column_names)
    written(
        path := tmp_path / "rejects.parquet", input_format, *((row, rejected({})[1]) for row in given), unmasked=True
    )
    first, second = [row async for row in read_rows(path)]
    assert (first.key, first.request) == (given[0].key, given[0].request)
    assert getattr(second.request, "account_holder_name", "") == r"\xff"


FORMULAS = (
    '=HYPERLINK("http://127.0.0.1","x")',
    "=2+5+cmd|' /C calc'!A0",
    "@SUM(A1:A9)",
    "-2+3",
    "+1 (555) 123-4567",
    " =1+1",
    "\t=1",
    "\r=1",
    "\uff1d1+1",
    "'=1+1",
    "''@x",
)
PLAIN = ("-5", "+4930123456", "-1.5e3", "'-5", "'tis", "'", "a=b", "", "\u2013")


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("cell", [*FORMULAS, *PLAIN])
async def test_a_spreadsheet_runs_no_cell_of_rejects(tmp_path: Path, cell: str) -> None:
    names = ("Customer", "account_number", "title", "account_holder_name")
    columns = Columns(key="Customer")
    source = dict(zip(names, (cell, CARD, cell, "Ada"), strict=True))
    path, again = tmp_path / "rejects.csv", tmp_path / "again.csv"
    input_format = InputFormat(format="csv", mapping=columns, columns=names)
    written(path, input_format, rejected(source, "exp_date: no"), unmasked=True)
    with path.open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert row["title"] == row["Customer"] == ("'" + cell if cell in FORMULAS else cell)
    (read,) = [row async for row in read_rows(path, columns=columns)]
    assert read.source is not None
    assert {name: read.source[name] for name in names} == source
    input_format = attrs.evolve(input_format, columns=tuple(read.source))
    written(again, input_format, rejected({**read.source}, "no"), unmasked=True)
    assert again.read_text().splitlines()[0] == path.read_text().splitlines()[0]


@pytest.mark.anyio
async def test_an_apostrophe_of_another_file_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "cards.csv"
    titles = [f"'{cell}" for cell in FORMULAS]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("key", "title", "problems"))
        writer.writerows((number, title, "line 2: title: no") for number, title in enumerate(titles))
    assert [row.source and row.source["title"] async for row in read_rows(path)] == titles


@given(st.text(st.sampled_from("'=+-@5.e \t\uff1da"), max_size=6), st.text(st.sampled_from("'=+-@5. a"), max_size=6))
def test_no_two_cells_become_the_same(one: str, other: str) -> None:
    cells = [one, other]
    escaped = [escape_formula(cell) for cell in cells]
    assert list(unescape_formulas(escaped, FORMULA_NOTE)) == cells
    assert (escaped[0] == escaped[1]) == (one == other)
    for cell in escaped:
        assert cell.strip()[:1] not in ("=", "@", "\uff1d")


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["out.csv", "out.tsv", "out.jsonl"])
async def test_a_spreadsheet_runs_no_vault_id(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    await write_vault_ids(path, entries("=1+1", "-5"))
    if name == "out.jsonl":
        keys = [json.loads(line)["key"] for line in path.read_text().splitlines()]
        assert keys == ["=1+1", "-5"]
    else:
        rows = [*csv.reader(path.read_text().splitlines(), delimiter="," if name == "out.csv" else "\t")]
        assert [row[0] for row in rows] == ["key", "'=1+1", "-5"]


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_other_formats_keep_formulas_as_they_are(tmp_path: Path, kind: str) -> None:
    input_format = InputFormat(format=kind, mapping=Columns(key="key"), columns=("key", "title"))
    text = written(tmp_path / f"rejects.{kind}", input_format, rejected({"key": "1", "title": "=1+1"}, "no"))
    assert "'=1+1" not in text.replace("': '=", "': =")
    assert "=1+1" in text
