"""Journals of both kinds: what is begun is known, and what is stored stays stored."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import pytest

from gateway_async import JournalError
from gateway_async.migration.journal.protocol import Journal, RowResult, RowState, iterate_entries
from gateway_async.migration.journal.store import PostgresJournal, SqliteJournal
from tests.support.ledgers import ask_postgres
from tests.support.servers import POSTGRES, postgres_only

from .journals import Another, begin, end, opened, stored

pytestmark = pytest.mark.anyio
SENDING, STORED, REJECTED, REPEATED, UNKNOWN = (
    *(RowState.SENDING, RowState.STORED, RowState.REJECTED, RowState.REPEATED, RowState.UNKNOWN),
)


@pytest.fixture
async def another(kind: str, tmp_path: Path) -> AsyncIterator[Another]:
    async with opened(kind, tmp_path) as make:
        yield make


@pytest.fixture
async def journal(another: Another) -> Journal:
    """One whose first run has begun."""
    made = another()
    await made.start(None)
    return made


def bad_row(key: str, row_number: int, state: RowState = REJECTED) -> RowResult:
    """The result of a row that was not begun."""
    return end(key, state, "", started=False, row_number=row_number, reasons=("row: is cut",))


async def state_of(journal: Journal, key: str) -> RowState | None:
    return next((entry.state for entry in await journal.entries() if entry.key == key), None)


async def test_runs_are_counted_and_the_name_stays(another: Another) -> None:
    first, second = another(), another()
    runs = [await first.start(None), await second.start("cards"), await first.start(None)]
    assert [(run.name, run.number) for run in runs] == [("cards", 1), ("cards", 2), ("cards", 3)]


async def test_another_migration_is_refused(journal: Journal) -> None:
    with pytest.raises(JournalError, match="it belongs to the migration 'cards', not to 'others'"):
        await journal.start("others")


async def test_a_journal_belongs_to_one_gateway(another: Another) -> None:
    first, second = another(), another()
    assert [(await journal.start(None, at)).number for journal, at in ((first, ""), (second, "a"), (first, "a"))]
    with pytest.raises(JournalError, match="its rows are stored at a, not at b"):
        await second.start(None, "b")
    assert (await second.start(None)).number == 4


async def test_what_was_rejected_can_be_forgotten(journal: Journal) -> None:
    await journal.record_starts([begin(key) for key in ("a", "b", "c", "d")])
    await journal.record_results(
        [stored("a"), end("b", REJECTED, reasons=("contact_id: is not valid",)), end("c", UNKNOWN)]
    )
    await journal.delete_rejected()
    assert [
        entry and entry.state for entry in await journal.record_starts([begin(key) for key in ("a", "b", "c", "d")])
    ] == [*(STORED, None), *(UNKNOWN, SENDING)]


async def test_what_is_begun_is_new_once(journal: Journal) -> None:
    known = await journal.record_starts([begin("a"), begin("b", line=3), begin("a", line=4)])
    assert known[:2] == [None, None]
    assert known[2] is not None
    assert (known[2].key, known[2].line, known[2].state, known[2].run) == ("a", 2, SENDING, 1)
    (again,) = await journal.record_starts([begin("b", line=5)])
    assert again is not None
    assert (again.line, again.api_id) == (3, "id-b")


async def test_what_became_of_rows(journal: Journal) -> None:
    await journal.record_starts([begin("c"), begin("a"), begin("b"), begin("d")])
    await journal.record_results(
        [stored("a"), end("c", REJECTED, reasons=("exp_date: is past", "title: é")), end("d", UNKNOWN)]
    )
    await journal.flush()
    assert await journal.counts() == {STORED: 1, SENDING: 1, REJECTED: 1, UNKNOWN: 1}
    page = await journal.entries(limit=3)
    assert [(entry.key, entry.state) for entry in page] == [("a", STORED), ("b", SENDING), ("c", REJECTED)]
    assert (page[0].vault_id, page[0].last_four, page[0].brand, page[0].line) == ("v-a", "1111", "visa", 2)
    assert page[2].reasons == ("exp_date: is past", "title: é")
    assert abs(page[0].changed_at - datetime.now(UTC)) < timedelta(minutes=1)
    assert [entry.key for entry in await journal.entries(after="c")] == ["d"]
    assert [entry.key for entry in await journal.entries(UNKNOWN)] == ["d"]


async def test_what_is_stored_stays_stored(journal: Journal) -> None:
    await journal.record_starts([begin("a")])
    await journal.record_results([stored("a")])
    await journal.record_results([end("a", UNKNOWN), end("a", REJECTED)])
    (known,) = await journal.record_starts([begin("a", "other")])
    assert known is not None
    assert (known.state, known.vault_id, known.fingerprint) == (STORED, "v-a", "f")
    await journal.delete_unsent([begin("a")])
    await journal.flush()
    assert await state_of(journal, "a") is STORED


async def test_a_rejected_row_is_new_when_its_content_changed(journal: Journal) -> None:
    await journal.record_starts([begin("a")])
    await journal.record_results([end("a", REJECTED, reasons=("title: is too long",))])
    (known,) = await journal.record_starts([begin("a")])
    assert known is not None
    assert known.reasons == ("title: is too long",)
    (repeated,) = await journal.record_starts([begin("a", "mended", line=3)])
    assert repeated is not None
    assert (repeated.row_number, repeated.read_by) == (2, 1)
    await journal.start(None)
    assert await journal.record_starts([begin("a", "mended")]) == [None]
    (entry,) = await journal.entries()
    assert (entry.state, entry.fingerprint, entry.reasons) == (SENDING, "mended", ())


async def test_a_row_that_was_not_begun_says_nothing_of_one_that_was(journal: Journal) -> None:
    await journal.record_starts([begin("a")])
    for _ in range(2):
        bad = [bad_row(key, row_number) for row_number, key in enumerate(("a", "b", "b", ""), start=3)]
        await journal.record_results([*bad, bad_row("a", 7, REPEATED)])
    await journal.flush()
    assert [entry.key for entry in await journal.entries()] == ["a"]
    kept = await journal.not_started()
    assert [(entry.row_number, entry.key, entry.state) for entry in kept] == [
        (3, "a", REJECTED),
        (4, "b", REJECTED),
        (5, "b", REJECTED),
        (6, "", REJECTED),
        (7, "a", REPEATED),
    ]
    assert (kept[0].line, kept[0].reasons, kept[0].vault_id) == (2, ("row: is cut",), None)
    assert [entry.row_number for entry in await journal.not_started(REJECTED, after=4, limit=1)] == [5]
    assert await journal.counts() == {SENDING: 1, REJECTED: 4, REPEATED: 1}
    assert len([entry async for entry in iterate_entries(journal, REJECTED)]) == 4


async def test_a_row_that_is_begun_was_not_rejected(journal: Journal) -> None:
    await journal.record_starts([begin("a")])
    await journal.record_results([stored("a"), bad_row("a", 3), bad_row("b", 4), bad_row("c", 5)])
    await journal.start(None)
    await journal.record_starts([begin("a", row_number=3), begin("b", row_number=4)])
    assert [entry.row_number for entry in await journal.not_started()] == [5]
    assert [(entry.key, entry.row_number, entry.read_by) for entry in await journal.entries()] == [
        ("a", 3, 2),
        ("b", 4, 2),
    ]


async def test_a_whole_run_forgets_what_it_has_not_read(journal: Journal) -> None:
    await journal.record_starts([begin("a"), begin("b"), begin("c")])
    await journal.record_results([end(key, REJECTED) for key in ("a", "b", "c")] + [bad_row("", 5), bad_row("x", 6)])
    await journal.start(None)
    await journal.record_starts([begin("c")])
    await journal.record_results([bad_row("a", 6), bad_row("c", 7)])
    await journal.finish()
    assert [entry.row_number for entry in await journal.not_started()] == [6, 7]
    assert [(entry.key, entry.state) for entry in await journal.entries()] == [("b", REJECTED), ("c", REJECTED)]


async def test_shards_count_as_one_run(another: Another, journal: Journal) -> None:
    await journal.record_starts([begin("a")])
    await journal.record_results([stored("a")])
    await journal.flush()
    first, second = another(), another()
    await first.start(None)
    await second.start(None, since=2)
    (known,) = await first.record_starts([begin("a", row_number=5)])
    assert known is not None
    assert (known.row_number, known.read_by) == (2, 1)
    await first.record_results([bad_row("b", 9)])
    await first.flush()
    (known,) = await second.record_starts([begin("a", row_number=8)])
    assert known is not None
    assert (known.row_number, known.read_by) == (5, 2)
    await second.finish()
    assert [entry.row_number for entry in await second.entries()] == [5]
    assert [entry.row_number for entry in await second.not_started()] == [9]


async def test_the_next_run_gets_what_may_have_been_sent_as_it_was(another: Another, journal: Journal) -> None:
    await journal.record_starts([begin("a", line=7), begin("b")])
    await journal.record_results([end("b", UNKNOWN, reasons=("no response",))])
    await journal.flush()
    later = another()
    await later.start(None)
    known = await later.record_starts([begin("a", "new", line=8), begin("b"), begin("a", line=9)])
    assert [entry and (entry.state, entry.line, entry.run) for entry in known] == [
        *((SENDING, 7, 1), (UNKNOWN, 2, 1), (SENDING, 8, 2))
    ]
    assert [entry.run for entry in await later.entries()] == [2, 2]


async def test_what_was_not_sent_is_forgotten(another: Another, journal: Journal) -> None:
    await journal.record_starts([begin("a"), begin("b")])
    await journal.delete_unsent([begin("a")])
    await journal.flush()
    later = another()
    await later.start(None)
    await later.delete_unsent([begin("b")])
    await later.flush()
    assert [entry.key for entry in await journal.entries()] == ["b"]


async def test_two_processes_begin_the_same_rows(another: Another) -> None:
    journals = [another() for _ in range(4)]
    new: list[str] = []

    async def begin_all(journal: Journal, order: int) -> None:
        await journal.start(None)
        keys = [f"k{number}" for number in range(200)][::order]
        for first in range(0, 200, 20):
            part = [begin(key) for key in keys[first : first + 20]]
            responses = await journal.record_starts(part)
            new.extend(row.key for row, entry in zip(part, responses, strict=True) if entry is None)

    async with anyio.create_task_group() as tasks:
        for place, journal in enumerate(journals):
            tasks.start_soon(begin_all, journal, -1 if place % 2 else 1)
    assert sorted(new) == sorted(f"k{number}" for number in range(200))


async def test_a_closed_journal_says_so(journal: Journal) -> None:
    await journal.aclose()
    await journal.aclose()
    with pytest.raises(JournalError, match="it is closed"):
        await journal.record_starts([begin("a")])


async def test_what_ended_is_in_the_file_when_it_is_closed(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "cards.journal")
    await journal.start("mine")
    await journal.record_results([stored("a")])
    await journal.aclose()
    later = SqliteJournal(tmp_path / "cards.journal")
    assert await later.counts() == {STORED: 1}
    await later.aclose()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_postgres_that_is_away() -> None:
    journal = PostgresJournal("postgresql://someone:hush@127.0.0.1:1/shop", "cards")
    with pytest.raises(JournalError) as caught:
        await journal.start(None)
    assert "127.0.0.1:1/shop" in str(caught.value)
    assert "hush" not in f"{caught.value!r}{journal!r}"


@postgres_only
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_migrations_share_a_table() -> None:
    journals = [PostgresJournal(POSTGRES, name, table="journal_shared") for name in ("one", "two")]
    try:
        runs = [await journal.start(None) for journal in journals]
        assert [(run.name, run.number) for run in runs] == [("one", 1), ("two", 1)]
        for journal in journals:
            assert await journal.record_starts([begin("a")]) == [None]
    finally:
        for journal in journals:
            await journal.aclose()
        ask_postgres("DROP TABLE journal_shared, journal_shared_runs, journal_shared_not_started")


@postgres_only
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_journal_that_creates_nothing_asks_for_no_new_table() -> None:
    first, careful = (
        PostgresJournal(POSTGRES, "one", table="journal_careful", create=create) for create in (True, False)
    )
    try:
        await first.start(None)
        await careful.start(None)
        with pytest.raises(JournalError, match="row_limits"):
            await careful.reserve_rows(1, limit=1)
        assert await first.reserve_rows(1, limit=2) == 1
        assert await careful.reserve_rows(3, limit=2) == 2  # of a later run
    finally:
        for journal in (first, careful):
            await journal.aclose()
        tables = (f"journal_careful{suffix}" for suffix in ("", "_runs", "_not_started", "_row_limits"))
        ask_postgres(f"DROP TABLE IF EXISTS {', '.join(tables)}")
