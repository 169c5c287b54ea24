"""`Scribe`: a thread that writes into one file for many tasks, and wakes them when it is on the disk.

All that waits is written together, so that a thousand tasks at once wait for a few syncs of the disk and not for a
thousand (group commit). What nobody waits for goes along with the next that somebody does.
"""

import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import islice, repeat
from queue import Empty, SimpleQueue
from time import monotonic, sleep
from typing import Any, Final, Protocol
from weakref import WeakSet

import anyio
import anyio.lowlevel

from gateway_async.observe import logger

__all__ = ["Book", "Scribe"]

_LAZY_SECONDS: Final = 0.05
"""How long what nobody waits for waits for company."""

_GATHERING_SECONDS: Final = 0.02
"""From one writing to the next at least, so that many tasks share it; one that comes alone does not wait for it."""

_CLOSING_SECONDS: Final = 15.0
_LOOKING_SECONDS: Final = 0.001
_MOST_UNWRITTEN: Final = 100_000
"""Of what nobody waits for, kept for a disk that takes nothing."""


class Book(Protocol):
    """What a scribe writes into. All its methods run in the scribe's thread."""

    def carry_out(self, asked: Sequence[Any], left: Sequence[Any]) -> Sequence[Any]:
        """Do all of it; what it returns is on the disk.

        Args:
            asked: what somebody waits for.
            left: what nobody waits for.

        Returns:
            The results of what was asked, in the same order; an exception among them is raised where it was asked.

        Raises:
            Exception: nothing was done. All who wait get it, and what was left comes again.
        """
        ...

    def close(self) -> None:
        """Let go of the file."""
        ...


class Scribe:
    """A thread for one file. It runs for asyncio and for trio, and for several event loops at once.

    In the child of a fork one that was in use is closed: SQLite's locks do not come along, nor does the thread.

    Args:
        name: of the thread.
        open_book: opens the file, in the thread, when it is first needed; if it fails, the next time. An open book
            stays open after a failure: opened anew, it would take the calls under way for those of the dead.
        closed: the error of what is asked after the end.
    """

    def __init__(self, name: str, open_book: Callable[[], Book], closed: Callable[[], Exception]) -> None:
        self._name = name
        self._open_book = open_book
        self._error_when_closed = closed
        self._work: SimpleQueue[_Company | _Left | None] = SimpleQueue()
        self._gathering: dict[Any, _Company] = {}
        self._giving = threading.Lock()
        self._closed = False
        self._thread: threading.Thread | None = None
        self._book: Book | None = None
        self._unwritten: deque[Any] = deque(maxlen=_MOST_UNWRITTEN)
        _scribes.add(self)

    async def ask(self, wants: Any) -> Any:
        """Have it done, and return what the book says, once it is on the disk."""
        company, place = self._join(wants)
        return await company.result(place)

    def leave(self, wants: Any) -> None:
        """Have it done a moment later; nobody waits for it."""
        with self._giving:
            self._check_open()
            self._give(_Left(wants))

    async def aclose(self) -> None:
        """Write what waits and close the book, in 15 seconds at most; a second close is harmless."""
        with self._giving:
            first, self._closed, thread = not self._closed, True, self._thread
            if first and thread is not None:
                self._work.put(None)
        if thread is not None:
            with anyio.move_on_after(_CLOSING_SECONDS, shield=True):
                while thread.is_alive():  # noqa: ASYNC110  nobody but the thread could set an event, and it is gone
                    await anyio.sleep(_LOOKING_SECONDS)

    def after_fork(self) -> None:
        """Begin as the child of a fork: whoever had the lock is not here to let go of it."""
        self._giving = threading.Lock()
        self._closed = self._closed or self._thread is not None

    def _join(self, wants: Any) -> "tuple[_Company, int]":
        """Add it to what the tasks of this event loop already wait for, and say where it stands there."""
        loop: Any = anyio.lowlevel.current_token().native_token
        with self._giving:
            self._check_open()
            company = self._gathering.get(loop)
            if company is None:
                company = _Company(loop)
                self._give(company)
                self._gathering[loop] = company
            company.wants.append(wants)
            return company, len(company.wants) - 1

    def _check_open(self) -> None:
        if self._closed:
            raise self._error_when_closed()

    def _give(self, item: "_Company | _Left") -> None:
        """Give the thread work; the first time, start it."""
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()
        self._work.put(item)

    def _run(self) -> None:
        """What the thread does, until the end."""
        while (items := self._next_items())[-1] is not None:
            self._carry_out(items)
            sleep(_GATHERING_SECONDS)
        self._carry_out(items)
        if self._book:
            self._book.close()

    def _next_items(self) -> "list[_Company | _Left | None]":
        """All that there is to do, once there is something that cannot wait."""
        items = [self._work.get()]
        lazy_until = monotonic() + _LAZY_SECONDS
        with suppress(Empty):
            while isinstance(items[-1], _Left):
                items.append(self._work.get(timeout=max(0.0, lazy_until - monotonic())))
        # Whoever comes later waits for the next writing; what was left before a question is known to its answer.
        with self._giving, suppress(Empty):
            self._gathering.clear()
            while items[-1] is not None:
                items.append(self._work.get_nowait())
        return items

    def _carry_out(self, items: "Sequence[_Company | _Left | None]") -> None:
        """Do it, and wake those who wait for it."""
        companies = [item for item in items if isinstance(item, _Company)]
        asked = [wants for company in companies for wants in company.wants]
        self._unwritten.extend(item.wants for item in items if isinstance(item, _Left))
        try:
            self._book = self._book or self._open_book()
            results = iter(self._book.carry_out(asked, list(self._unwritten)))
            self._unwritten.clear()
        except Exception as error:  # noqa: BLE001  those who wait must learn of it, whatever it is
            if self._unwritten:
                logger.warning("outcomes wait to be written: %s", error)
            results = repeat(error)
        for company in companies:
            company.come_home(list(islice(results, len(company.wants))))


class _Left:
    """What nobody waits for."""

    __slots__ = ("wants",)

    def __init__(self, wants: Any) -> None:
        self.wants = wants


class _Company:
    """The tasks of one event loop that wait for the same writing, and are woken by one event."""

    __slots__ = ("done", "loop", "results", "wants")

    def __init__(self, loop: Any) -> None:
        self.loop = loop
        self.wants: list[Any] = []
        self.results: Sequence[Any] = ()
        self.done = anyio.Event()

    async def result(self, place: int) -> Any:
        """What the thread answers to what stands there, once it has answered."""
        await self.done.wait()
        answer = self.results[place]
        if isinstance(answer, Exception):
            raise answer.with_traceback(None)  # others may raise it too
        return answer

    def come_home(self, results: Sequence[Any]) -> None:
        """Have the tasks go on; an event loop that has ended needs nothing any more."""
        self.results = results
        loop = self.loop
        call_soon = loop.run_sync_soon if hasattr(loop, "run_sync_soon") else loop.call_soon_threadsafe
        with suppress(RuntimeError):
            call_soon(self.done.set)


_scribes: Final[WeakSet[Scribe]] = WeakSet()


def _after_fork() -> None:
    for scribe in _scribes:
        scribe.after_fork()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_after_fork)
