"""The ledger in a file: what it keeps, what it survives, and what it refuses."""

import os
import queue
import signal
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

from gateway_async import InvalidRequestError, Ledger, LedgerError, SqliteLedger
from gateway_async._storage import group_commit
from gateway_async._storage.sqlite import describe_error
from gateway_async.ledger._sqlite_store import LedgerFile, Outcome, StoredIntent
from gateway_async.ledger.protocol import DONE
from tests.support.intents import BARE, NOON, SALE
from tests.support.sqlite_files import full_disk
from tests.support.waiting import until

pytestmark = pytest.mark.anyio


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a ledger may be made."""
    return tmp_path / "payments.db"


@pytest.fixture
async def ledger(path: Path) -> AsyncIterator[SqliteLedger]:
    """A ledger that is closed in the end."""
    made = SqliteLedger(path)
    yield made
    await made.aclose()


def outcomes(path: Path) -> dict[str, tuple[str | None, str | None]]:
    """The outcome and the record of each intent in a file."""
    file = LedgerFile(path)
    try:
        return {entry.intent.id: (entry.outcome, entry.record_id) for entry in file.entries()}
    finally:
        file.close()


# --- what it keeps


async def test_intents_come_back_as_they_were(path: Path) -> None:
    """Every value, also after the file was closed; the oldest first."""
    ledger: Ledger = SqliteLedger(path)
    await ledger.record_intent(BARE)
    await ledger.record_intent(SALE)
    assert list(await ledger.open_intents()) == [BARE, SALE]
    await ledger.aclose()
    again = SqliteLedger(str(path))
    first, second = await again.open_intents()
    assert [attrs.evolve(each, orphaned=False) for each in (first, second)] == [BARE, SALE]
    await again.aclose()


async def test_the_open_intents_of_a_terminal(ledger: SqliteLedger) -> None:
    """Intents of other terminals and without a terminal are not listed."""
    await ledger.record_intent(SALE)
    await ledger.record_intent(BARE)
    assert [list(await ledger.open_intents(terminal)) for terminal in ("till", "other")] == [[SALE], []]


async def test_a_settled_intent_is_not_open(path: Path, ledger: SqliteLedger) -> None:
    """Recording an outcome does not wait; the outcome is in the file after closing."""
    await ledger.record_intent(SALE)
    await ledger.record_intent(BARE)
    await ledger.record_outcome("first", "done", "t1")
    assert list(await ledger.open_intents()) == [BARE]
    await ledger.record_outcome("second", "not_sent")
    await ledger.record_outcome("nobody", "done")
    await ledger.aclose()
    assert outcomes(path) == {"first": ("done", "t1"), "second": ("not_sent", None)}


async def test_the_first_outcome_is_kept_unless_it_was_done_after_all(path: Path, ledger: SqliteLedger) -> None:
    """Two processes may settle one intent; who has seen the record is right."""
    for intent in (SALE, BARE):
        await ledger.record_intent(intent)
        await ledger.record_outcome(intent.id, "not_made")
        assert await ledger.open_intents() == []
    await ledger.record_outcome("first", "done", "t1")
    await ledger.record_outcome("second", "refused")
    await ledger.aclose()
    assert outcomes(path) == {"first": ("done", "t1"), "second": ("not_made", None)}


async def test_an_outcome_alone_is_written_a_moment_later(path: Path, ledger: SqliteLedger) -> None:
    """No other write is needed: another process sees the outcome soon."""
    await ledger.record_intent(SALE)
    await ledger.record_outcome("first", "done", "t1")
    await until(lambda: outcomes(path)["first"] != (None, None))


async def test_thousands_at_once_share_few_transactions(ledger: SqliteLedger) -> None:
    """All that waits is written together: far fewer than one sync for each."""
    commits = 0
    write = LedgerFile.write

    def counted(self: LedgerFile, *work: Any) -> None:
        nonlocal commits
        commits += 1
        write(self, *work)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LedgerFile, "write", counted)
        async with anyio.create_task_group() as tasks:
            for number in range(2000):
                tasks.start_soon(ledger.record_intent, attrs.evolve(SALE, id=str(number)))
    assert len(await ledger.open_intents()) == 2000
    assert commits < 20


async def test_what_was_settled_long_ago_is_forgotten(path: Path) -> None:
    """After `keep_days`, when the file is next opened; what is open is kept for ever."""
    file = LedgerFile(path)
    file.write([SALE, BARE, attrs.evolve(SALE, id="third")], [])
    now = datetime.now(UTC)
    file.write([], [Outcome("first", "done", None, now - timedelta(days=8))])
    file.write([], [Outcome("third", "done", None, now - timedelta(days=6))])
    file.close()
    ledger = SqliteLedger(path, keep_days=7)
    await ledger.open_intents()
    await ledger.aclose()
    assert set(outcomes(path)) == {"second", "third"}


@pytest.mark.parametrize("days", [0, -1, True, "30", float("nan"), float("inf")])
def test_days_that_are_none(days: Any) -> None:
    """A number above 0."""
    with pytest.raises(InvalidRequestError, match="keep_days"):
        SqliteLedger("payments.db", keep_days=days)


def test_entries_tell_everything(path: Path) -> None:
    """Open and settled ones, with the time of settling."""
    file = LedgerFile(path)
    file.write([SALE, BARE], [Outcome("first", "done", "t1", NOON)])
    assert list(file.entries()) == [StoredIntent(SALE, "done", "t1", NOON), StoredIntent(BARE, None, None, None)]
    file.close()


# --- who uses it


async def test_two_ledgers_on_one_file(path: Path) -> None:
    """Each sees what the other has kept."""
    one, other = SqliteLedger(path), SqliteLedger(path)
    await one.record_intent(SALE)
    await other.record_intent(BARE)
    assert list(await one.open_intents()) == list(await other.open_intents()) == [SALE, BARE]
    await other.record_outcome("first", "done")
    await other.aclose()
    assert list(await one.open_intents()) == [BARE]
    await one.aclose()


def test_one_ledger_under_several_event_loops(path: Path) -> None:
    """Each in a thread of its own, asyncio and trio at once; then under a loop that comes later."""
    ledger = SqliteLedger(path)

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


async def test_what_was_settled_before_a_question_is_known_to_its_answer(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when both come in the moment in which the thread has taken its work: else a free terminal seems busy."""
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
    ledger = SqliteLedger(path)
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
from gateway_async import LedgerError, SqliteLedger

