"""The ledgers in a file and in a database: what they keep, what they survive, and what they refuse."""

import os
import queue
import sqlite3
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import attrs
import pytest

from gateway_async import Ledger, LedgerError, PostgresLedger, SqliteLedger
from gateway_async._storage import group_commit
from gateway_async._storage.sqlite import describe_sqlite_error
from gateway_async.ledger._operations import RecordedOutcome
from gateway_async.ledger.protocol import DONE, StoredIntent
from tests.support.intents import BARE, NOON, SALE
from tests.support.killed_programs import ids_kept_until_killed
from tests.support.ledgers import KINDS, LedgerFile, LedgerStore, empty_store
from tests.support.waiting import until

pytestmark = pytest.mark.anyio


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a ledger may be made."""
    return tmp_path / "payments.db"


store = pytest.fixture(params=KINDS)(empty_store)


@pytest.fixture
async def ledger(store: LedgerStore) -> AsyncIterator[SqliteLedger | PostgresLedger]:
    """A ledger of each kind that is closed in the end."""
    made = store.ledger()
    yield made
    await made.aclose()


@pytest.fixture
async def file_ledger(path: Path) -> AsyncIterator[SqliteLedger]:
    """A ledger in a file that is closed in the end."""
    made = SqliteLedger(path)
    yield made
    await made.aclose()


# --- what it keeps


async def test_nul(ledger: SqliteLedger | PostgresLedger) -> None:
    """PostgreSQL stores no NUL, and SQLite's JSON ends there: it is replaced, also in the intents of a terminal."""
    await ledger.record_intent(attrs.evolve(SALE, api_id="a\0b", terminal_id="t\0", sent={"action": "\0"}))
    (intent,) = await ledger.open_intents("t\0")
    assert (intent.api_id, intent.sent) == ("a?b", {"action": "\0"})


async def test_round_trip(store: LedgerStore) -> None:
    """Every value of an intent comes back, also after the file was closed; the oldest first."""
    ledger: Ledger = store.ledger()
    await ledger.record_intent(BARE)
    await ledger.record_intent(SALE)
    assert list(await ledger.open_intents()) == [BARE, SALE]
    await ledger.aclose()
    again = store.ledger()
    first, second = await again.open_intents()
    assert [attrs.evolve(each, orphaned=False) for each in (first, second)] == [BARE, SALE]
    await again.aclose()


async def test_only_the_open_intents_of_one_terminal_are_listed(ledger: Ledger) -> None:
    await ledger.record_intent(SALE)
    await ledger.record_intent(BARE)
    assert [list(await ledger.open_intents(terminal)) for terminal in ("till", "other")] == [[SALE], []]


async def test_outcome(store: LedgerStore, ledger: Ledger) -> None:
    """Recording an outcome does not wait; the outcome is in the file after closing."""
    await ledger.record_intent(SALE)
    await ledger.record_intent(BARE)
    await ledger.record_outcome("first", "done", "t1")
    assert list(await ledger.open_intents()) == [BARE]
    await ledger.record_outcome("second", "not_sent")
    await ledger.record_outcome("nobody", "done")
    await ledger.aclose()
    assert store.outcomes() == {"first": ("done", "t1"), "second": ("not_sent", None)}


async def test_first_outcome(store: LedgerStore, ledger: Ledger) -> None:
    """The first outcome is kept unless the call was done after all: who has seen the record is right."""
    for intent in (SALE, BARE):
        await ledger.record_intent(intent)
        await ledger.record_outcome(intent.id, "not_made")
        assert await ledger.open_intents() == []
    await ledger.record_outcome("first", "done", "t1")
    await ledger.record_outcome("second", "refused")
    await ledger.aclose()
    assert store.outcomes() == {"first": ("done", "t1"), "second": ("not_made", None)}


async def test_lone_outcome(store: LedgerStore, ledger: Ledger) -> None:
    """No other write is needed: another process sees an outcome soon."""
    await ledger.record_intent(SALE)
    await ledger.record_outcome("first", "done", "t1")
    await until(lambda: store.outcomes()["first"] != (None, None))


