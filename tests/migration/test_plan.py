"""A plan: everything is counted, nothing is sent, no number is shown."""

import json
from collections.abc import Iterator
from contextlib import closing
from datetime import date
from pathlib import Path

import attrs
import pytest

from gateway_async import CardVaultCreate, InvalidRequestError
from gateway_async.migration import VaultRow, plan_migration, read_rows
from gateway_async.migration.rows.temporary_table import DuplicateCount, DuplicateFinder

from .files import BANK_ACCOUNT, CARD, OTHER_CARD, card_row, lines, put

pytestmark = pytest.mark.anyio

TODAY = date(2030, 10, 15)
CARD_REQUEST = CardVaultCreate(account_number=CARD, exp_date="1230")


async def test_rows_are_counted(tmp_path: Path) -> None:
    """All, those that can be sent, by kind and by brand. Kinds and brands count the same rows."""
    given = [card_row(1), f"2,{OTHER_CARD},1230,", "3,4111111111111112,1230,", "4,1", ",,,", card_row(1)]
    path = put(tmp_path, lines(*given))
    seen: list[int] = []
    plan = await plan_migration(read_rows(path), today=TODAY, on_progress=seen.append)
    assert (plan.rows, plan.ready, plan.rejected, plan.repeated) == (5, 2, 2, 1)
    assert plan.kinds == {"CardVaultCreate": 3}
    assert plan.brands == {"visa": 2, "mc": 1}


async def test_problems_are_gathered(tmp_path: Path) -> None:
    """The same with other numbers is the same; the most frequent first, with lines of a few."""
    many = [f"{key},411111111111111{key % 10},1230," for key in range(2, 10)]
    plan = await plan_migration(read_rows(put(tmp_path, lines("a,1", *many))), today=TODAY)
    assert [(each.text, each.count, each.lines) for each in plan.problems] == [
        ("account_number: fails the check digit", 8, (3, 4, 5, 6, 7)),
        ("row: has 2 cells (expected 4 as in the header)", 1, (2,)),
    ]


async def test_what_is_said_of_several_rows_is_true_of_each() -> None:
    problems = [f"row: has {cells} cells (expected 4)" for cells in (2, 3)] + ["a1: is no 7"] * 2
    rows = [VaultRow(key=str(place), line=place, problems=(said,)) for place, said in enumerate(problems)]
    rows += [VaultRow(key=f"c{end}", problems=(f"account_number: fails, ends in {end}",)) for end in (1112, 2222)]
    plan = await plan_migration(rows, today=TODAY)
    assert [each.text for each in plan.problems] == [
        "row: has … cells (expected 4)",
        "a1: is no 7",
        "account_number: fails",
    ]


async def test_of_rows_with_one_key_the_first_that_can_be_sent_is_counted() -> None:
    bad = ("exp_date: no",)
    given = [("a", ()), ("a", ()), ("b", bad), ("b", ()), ("c", ()), ("c", bad), ("a", ()), ("d", ()), ("b", ())]
    rows = [VaultRow(key=key, line=line, request=CARD_REQUEST, problems=said) for line, (key, said) in enumerate(given)]
    plan = await plan_migration(rows, rate=1, today=TODAY)
    assert (plan.rows, plan.ready, plan.rejected, plan.repeated, plan.seconds) == (9, 4, 2, 3, 4)
    assert plan.duplicate_keys == DuplicateCount(3, ((1, 0), (6, 0), (8, 3)))
    assert str(plan).startswith("9 rows, 4 can be sent: about 4.0 s")
    assert "lines 1 (0 wins), 6 (0 wins), 8 (3 wins)" in str(plan)


async def test_a_key_that_no_journal_can_keep_is_a_problem() -> None:
    plan = await plan_migration([VaultRow(key="a\0", request=CARD_REQUEST)], today=TODAY)
    assert (plan.ready, plan.rejected) == (0, 1)
    assert [each.text for each in plan.problems] == ["key: contains a character that cannot be stored"]


async def test_what_is_sent_all_the_same_is_told() -> None:
    rows = [
        CardVaultCreate(account_number=CARD, exp_date=expiry, account_vault_api_id=expiry, billing_zip=zipped)
        for expiry, zipped in [("0930", None), ("1030", "01234"), ("0131", "1234"), ("0231", "21340001")]
    ]
    plan = await plan_migration(rows, today=TODAY)
    assert {each.text.split(";")[0]: each.lines for each in plan.warnings} == {
        "exp_date: the card has expired": (1,),
        "exp_date: the card expires within 3 months": (2, 3),
        "billing_zip: has four digits": (3,),
        "billing_zip: has eight digits": (4,),
    }
    assert plan.ready == 4


