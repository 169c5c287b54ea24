"""JSON Lines as sources of rows."""

import json
from pathlib import Path

import pytest

from gateway_async import CardVaultCreate, InvalidRequestError
from gateway_async.migration import Columns, read_rows, shards

from .files import CARD, keys, put, read, wrong

pytestmark = pytest.mark.anyio

GOOD = json.dumps({"key": 1, "account_number": CARD, "exp_date": "12/30"})


async def test_an_object_becomes_a_request(tmp_path: Path) -> None:
    line = json.dumps({"Customer": 7, "Card No": int(CARD), "Exp-Date": 1230, "run_avs": True, "title": None})
    columns = Columns(names={"card no": "account_number"}, key="customer", constants={"contact_id": "c"})
    (row,) = await read(put(tmp_path, line, "cards.jsonl"), columns=columns)
    assert (row.key, row.line, row.problems) == ("7", 1, ())
    assert row.request == CardVaultCreate(account_number=CARD, exp_date="1230", run_avs=True, contact_id="c")
    assert row.source == json.loads(line)


async def test_line_ends_and_blank_lines_may_be_mixed(tmp_path: Path) -> None:
    rows = await read(put(tmp_path, f"\ufeff{GOOD}\r\n\n  \n{GOOD}\r{GOOD}", "cards.ndjson"))
    assert [(row.line, row.problems) for row in rows] == [(1, ()), (4, ()), (5, ())]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("[1]", "row: must be a JSON object"),
        ('"text"', "row: must be a JSON object"),
        ('{"key": 1', "row: not valid JSON"),
        ("nonsense", "row: not valid JSON"),
        ("[" * 100_000, "row: "),
        ('{"key": "\\ud800", "account_number": "4111111111111111", "exp_date": "1230"}', "key: contains a character"),
        (
            '{"key": 1, "account_number": "4111111111111111", "exp_date": "1230", "title": "Ada \\ud83d"}',
            "title: has an invalid character (a lone surrogate)",
        ),
        ('{"key": "\\ud83d", "account_number": NaN}', "row: not valid JSON"),
        (
            '{"key": 1, "account_number": ["4111111111111111"], "exp_date": "1230"}',
            "account_number: must be text, not a list",
        ),
        ('{"key": 1, "account_number": 4.111e15, "exp_date": "1230"}', "account_number: scientific notation"),
        ('{"key": 1, "acount": 1, "account_number": "4111111111111111", "exp_date": "1230"}', "'acount': not a field"),
        ('{"key": 1, "exp_date": "1230", "EXP_DATE": "1230", "ticket": "t"}', "exp_date: mapped from 2 columns"),
        ('{"key": 1, "exp_date": "1230", "ticket": "t", "exp_date": "1231"}', "exp_date: mapped from 2 columns"),
        ('{"key": 1, "ticket": "t", "ticket" : "t", "exp_date": "1231"}', "ticket: mapped from 2 columns"),
        (
            '{"key": 1, "ticket": "t", "exp_date": "1231", "title": "\\"ticket\\":", "key": 2}',
            "key: column 'key' appears",
        ),
    ],
)
async def test_a_wrong_line_costs_itself_only(tmp_path: Path, line: str, said: str) -> None:
    rows = await read(put(tmp_path, f"{GOOD}\n{line}\n{GOOD}\n", "cards.jsonl"))
    assert list(wrong(rows)) == [2]
    assert wrong(rows)[2][0].startswith(said)
    assert CARD not in repr(rows)
    assert keys(rows) == ["1", "1"]


async def test_half_an_emoji_in_a_column_that_is_left_out_rejects_nothing(tmp_path: Path) -> None:
    line = f'{{"key": 1, "account_number": {CARD}, "exp_date": "1230", "note": "Thanks \\ud83d", "price": 1.50}}'
    (row,) = await read(put(tmp_path, line, "cards.jsonl"), columns=Columns(ignore=["note", "price"]))
    assert (row.key, row.problems) == ("1", ())
    assert row.source is not None
    assert (row.source["note"], row.source["price"]) == ("Thanks \ud83d", "1.50")


async def test_a_line_that_cannot_be_told_is_kept_where_it_is_masked(tmp_path: Path) -> None:
    (row,) = await read(put(tmp_path, f"{CARD},1230", "cards.jsonl"))
    assert row.source == {"account_number": f"{CARD},1230"}


async def test_shards_are_the_whole(tmp_path: Path) -> None:
    path = put(tmp_path, f"{GOOD}\nbad\n\n{GOOD}\r\n" * 10, "cards.jsonl")
    parts = [row for shard in shards(path, 7) for row in await read(path, shard=shard)]
    assert parts == await read(path)
    rows = read_rows(path, shard=shards(path, 7)[1])
    await rows.header()
    assert rows.total == shards(path, 7)[1].end - shards(path, 7)[1].start


@pytest.mark.parametrize(
    ("document", "kind"),
    [
        (f"[\n{GOOD},\n{GOOD}\n]\n", "array"),
        (f"[{GOOD},\n{GOOD}]", "array"),
        ("[]", "array"),
        (json.dumps([json.loads(GOOD)], indent=2), "array"),
        (json.dumps(json.loads(GOOD), indent=2), "document over several lines"),
        (f'{{"rows": [\n{GOOD},\n{GOOD}\n]}}', "document over several lines"),
    ],
)
async def test_one_document_is_refused(tmp_path: Path, document: str, kind: str) -> None:
    for begin in ("", "\ufeff", "\n\n  ", "\r\n"):
        path = put(tmp_path, begin + document, "cards.jsonl")
        with pytest.raises(InvalidRequestError, match=rf"source: is a JSON {kind} \(expected JSON Lines"):
            await read(path)
        with pytest.raises(InvalidRequestError, match="JSON Lines"):
            await read_rows(path).header()
        with pytest.raises(InvalidRequestError, match="JSON Lines"):
            shards(path, 10)


@pytest.mark.parametrize("end", ["\x1a", "\n\x1a", "\r\n\x1a\n"])
async def test_the_end_that_dos_programs_write_is_no_row(tmp_path: Path, end: str) -> None:
    assert keys(await read(put(tmp_path, GOOD + end, "cards.jsonl"))) == ["1"]


async def test_a_value_without_a_name_is_a_problem(tmp_path: Path) -> None:
    line = json.dumps({**json.loads(GOOD), "": "x"})
    (row,) = await read(put(tmp_path, line, "cards.jsonl"))
    assert row.problems[0].startswith("column 4: has a value, but no name")
    assert keys(await read(put(tmp_path, line, "cards.jsonl"), columns=Columns(ignore=[""]))) == ["1"]
