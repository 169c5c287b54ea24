"""`SqliteLedger`: a ledger in one SQLite file, written by a thread of its own.

All that waits is written in one transaction, so that a thousand calls at once wait for a few syncs of the disk and not
for a thousand (group commit). Only intents are waited for; outcomes go along with the next ones.
"""

import threading
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from os import PathLike
from pathlib import Path
from queue import Empty, SimpleQueue
from time import monotonic, sleep
from typing import Any, Final, Generic, TypeVar, cast

import anyio
import anyio.lowlevel

from gateway_async._ledger_file import LedgerFile, Outcome
from gateway_async.errors import InvalidRequestError, LedgerError
from gateway_async.ledger import Intent
from gateway_async.observe import logger

__all__ = ["SqliteLedger"]

T = TypeVar("T")

_LAZY_SECONDS: Final = 0.05
"""How long an outcome waits for an intent to be written with."""

_GATHERING_SECONDS: Final = 0.02
"""From one transaction to the next at least, so that many calls share it; one that comes alone does not wait for it."""

_CLOSING_SECONDS: Final = 15.0
_LOOKING_SECONDS: Final = 0.001
_PRUNING_SECONDS: Final = 60.0
_MOST_UNWRITTEN: Final = 100_000
"""Outcomes that are kept for a disk that takes nothing; those beyond are found by looking up."""


class SqliteLedger:
    """A ledger in an SQLite file: one for each client, any number of them on one file.

        AsyncGateway(..., ledger=SqliteLedger("payments.db"))

    The file is opened, or made, when it is first needed. An intent is on the disk (WAL, `synchronous=FULL`) before its
    call is sent, and outlives `kill -9` and a loss of power. Clients of several processes of one machine may use one
    file at once; not over a network share, as SQLite's locks do not hold there. It runs on asyncio and on trio, and
    under several event loops.

    There is nothing of a card or an account in the file, but the last four digits by which a stored card is known to
    be the one.

    Args:
        path: the file; `-wal` and `-shm` beside it belong to it. Its folder must exist.
        keep_days: how long settled intents are kept for your own eyes; open ones are kept until they are settled.

    Raises:
        InvalidRequestError: `keep_days` is no number above 0.
    """

    def __init__(self, path: str | PathLike[str], *, keep_days: float = 30.0) -> None:
        if isinstance(keep_days, bool) or not isinstance(keep_days, int | float) or not 0 < keep_days < 1e6:  # noqa: PLR2004
            raise InvalidRequestError("keep_days: must be a number of days above 0")
        self._path = Path(path).absolute()
        self._keep = timedelta(days=keep_days)
        self._work: SimpleQueue[_Item] = SimpleQueue()
        self._giving = threading.Lock()
        self._closed = False
        self._thread: threading.Thread | None = None

    async def intend(self, intent: Intent) -> None:
        """Put an intent on the disk.

        Raises:
            LedgerError: it cannot be written.
        """
        waiter = _Waiter[None](intent)
        self._give(waiter)
        await waiter.wait()

    async def settle(self, intent_id: str, outcome: str, record_id: str | None = None) -> None:
        """Note what became of an intent; it is on the disk a moment later.

        Raises:
            LedgerError: the ledger is closed.
        """
        self._give(Outcome(intent_id, outcome, record_id, datetime.now(UTC)))

    async def open_intents(self, terminal_id: str | None = None) -> Sequence[Intent]:
        """The intents that are not settled, the oldest first; only those of a terminal where one is named.

        Raises:
            LedgerError: the file cannot be read.
        """
        waiter = _Waiter[Sequence[Intent]](lambda file: file.open_intents(terminal_id))
        self._give(waiter)
        return await waiter.wait()

    async def aclose(self) -> None:
        """Write what waits and close the file, in 15 seconds at most; a second close is harmless.

        A client closes the ledger that it was given. What is asked of it afterwards raises `LedgerError`.
        """
        with self._giving:
            first, self._closed, thread = not self._closed, True, self._thread
            if first and thread is not None:
                self._work.put(None)
        if thread is not None:
            with anyio.move_on_after(_CLOSING_SECONDS, shield=True):
                while thread.is_alive():  # noqa: ASYNC110  nobody but the thread could set an event, and it is gone
                    await anyio.sleep(_LOOKING_SECONDS)

    def __repr__(self) -> str:
        return f"SqliteLedger({str(self._path)!r})"

    def _give(self, item: "_Item") -> None:
        """Give the thread work; the first time, start it."""
        with self._giving:
            if self._closed:
                raise LedgerError(str(self._path), "it is closed")
            if self._thread is None or not self._thread.is_alive():  # as in the child of a fork
                self._thread = threading.Thread(target=self._run, name="gateway_async ledger", daemon=True)
                self._thread.start()
            self._work.put(item)

    def _run(self) -> None:
        """What the thread does, until the ledger is closed."""
        file = _File(self._path, self._keep)
        while (items := self._next_items())[-1] is not None:
            file.carry_out(items)
            sleep(_GATHERING_SECONDS)
        file.carry_out(items)
        file.close()

    def _next_items(self) -> "list[_Item]":
        """All that there is to do, once there is something that cannot wait."""
        items = [self._work.get()]
        lazy_until = monotonic() + _LAZY_SECONDS
        with suppress(Empty):
            while isinstance(items[-1], Outcome):
                items.append(self._work.get(timeout=max(0.0, lazy_until - monotonic())))
        with suppress(Empty):
            while items[-1] is not None:
                items.append(self._work.get_nowait())
        return items