async def test_a_spreadsheets_dates_cast_doubt_on_their_column(tmp_path: Path) -> None:
    last_days = [f"{key},{CARD},2030-{month},Ann" for key, month in ((1, "09-30"), (2, "11-30"), (3, "12-01"))]
    clear = await plan_migration(read_rows(put(tmp_path, lines(*last_days, card_row(4)))), today=TODAY)
    assert (clear.ready, [each.text for each in clear.warnings if "spreadsheet" in each.text]) == (4, [])
    doubtful = f"5,{CARD},2030-09-27,Ann"
    plan = await plan_migration(read_rows(put(tmp_path, lines(*last_days, card_row(4), doubtful))), today=TODAY)
    (warning,) = (each for each in plan.warnings if "spreadsheet" in each.text)
    assert (plan.ready, plan.rejected, warning.count, warning.lines) == (4, 1, 3, (2, 3, 4))
    assert warning.text.startswith("exp_date: a spreadsheet has changed this column to full dates")
    assert "warnings:" in str(plan)


async def test_keys_that_look_like_card_numbers_are_told() -> None:
    card = CardVaultCreate(account_number=CARD, exp_date="1240")
    keys = ["c1", "9999999999999995", OTHER_CARD]
    rows = [VaultRow(key=key, line=line, request=card) for line, key in enumerate(keys, start=2)]
    plan = await plan_migration(rows, today=TODAY)
    assert [(each.text, each.lines) for each in plan.warnings] == [
        ("key: looks like a card number, and the journal stores keys", (3,))
    ]
    assert [(each.text.partition(" (")[0], each.lines) for each in plan.problems] == [
        ("key: contains a card number", (4,))
    ]


async def test_doubles_are_found() -> None:
    """Of keys and of accounts, with the line of the first; cards and bank accounts."""
    given = [("a", CARD_REQUEST), ("b", BANK_ACCOUNT), ("a", BANK_ACCOUNT), ("c", CARD_REQUEST), ("a", None)]
    rows = [VaultRow(key=key, line=line, request=request) for line, (key, request) in enumerate(given, start=10)]
    plan = await plan_migration(rows, today=TODAY)
    assert plan.duplicate_keys == DuplicateCount(1, ((12, 10),))
    assert plan.duplicate_accounts == DuplicateCount(2, ((12, 11), (13, 10)))


async def test_bare_requests_are_looked_at_too() -> None:
    plan = await plan_migration([CardVaultCreate(account_number=CARD, exp_date="1330")], today=TODAY)
    assert [each.text for each in plan.problems] == [
        "exp_date: must be MMYY, such as 0930",
        "account_vault_api_id: required",
    ]
    assert plan.ready == 0


@pytest.mark.parametrize(
    ("rate", "concurrency", "latency", "seconds"), [(10, 64, 0.1, 10), (None, 10, 0.5, 5), (1000, 10, 0.5, 5)]
)
async def test_the_time_is_estimated(rate: float | None, concurrency: int, latency: float, seconds: float) -> None:
    rows = [attrs.evolve(CARD_REQUEST, account_vault_api_id=str(number)) for number in range(100)]
    plan = await plan_migration(rows, rate=rate, concurrency=concurrency, latency=latency, today=TODAY)
    assert plan.seconds == pytest.approx(seconds)
    assert "100  cards\n" in str(plan)


async def test_wrong_numbers_are_refused() -> None:
    with pytest.raises(InvalidRequestError, match="rate: must be a number above 0"):
        await plan_migration([], rate=0)


async def test_a_plan_is_a_page_and_json_without_numbers(tmp_path: Path) -> None:
    given = [card_row(1), "2,4111111111111112,0120,", f"{CARD},{CARD},1230,", f"3,{CARD},{CARD},{CARD}"]
    plan = await plan_migration(read_rows(put(tmp_path, lines(*given))), today=TODAY)
    for text in (str(plan), json.dumps(plan.as_json()), repr(plan)):
        assert "411111" not in text
        assert "1112" in text
    assert str(plan).splitlines()[0].startswith("4 rows, 1 can be sent: about 1.0 s")


async def test_a_plan_of_nothing(tmp_path: Path) -> None:
    plan = await plan_migration(read_rows(put(tmp_path, "")), today=TODAY)
    assert (plan.rows, plan.problems, plan.duplicate_keys) == (0, (), DuplicateCount(0))


@pytest.fixture
def finder() -> Iterator[DuplicateFinder]:
    with closing(DuplicateFinder()) as finder:
        yield finder


def test_many_texts_take_few_bytes(finder: DuplicateFinder) -> None:
    for number in range(20_000):
        finder.add(str(number), number)
    finder.add("777", 20_001)
    assert finder.find() == DuplicateCount(1, ((20_001, 777),))
    pages, size = (finder._connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
    assert pages * size < 24 * 20_001


def test_a_duplicate_in_the_same_line_counts(finder: DuplicateFinder) -> None:
    finder.add("a", 1)
    finder.add("a", 1)
    assert finder.find() == DuplicateCount(1, ((1, 1),))


def test_the_first_duplicates_are_the_examples(finder: DuplicateFinder) -> None:
    for line in range(1, 10):
        finder.add(str(line % 2), line)
    assert finder.find(3) == DuplicateCount(7, ((3, 1), (4, 2), (5, 1)))