async def test_hanging_disk(store: LedgerStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ledger gives up after its time, and says that it was not closed."""
    may_write = threading.Event()
    monkeypatch.setattr(group_commit, "_CLOSING_SECONDS", 0.05)
    monkeypatch.setattr(group_commit.GroupCommitWriter, "_execute", lambda *_: may_write.wait(20))
    ledger = store.ledger()
    await ledger.record_outcome("first", "done")
    with pytest.raises(LedgerError, match="it does not respond, and was not closed"):
        await ledger.aclose()
    may_write.set()
    await ledger.aclose()


async def test_keep_days(store: LedgerStore) -> None:
    """Calls resolved before are forgotten when the ledger is next used; open ones are kept for ever."""
    ledger = store.ledger()
    for intent in (SALE, BARE, attrs.evolve(SALE, id="third")):
        await ledger.record_intent(intent)
    await ledger.record_outcome("first", "done")
    await ledger.record_outcome("third", "done")
    await ledger.aclose()
    for name, days in (("first", 8), ("third", 6)):
        resolved_at = datetime.now(UTC) - timedelta(days=days)
        store.ask(f"UPDATE @ SET resolved_at = '{resolved_at:%Y-%m-%dT%H:%M:%S.%fZ}' WHERE id = '{name}'")  # noqa: S608
    later = store.ledger(keep_days=7)
    await later.open_intents()
    await later.aclose()
    assert set(store.outcomes()) == {"second", "third"}


def test_entries(path: Path) -> None:
    """Open and resolved calls are entries, with the time of resolving."""
    file = LedgerFile(path)
    file.write([SALE, BARE], [RecordedOutcome("first", "done", "t1", NOON)])
    assert file.entries() == [StoredIntent(SALE, "done", "t1", NOON), StoredIntent(BARE, None, None, None)]
    file.close()


# --- who uses it


async def test_two_ledgers_on_one_file_share_intents(path: Path) -> None:
    one, other = SqliteLedger(path), SqliteLedger(path)
    await one.record_intent(SALE)
    await other.record_intent(BARE)
    assert list(await one.open_intents()) == list(await other.open_intents()) == [SALE, BARE]
    await other.record_outcome("first", "done")
    await other.aclose()
    assert list(await one.open_intents()) == [BARE]
    await one.aclose()


def test_event_loops(store: LedgerStore) -> None:
    """One ledger serves asyncio and trio in threads of their own at once; then a loop that comes later."""
    ledger = store.ledger()

    async def record_intent(name: str) -> None:
        for number in range(50):
            await ledger.record_intent(attrs.evolve(SALE, id=f"{name}-{number}"))

    threads = [
        threading.Thread(target=anyio.run, args=(record_intent, f"{backend}-{n}"), kwargs={"backend": backend})
        for backend in ("asyncio", "trio")
        for n in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    async def count() -> int:
        try:
            return len(await ledger.open_intents())
        finally:
            await ledger.aclose()

    assert anyio.run(count) == 200


async def test_early_outcome(store: LedgerStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request sees an outcome recorded while the thread takes its work: else a free terminal seems busy."""
    taken, asked = threading.Event(), threading.Event()

    class Watched(queue.SimpleQueue[Any]):
        def get_nowait(self) -> Any:
            try:
                return super().get_nowait()
            except queue.Empty:
                if watching:
                    taken.set()
                    asked.wait(0.2)
                raise

    monkeypatch.setattr(group_commit, "SimpleQueue", Watched)
    watching: list[str] = []
    ledger = store.ledger()
    await ledger.record_intent(SALE)
    watching.append("from now on")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ledger.record_intent, BARE)
        await anyio.to_thread.run_sync(taken.wait)
        await ledger.record_outcome("first", "done")
        assert await ledger.open_intents() == [BARE]
        asked.set()
    await ledger.aclose()


FORKED = """
import os, signal, sys, threading, anyio
from gateway_async import LedgerError, PostgresLedger, SqliteLedger

async def ask(ledger):
    try:
        return len(await ledger.open_intents())
    except LedgerError as error:
        return str(error).rpartition(": ")[2]

used, new = eval(sys.argv[1]), eval(sys.argv[1])
anyio.run(ask, used)
with used._store.writer._lock:  # as its thread has it now and then
    child = os.fork()
if not child:
    signal.alarm(20)
    print(anyio.run(ask, used), "|", anyio.run(ask, new), flush=True)
    os._exit(0)
os.waitpid(child, 0)
"""


def test_fork(store: LedgerStore) -> None:
    """In the child a ledger in use is closed, and does not hang, because locks stay behind; an unused one works."""
    argv = [sys.executable, "-W", "ignore", "-c", FORKED, store.source]
    assert subprocess.run(argv, capture_output=True, text=True, check=True).stdout == "it is closed | 0\n"  # noqa: S603


