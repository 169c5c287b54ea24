"""The journal as a run uses it: ends are handed over together, and a disk that takes nothing is waited for.

The law of this file: while the journal cannot be written, nothing is sent.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from itertools import count
from typing import TypeVar

import anyio
import attrs

from gateway_async.errors import JournalError
from gateway_async.migration.halting import Halt, pause_after
from gateway_async.migration.journal import UNSETTLED, Begin, End, Entry, Journal
from gateway_async.observe import logger

__all__ = ["Bookkeeping"]

T = TypeVar("T")


class Bookkeeping:
    """What a run notes in its journal.

    Args:
        journal: keeps it.
        halt: stops the run when the journal takes nothing for too long.
        patience: how many seconds that is.

    Attributes:
        waiting: why the journal takes nothing now, in words; "" if it does.
    """

    def __init__(self, journal: Journal, halt: Halt, patience: float) -> None:
        self.waiting = ""
        self._journal = journal
        self._halt = halt
        self._patience = patience
        self._ended: list[End] = []
        self._not_sent: list[Begin] = []
        self._resumed = anyio.Event()
        self._writing = anyio.Lock()

    async def begin(self, marks: Sequence[Begin]) -> Sequence[Entry | None] | None:
        """Note rows before they are sent: what was known of each. None if the run stops before they are noted.

        After a failure the journal may have them all the same, as when a database's answer was lost: then they come as
        if an earlier run had begun them, and not as doubles of themselves.
        """
        tries = count()

        async def begin() -> Sequence[Entry | None]:
            again = next(tries) > 0
            known = await self._journal.begin(marks)
            return _as_begun_before(marks, known) if again else known

        return await self._with_patience(begin)

    def end(self, end: End) -> None:
        """Note how a row has ended; the journal gets it with the next `write`."""
        self._ended.append(end)

    def not_sent(self, marks: Iterable[Begin]) -> None:
        """Take back rows that were begun, and not sent."""
        self._not_sent += marks

    async def write(self) -> None:
        """Give the journal what has ended. If it takes nothing now, it gets it later."""
        try:
            await self._hand_over()
        except JournalError as error:
            logger.warning("what became of %d rows waits to be written: %s", len(self._ended), error)

    async def flush(self) -> None:
        """Have all of it on the disk."""
        await self._with_patience(self._flush)

    async def ready(self) -> None:
        """Wait while the journal takes nothing, unless the run stops."""
        while self.waiting and not self._halt.why:
            await self._resumed.wait()

    def release(self) -> None:
        """Have nobody wait for the journal any more: the run stops."""
        self._resumed.set()

    async def _flush(self) -> None:
        await self._hand_over()
        await self._journal.flush()

    async def _hand_over(self) -> None:
        async with self._writing:
            ended, self._ended = self._ended, []
            not_sent, self._not_sent = self._not_sent, []
            try:
                if not_sent:
                    await self._journal.forget(not_sent)
                if ended:
                    await self._journal.end(ended)
            except BaseException:
                self._ended, self._not_sent = ended + self._ended, not_sent + self._not_sent
                raise

    async def _with_patience(self, act: Callable[[], Awaitable[T]]) -> T | None:
        """Do something with the journal; a disk that takes nothing is waited for. None if the run stops."""
        until = anyio.current_time() + self._patience
        for tries in count(1):
            try:
                done = await act()
            except JournalError as error:
                self._hold(error)
                if anyio.current_time() >= until:
                    self._halt.ask(str(error))
                if self._halt.why:
                    return None
            else:
                self.waiting = ""
                self._resumed.set()
                return done
            await self._halt.sleep(pause_after(tries))
        return None

    def _hold(self, error: JournalError) -> None:
        """Have nothing sent until it can be written what became of it."""
        if not self.waiting:
            logger.warning("the migration waits: %s", error)
            self._resumed = anyio.Event()
        self.waiting = str(error)


def _as_begun_before(marks: Sequence[Begin], known: Sequence[Entry | None]) -> Sequence[Entry | None]:
    """What is known of rows that were begun twice; of those with one key, only the first can be what was begun."""
    first = {mark.key: mark for mark in reversed(marks)}
    return [
        attrs.evolve(entry, run=0) if entry and first[mark.key] is mark and _is_of(mark, entry) else entry
        for mark, entry in zip(marks, known, strict=True)
    ]


def _is_of(mark: Begin, entry: Entry) -> bool:
    """Whether a row was noted as it is noted now, and has not ended."""
    noted = (entry.line, entry.api_id, entry.fingerprint)
    return entry.state in UNSETTLED and noted == (mark.line, mark.api_id, mark.fingerprint)
