"""Writes of a run to its journal. Results are written in batches, and a failing disk is retried.

While the journal cannot be written, nothing is sent.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from itertools import count
from typing import TypeVar

import anyio
import attrs

from gateway_async.errors import JournalError
from gateway_async.migration.engine.stop_signal import Halt, pause_after
from gateway_async.migration.journal.protocol import UNSETTLED, Journal, JournalEntry, RowResult, RowStarted
from gateway_async.observe import logger

__all__ = ["Bookkeeping"]

T = TypeVar("T")


class Bookkeeping:
    """Writes the started and the ended rows of a run to its journal.

    Args:
        journal: the journal to write to.
        halt: stops the run if the journal fails for too long.
        give_up_after: seconds of failure after which the run stops.

    Attributes:
        waiting: why the journal cannot be written now, as text; "" if it can.
    """

    def __init__(self, journal: Journal, halt: Halt, give_up_after: float) -> None:
        self.waiting = ""
        self._journal = journal
        self._halt = halt
        self._patience = give_up_after
        self._ended: list[RowResult] = []
        self._not_sent: list[RowStarted] = []
        self._resumed = anyio.Event()
        self._writing = anyio.Lock()

    async def begin(self, marks: Sequence[RowStarted]) -> Sequence[JournalEntry | None] | None:
        """Write rows to the journal before they are sent.

        Returns what the journal knew of each row, or None if the run stops before they are written.

        After a failure the journal may contain the rows anyway, for example if the database's response was lost. Such
        rows are returned as if an earlier run had started them, not as duplicates of themselves.
        """
        tries = count()

        async def begin() -> Sequence[JournalEntry | None]:
            again = next(tries) > 0
            known = await self._journal.begin(marks)
            return _as_begun_before(marks, known) if again else known

        return await self._with_patience(begin)

    def end(self, end: RowResult) -> None:
        """Add the result of a row; the next `write` passes it to the journal."""
        self._ended.append(end)

    def not_sent(self, marks: Iterable[RowStarted]) -> None:
        """Remove rows from the journal that were started and not sent."""
        self._not_sent += marks

    async def write(self) -> None:
        """Pass the results to the journal. If that fails, they are kept for a later write."""
        try:
            await self._hand_over()
        except JournalError as error:
            logger.warning("what became of %d rows waits to be written: %s", len(self._ended), error)

    async def flush(self) -> None:
        """Write all results to disk."""
        await self._with_patience(self._flush)

    async def ready(self) -> None:
        """Wait while the journal cannot be written, unless the run stops."""
        while self.waiting and not self._halt.why:
            await self._resumed.wait()

    def release(self) -> None:
        """Wake all tasks that wait for the journal, because the run stops."""
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
        """Retry a journal operation until it succeeds. Return None if the run stops."""
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
        """Pause sending until results can be written again."""
        if not self.waiting:
            logger.warning("the migration waits: %s", error)
            self._resumed = anyio.Event()
        self.waiting = str(error)


def _as_begun_before(
    marks: Sequence[RowStarted], known: Sequence[JournalEntry | None]
) -> Sequence[JournalEntry | None]:
    """Return the known entries of rows that were started twice.

    Of rows with one key, only the first can be the started one.
    """
    first = {mark.key: mark for mark in reversed(marks)}
    return [
        attrs.evolve(entry, run=0) if entry and first[mark.key] is mark and _is_of(mark, entry) else entry
        for mark, entry in zip(marks, known, strict=True)
    ]


def _is_of(mark: RowStarted, entry: JournalEntry) -> bool:
    """Return whether the entry is the row itself, not yet ended."""
    noted = (entry.line, entry.api_id, entry.fingerprint)
    return entry.state in UNSETTLED and noted == (mark.line, mark.api_id, mark.fingerprint)