async def ask(ledger):
    try:
        return len(await ledger.open_intents())
    except LedgerError as error:
        return str(error).rpartition(": ")[2]

used, new = SqliteLedger(sys.argv[1]), SqliteLedger(sys.argv[1])
anyio.run(ask, used)
with used._writer._lock:  # as its thread has it now and then
    child = os.fork()
if not child:
    signal.alarm(20)
    print(anyio.run(ask, used), "|", anyio.run(ask, new), flush=True)
    os._exit(0)
os.waitpid(child, 0)
"""


def test_a_fork_takes_no_open_file_along(path: Path) -> None:
    """SQLite's locks stay behind: in the child a ledger in use is closed, and does not hang; an unused one works."""
    argv = [sys.executable, "-W", "ignore", "-c", FORKED, str(path)]
    assert subprocess.run(argv, capture_output=True, text=True, check=True).stdout == "it is closed | 0\n"  # noqa: S603


async def test_a_ledger_that_was_never_used_makes_no_file(path: Path, ledger: SqliteLedger) -> None:
    """Closing it, even twice, is harmless."""
    await ledger.aclose()
    await ledger.aclose()
    assert list(path.parent.iterdir()) == []


def writer_threads() -> int:
    """How many ledgers of this process have a thread; event loops have threads of their own."""
    return sum(thread.name.startswith("gateway_async") for thread in threading.enumerate())


async def test_a_closed_ledger_says_so(path: Path, ledger: SqliteLedger) -> None:
    """Later calls raise an error; no side file and no thread is left."""
    before = writer_threads()
    await ledger.record_intent(SALE)
    assert writer_threads() == before + 1
    await ledger.aclose()
    await ledger.aclose()
    for ask in (
        partial(ledger.record_intent, BARE),
        partial(ledger.record_outcome, "first", "done"),
        ledger.open_intents,
    ):
        with pytest.raises(LedgerError, match="it is closed"):
            await ask()
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    assert writer_threads() == before


async def test_recording_an_outcome_does_not_wait(path: Path, ledger: SqliteLedger) -> None:
    """The result needs no time limit; awaiting it completes at once."""
    await ledger.record_intent(SALE)
    kept = ledger.record_outcome("first", "done")
    assert kept is DONE
    await kept
    await ledger.aclose()
    assert outcomes(path) == {"first": ("done", None)}


async def test_a_cancelled_intent_can_be_settled(ledger: SqliteLedger) -> None:
    """Whether it was written or not, it is not open afterwards."""
    with anyio.CancelScope() as scope:
        scope.cancel()
        await ledger.record_intent(SALE)
    await ledger.record_outcome("first", "not_sent")
    assert await ledger.open_intents() == []


# --- what it survives

