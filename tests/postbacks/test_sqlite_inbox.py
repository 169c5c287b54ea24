"""The inbox in a file: what it shares with other tables, what it survives, and what it refuses."""

import os
import sqlite3
import threading
import traceback
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import attrs
import pytest

from gateway_async._storage.backends import SqliteBackend
from gateway_async.postbacks import Claim, InboxError, PostbackState, SqliteInbox
from gateway_async.postbacks.inbox import _operations as operations
from gateway_async.postbacks.inbox._mapping import PostbackRow, row_of
from tests.support.sqlite_files import ask_sqlite, full_disk

from .inboxes import InboxFile, change

HANDLED = PostbackState.HANDLED
ROUTING = "072000326"
pytestmark = pytest.mark.anyio


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where an inbox may be made."""
    return tmp_path / "inbox.db"


@pytest.fixture
async def inbox(path: Path) -> AsyncIterator[SqliteInbox]:
    """An inbox beside a table of effects."""
    made = SqliteInbox(path)
    await made.list()
    ask_sqlite(path, "CREATE TABLE effects (what, amount)")
    yield made
    await made.aclose()


async def claimed(inbox: SqliteInbox, *records: str) -> list[Claim]:
    """Claims on postbacks of these records."""
    for record in records:
        await inbox.store(change(record))
    return list(await inbox.claim(100, 60))


# --- sharing transactions


async def test_group_commit(path: Path) -> None:
    """All that waits is written together: far fewer than one sync for each."""
    inbox, commits = SqliteInbox(path), 0
    execute_batch = SqliteBackend.execute_batch

    def counted(self: SqliteBackend, *batch: Any) -> Any:
        nonlocal commits
        commits += 1
        return execute_batch(self, *batch)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SqliteBackend, "execute_batch", counted)
        async with anyio.create_task_group() as tasks:
            for number in range(2000):
                tasks.start_soon(inbox.store, change(f"t{number}"))
    assert len(await inbox.list(limit=5000)) == 2000
    assert commits < 20
    await inbox.aclose()


async def test_listed_states(path: Path) -> None:
    """An older state of a record that follows a newer one in the same transaction is not stored."""
    file = InboxFile(path)
    together = [change("t1", 2), change("t2", 1), change("t1", 1), change("t2", 2), change("t1", 3), change("t1", 2)]
    listed = [row_of(attrs.evolve(each, caught_up=True)) for each in together]
    assert file.execute_batch(listed) == [True, True, False, True, True, False]
    (listing,) = file.execute_batch([partial(operations.list_postbacks, None, 0, 10)])
    assert [stored.number for stored in listing] == [1, 2, 3, 4]
    file.close()


async def test_full_inbox(path: Path) -> None:
    """Nothing that is done for each postback walks through all that is kept."""
    file = InboxFile(path)
    before = steps_of_a_postback(file, "first")
    file.execute_batch([row_of(change(f"t{number}")) for number in range(2000)])
    assert steps_of_a_postback(file, "second") < 2 * before
    file.close()


async def test_busy_record(path: Path) -> None:
    """The search for an earlier delivery does not read all postbacks of the record."""
    file, rows = InboxFile(path), [row_of(change("t1", number)) for number in range(1002)]
    before = steps_to(file, rows[:1])
    file.execute_batch(rows[1:-1])
    assert steps_to(file, rows[-1:]) < 2 * before
    file.close()


def steps_to(file: InboxFile, rows: Sequence[PostbackRow]) -> int:
    """How many steps SQLite takes to keep postbacks."""
    steps: list[None] = []
    file._connection.set_progress_handler(lambda: steps.append(None), 1)
    assert all(file.execute_batch(rows))
    file._connection.set_progress_handler(None, 1)
    return len(steps)


def steps_of_a_postback(file: InboxFile, name: str) -> int:
    """How many steps SQLite takes for a postback and for what a list says of it, from its coming to its end."""
    steps = 0

    def count() -> None:
        nonlocal steps
        steps += 1

    file._connection.set_progress_handler(count, 1)
    news = [change(name), change(name, 2, caught_up=True), change(f"{name} too", caught_up=True)]
    assert file.execute_batch([row_of(each) for each in news]) == [True, True, True]
    (claims,) = file.execute_batch([partial(operations.claim, 1, 60, "mine")])
    complete = partial(operations.complete, claims[0], HANDLED, None)
    file.execute_batch([partial(operations.extend, claims, 60), complete])
    listing = partial(operations.list_postbacks, PostbackState.DEAD, 0, 10)
    file.execute_batch([listing, partial(operations.replay, 10**9)])
    file._connection.set_progress_handler(None, 1)
    return steps


HARMFUL = [
    "COMMIT",
    "ROLLBACK",
    "SAVEPOINT other",
    "RELEASE handled",
    "ROLLBACK TO handled",
    "ATTACH ':memory:' AS other",
    "DELETE FROM postback_inbox",
    "UPDATE postback_inbox_keys SET token = NULL",
    "INSERT INTO postback_inbox_keys (ordering_key, due_at) VALUES ('x', 0)",
    "DROP TABLE postback_inbox",
    "ALTER TABLE postback_inbox RENAME TO mine",
    "INSERT OR ROLLBACK INTO once VALUES (1)",
]


@pytest.mark.parametrize("harmful", HARMFUL)
async def test_failing_statement(path: Path, inbox: SqliteInbox, harmful: str) -> None:
    """Others in its transaction are written once; it fails alone, and its next attempt succeeds."""
    ask_sqlite(path, "CREATE TABLE once (x UNIQUE)")
    ask_sqlite(path, "INSERT INTO once VALUES (1)")
    claims = await claimed(inbox, "t0", "t1", "t2", "t3")
    failed: list[str] = []

    async def finish(number: int, claim: Claim) -> None:
        write = ("INSERT INTO effects VALUES (?, 1)", (claim.postback.record_id,))
        try:
            assert await inbox.complete(claim, HANDLED, [write, (harmful, ())] if number == 1 else [write])
        except sqlite3.Error as error:
            failed.append(str(error))

    async with anyio.create_task_group() as tasks:
        for number, claim in enumerate(claims):
            tasks.start_soon(finish, number, claim)
        tasks.start_soon(inbox.store, change("t9"))
    assert len(failed) == 1
    assert ("transaction of the inbox" in failed[0]) != ("UNIQUE" in failed[0])
    assert ask_sqlite(path, "SELECT what FROM effects ORDER BY what") == [("t0",), ("t2",), ("t3",)]
    assert await inbox.complete(claims[1], HANDLED) is True
    assert [stored.postback.record_id for stored in await inbox.list(PostbackState.WAITING)] == ["t9"]


async def test_types(path: Path, inbox: SqliteInbox) -> None:
    """Amounts and times are text, with all digits, in UTC; text, whole numbers and bytes are as they are."""
    (claim,) = await claimed(inbox, "t1")
    noon = datetime(2026, 11, 21, 12, tzinfo=timezone(timedelta(hours=1)))
    values = (Decimal("12.50"), Decimal("1E+3"), noon, noon.replace(tzinfo=None), date(2026, 11, 21), b"\0", None, True)
    statements = [("INSERT INTO effects VALUES (?, ?)", (number, value)) for number, value in enumerate(values)]
    await inbox.complete(claim, HANDLED, [*statements, ("SELECT * FROM effects", ())])
    assert [amount for (amount,) in ask_sqlite(path, "SELECT amount FROM effects")] == [
        *("12.50", "1000", "2026-11-21T11:00:00+00:00", "2026-11-21T12:00:00", "2026-11-21", b"\0", None, 1)
    ]


async def test_clock(path: Path) -> None:
    """A claim runs out, and what failed is due again, when the clock of the inbox says so."""
    now = datetime(2026, 11, 21, 12, tzinfo=UTC)
    clock = [now.timestamp()]
    inbox = SqliteInbox(path, now=lambda: clock[0])
    (claim,) = await claimed(inbox, "t1")
    clock[0] += 59
    assert list(await inbox.claim(1, 60)) == []
    clock[0] += 1
    (claim,) = await inbox.claim(1, 60)
    await inbox.fail(claim, "no", 3600)
    (stored,) = await inbox.list()
    assert (stored.received_at, stored.due_at) == (now, now + timedelta(seconds=3660))
    clock[0] += 3600
    assert len(await inbox.claim(1, 60)) == 1
    await inbox.aclose()


# --- whose file it is


async def test_shared_file(path: Path) -> None:
    """A file with the user's own tables, made before; its head still says that it is the user's."""
    ask_sqlite(path, "CREATE TABLE orders (id, settled)")
    ask_sqlite(path, "PRAGMA application_id = 7")
    ask_sqlite(path, "INSERT INTO orders VALUES ('t1', 0)")
    inbox = SqliteInbox(path, shared=True)
    (claim,) = await claimed(inbox, "t1")
    await inbox.complete(claim, HANDLED, [("UPDATE orders SET settled = 1 WHERE id = ?", ("t1",))])
    await inbox.aclose()
    assert ask_sqlite(path, "SELECT * FROM orders") == [("t1", 1)]
    assert ask_sqlite(path, "PRAGMA application_id") == [(7,)]
    again = SqliteInbox(path)  # it has an inbox now
    assert len(await again.list()) == 1
    await again.aclose()


def test_one_of_eight_threads_makes_the_file(path: Path) -> None:
    async def put(number: int) -> None:
        inbox = SqliteInbox(path)
        await inbox.store(change(f"t{number}"))
        await inbox.aclose()

    threads = [threading.Thread(target=anyio.run, args=(put, number)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ask_sqlite(path, "SELECT count(*) FROM postback_inbox") == [(8,)]


# --- when it fails


async def test_full_disk(path: Path, inbox: SqliteInbox) -> None:
    """Callers of `store` and of `complete` get the error of a full disk; both can try again."""
    (claim,) = await claimed(inbox, "t1")
    write = ("INSERT INTO effects VALUES (1, zeroblob(10000000))", ())
    with full_disk():
        for attempt in (inbox.store(change("t2")), inbox.complete(claim, HANDLED, [write])):
            with pytest.raises(InboxError, match="the disk failed, or is full"):
                await attempt
    assert await inbox.store(change("t2")) is True
    assert await inbox.complete(claim, HANDLED, [write]) is True
    assert ask_sqlite(path, "SELECT count(*) FROM effects") == [(1,)]


async def test_traceback(inbox: SqliteInbox) -> None:
    """The error of a postback that cannot be stored shows nothing of its record, not even in local variables."""
    with full_disk(), pytest.raises(InboxError) as caught:
        await inbox.store(change(routing=ROUTING))
    shown = "".join(traceback.TracebackException.from_exception(caught.value, capture_locals=True).format())
    assert "postback = Postback" in shown
    assert ROUTING not in shown


async def test_closing(path: Path) -> None:
    """Neither files nor a thread are left beside the file; an inbox that was never used makes no file."""
    before = set(threading.enumerate())
    await SqliteInbox(path).aclose()
    assert os.listdir(path.parent) == []  # noqa: PTH208  no I/O to wait for
    inbox = SqliteInbox(path)
    await inbox.store(change())
    assert len(set(threading.enumerate()) - before) == 1
    await inbox.aclose()
    assert os.listdir(path.parent) == [path.name]  # noqa: PTH208  likewise
    assert before.issuperset(threading.enumerate())
    assert repr(inbox) == f"SqliteInbox('{path}')"