async def test_a_ledger_that_was_never_used_makes_no_file(path: Path, file_ledger: SqliteLedger) -> None:
    await file_ledger.aclose()
    await file_ledger.aclose()
    assert list(path.parent.iterdir()) == []


def writer_threads() -> set[threading.Thread]:
    """The threads of this process's ledgers; event loops have threads of their own."""
    return {thread for thread in threading.enumerate() if thread.name.startswith("gateway_async")}


async def test_closed_ledger(store: LedgerStore, ledger: Ledger) -> None:
    """Later calls raise an error; no side file and no thread is left."""
    before = writer_threads()
    await ledger.record_intent(SALE)
    assert len(writer_threads() - before) == 1
    await ledger.aclose()
    await ledger.aclose()
    for ask in (
        partial(ledger.record_intent, BARE),
        partial(ledger.record_outcome, "first", "done"),
        ledger.open_intents,
    ):
        with pytest.raises(LedgerError, match="it is closed"):
            await ask()
    assert store.files() == ([] if store.table else ["payments.db"])
    assert writer_threads() <= before


async def test_no_wait(store: LedgerStore, ledger: Ledger) -> None:
    """The result needs no time limit; awaiting it completes at once."""
    await ledger.record_intent(SALE)
    kept = ledger.record_outcome("first", "done")
    assert kept is DONE
    await kept
    await ledger.aclose()
    assert store.outcomes() == {"first": ("done", None)}


async def test_a_cancelled_intent_is_not_open_once_resolved(ledger: Ledger) -> None:
    with anyio.CancelScope() as scope:
        scope.cancel()
        await ledger.record_intent(SALE)
    await ledger.record_outcome("first", "not_sent")
    assert await ledger.open_intents() == []


# --- what it survives


@pytest.mark.parametrize("lines", [1, 20, 333])
def test_kill(store: LedgerStore, lines: int) -> None:
    """Every intent whose `record_intent` had returned is in the ledger, and a file is whole."""
    kept = ids_kept_until_killed(store.source, lines)
    assert len(kept) >= lines
    assert set(kept) <= set(store.outcomes())
    if not store.table:
        assert store.ask("PRAGMA integrity_check") == [("ok",)]


@pytest.mark.parametrize("terminal", ["", "till"])
async def test_crash(tmp_path: Path, terminal: str) -> None:
    """The process of an orphaned intent has exited and sends nothing more; a customer at a terminal is still there."""
    store = LedgerStore("sqlite", tmp_path)
    ids_kept_until_killed(store.source, 5, terminal)
    ledger = store.ledger()
    intents = await ledger.open_intents()
    await ledger.aclose()
    assert {intent.orphaned for intent in intents} == {True}
    assert min(intent.conclusive_at for intent in intents) - datetime.now(UTC) > timedelta(minutes=50)


async def test_shared_file(path: Path) -> None:
    """While others have the file open no intent is orphaned: their calls may have attempts left."""
    one = SqliteLedger(path)
    await one.record_intent(BARE)
    other = SqliteLedger(path)
    assert list(await other.open_intents()) == [BARE]
    await other.aclose()
    await one.aclose()


# --- what it refuses


async def test_missing_folder(path: Path) -> None:
    """An intent is refused while the folder is missing, and stored once it exists."""
    ledger = SqliteLedger(path.parent / "later" / "payments.db")
    with pytest.raises(LedgerError, match="does its folder exist"):
        await ledger.record_intent(SALE)
    (path.parent / "later").mkdir()
    await ledger.record_intent(SALE)
    assert list(await ledger.open_intents()) == [SALE]
    await ledger.aclose()


@pytest.fixture
def read_only(path: Path) -> Path:
    """A ledger that may not be written."""
    LedgerFile(path).close()
    path.chmod(0o400)
    return path


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anything")
async def test_a_file_that_may_only_be_read(read_only: Path) -> None:
    ledger = SqliteLedger(read_only)
    with pytest.raises(LedgerError, match="read-only"):
        await ledger.record_intent(SALE)
    await ledger.aclose()


def test_sqlite_errors() -> None:
    """Plain words by SQLite's codes, whatever their circumstances; an unknown one is said as SQLite says it."""
    full, damaged, odd = (sqlite3.OperationalError(text) for text in ("x", "y", "odd"))
    full.sqlite_errorcode = sqlite3.SQLITE_FULL | 7 << 8
    damaged.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    said = [describe_sqlite_error(error, "a ledger") for error in (full, damaged, odd)]
    assert said == ["the disk is full", "it is damaged", "odd"]