CHILD = """
import sys, anyio, attrs
from gateway_async import Intent, SqliteLedger
from datetime import UTC, datetime, timedelta
from functools import partial
now = datetime.now(UTC)
async def main():
    ledger = SqliteLedger(sys.argv[1])
    async def keep(name):
        for number in range(10**9):
            id = f"{name}-{number}"
            await ledger.record_intent(Intent(id=id, call="c", resource="r", api_id=id, location_id=None,
                terminal_id=sys.argv[2] or None, sent_at=now, conclusive_at=now + timedelta(hours=1),
                sent={}, outcome_query=None))
            sys.stdout.write(f"kept {id}\\n"); sys.stdout.flush()
            if number % 2:
                await ledger.record_outcome(id, "done")
    async with anyio.create_task_group() as tasks:
        for name in "abcdefgh":
            tasks.start_soon(keep, name)
anyio.run(main)
"""


def killed(path: Path, lines: int, terminal: str = "") -> list[str]:
    """The ids that a process had kept, as it said before it was killed after so many."""
    command = [sys.executable, "-c", CHILD, str(path), terminal]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603  our own program
        assert process.stdout
        said = [process.stdout.readline() for _ in range(lines)]
        process.send_signal(signal.SIGKILL)
        said += process.stdout.readlines()
    return [line.split()[1] for line in said if line.startswith("kept ") and line.endswith("\n")]


@pytest.mark.parametrize("lines", [1, 20, 333])
def test_what_was_kept_outlives_kill_9(path: Path, lines: int) -> None:
    """Every intent whose `record_intent` had returned is in the file, and the file is whole."""
    kept = killed(path, lines)
    assert len(kept) >= lines
    assert set(kept) <= set(outcomes(path))
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()


@pytest.mark.parametrize("terminal", ["", "till"])
async def test_after_a_crash_the_open_intents_are_orphaned(path: Path, ledger: SqliteLedger, terminal: str) -> None:
    """Their process has exited and sends nothing more; a customer at a terminal is still there."""
    killed(path, 5, terminal)
    intents = await ledger.open_intents()
    assert {intent.orphaned for intent in intents} == {True}
    assert min(intent.conclusive_at for intent in intents) - datetime.now(UTC) > timedelta(minutes=50)


async def test_while_others_have_the_file_open_no_intent_is_orphaned(path: Path) -> None:
    """Their calls may have attempts left."""
    one = SqliteLedger(path)
    await one.record_intent(BARE)
    other = SqliteLedger(path)
    assert list(await other.open_intents()) == [BARE]
    await other.aclose()
    await one.aclose()


# --- what it refuses


async def test_a_folder_that_is_not_there_yet(path: Path) -> None:
    """Nothing is kept, until it is there."""
    ledger = SqliteLedger(path.parent / "later" / "payments.db")
    with pytest.raises(LedgerError, match="does its folder exist"):
        await ledger.record_intent(SALE)
    (path.parent / "later").mkdir()
    await ledger.record_intent(SALE)
    assert list(await ledger.open_intents()) == [SALE]
    await ledger.aclose()


async def test_a_full_disk_takes_nothing_and_later_everything(
    ledger: SqliteLedger, caplog: pytest.LogCaptureFixture
) -> None:
    """Waiting callers get the error; outcomes are written later."""
    await ledger.record_intent(SALE)
    with full_disk():
        await ledger.record_outcome("first", "done", "t1")
        with pytest.raises(LedgerError, match="the disk failed, or is full"):
            await ledger.record_intent(BARE)
    await ledger.record_intent(attrs.evolve(BARE, id="third"))
    assert [intent.id for intent in await ledger.open_intents()] == ["third"]
    await ledger.aclose()
    assert "writes are delayed" in caplog.text


@pytest.fixture
def read_only(path: Path) -> Path:
    """A ledger that may not be written."""
    LedgerFile(path).close()
    path.chmod(0o400)
    return path


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anything")
async def test_a_file_that_may_only_be_read(read_only: Path) -> None:
    """The error says that the file is read-only."""
    ledger = SqliteLedger(read_only)
    with pytest.raises(LedgerError, match="read-only"):
        await ledger.record_intent(SALE)
    await ledger.aclose()


def test_troubles_in_plain_words() -> None:
    """By SQLite's codes, whatever their circumstances; what is not known is said as SQLite says it."""
    full, odd = sqlite3.OperationalError("x"), sqlite3.OperationalError("odd")
    full.sqlite_errorcode = sqlite3.SQLITE_FULL | 7 << 8
    assert [describe_error(error, "a ledger") for error in (full, odd)] == ["the disk is full", "odd"]