class _Waiter(Generic[T]):
    """A task that waits until the thread has kept its intent, or asked its question."""

    def __init__(self, wants: Intent | Callable[[LedgerFile], T]) -> None:
        self.wants = wants
        self.loop: Any = anyio.lowlevel.current_token().native_token
        self.done = anyio.Event()
        self.result: T | None = None
        self.error: Exception | None = None

    def ask(self, file: LedgerFile) -> None:
        """Ask its question, if it has one."""
        if not isinstance(self.wants, Intent):
            try:
                self.result = self.wants(file)
            except LedgerError as error:
                self.error = error

    async def wait(self) -> T:
        """What the thread answers."""
        await self.done.wait()
        if self.error is not None:
            raise self.error.with_traceback(None)  # others may raise it too
        return cast("T", self.result)


_Item = _Waiter[Any] | Outcome | None
"""Work for the thread; None is its end."""


class _File:
    """The file, opened when it is first needed; if it cannot be, the next time.

    It stays open after a failure: opened anew, it would take the calls that are under way for those of the dead.

    Args:
        path: where it is.
        keep: how long settled intents are kept.
    """

    def __init__(self, path: Path, keep: timedelta) -> None:
        self._path = path
        self._keep = keep
        self._file: LedgerFile | None = None
        self._unwritten: deque[Outcome] = deque(maxlen=_MOST_UNWRITTEN)
        self._pruned = float("-inf")

    def carry_out(self, items: Sequence[_Item]) -> None:
        """Do it, and wake those who wait for it."""
        waiters = [item for item in items if isinstance(item, _Waiter)]
        self._unwritten.extend(item for item in items if isinstance(item, Outcome))
        try:
            self._file = self._file or LedgerFile(self._path)
            self._file.write([each.wants for each in waiters if isinstance(each.wants, Intent)], self._unwritten)
            self._unwritten.clear()
            for waiter in waiters:
                waiter.ask(self._file)
        except Exception as error:  # noqa: BLE001  those who wait must learn of it, whatever it is
            if self._unwritten:
                logger.warning("outcomes wait to be written: %s", error)
            for waiter in waiters:
                waiter.error = error
        _wake(waiters)
        self._prune()

    def close(self) -> None:
        """Let go of the file."""
        if self._file:
            self._file.close()

    def _prune(self) -> None:
        """Now and then, forget what is old."""
        if self._file and monotonic() >= self._pruned + _PRUNING_SECONDS:
            self._pruned = monotonic()
            with suppress(LedgerError):
                self._file.prune(datetime.now(UTC) - self._keep)


def _wake(waiters: Iterable[_Waiter[Any]]) -> None:
    """Have those who wait go on, each in its own event loop; one that has ended needs nothing any more."""
    tasks: dict[Any, list[anyio.Event]] = defaultdict(list)
    for waiter in waiters:
        tasks[waiter.loop].append(waiter.done)
    for loop, events in tasks.items():
        call_soon = loop.run_sync_soon if hasattr(loop, "run_sync_soon") else loop.call_soon_threadsafe
        with suppress(RuntimeError):
            call_soon(_set_all, events)


def _set_all(events: Iterable[anyio.Event]) -> None:
    for event in events:
        event.set()
