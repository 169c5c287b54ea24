"""Writes of a run to its journal. Results are written in batches, and a failing disk is retried.

While the journal cannot be written, nothing is sent.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from itertools import count
from typing import TypeVar

import anyio

from gateway_async._kernel import pluralize
from gateway_async.errors import JournalError
from gateway_async.migration.engine.stop_signal import StopSignal, backoff
from gateway_async.migration.journal.protocol import Journal, JournalEntry, RowResult, RowStarted
from gateway_async.observe import logger

__all__ = ["JournalWriter"]

T = TypeVar("T")


class JournalWriter:
    """Writes the started rows and the results of a run to its journal.

    Args:
        journal: the journal to write to.
        stop_signal: stops the run if the journal fails for too long.
        give_up_after: seconds of failure after which the run stops.

    Attributes:
        waits_for: why the journal cannot be written now, as text; "" if it can.
    """

    def __init__(self, journal: Journal, stop_signal: StopSignal, give_up_after: float) -> None:
        self.waits_for = ""
        self._journal = journal
        self._stop_signal = stop_signal
        self._give_up_after = give_up_after
        self._results: list[RowResult] = []
        self._unsent: list[RowStarted] = []
        self._resumed = anyio.Event()
        self._write_lock = anyio.Lock()

    async def record_starts(self, rows: Sequence[RowStarted]) -> Sequence[JournalEntry | None] | None:
        """Write rows to the journal before they are sent.

        Returns the earlier entry of each row, or None if the run stops before the rows are written.

        After a failure the journal may contain the rows anyway, for example if the database's response was lost. Such
        rows are returned with their own numbers, as if an earlier run had started them.
        """
        return await self._retry(lambda: self._journal.record_starts(rows))

    def add_result(self, result: RowResult) -> None:
        """Add the result of a row; the next `write` passes it to the journal."""
        self._results.append(result)

    def discard_starts(self, rows: Iterable[RowStarted]) -> None:
        """Remove rows from the journal that were started and not sent."""
        self._unsent += rows

    async def write(self) -> None:
        """Pass the results to the journal. If that fails, they are kept for a later write."""
        try:
            await self._write_pending()
        except JournalError as error:
            kept = len(self._results)
            results = pluralize(kept, "result is", "results are")
            logger.warning("journal write failed, %d %s kept: %s", kept, results, error)

    async def flush(self) -> None:
        """Write all results to disk."""
        await self._retry(self._flush)

    async def finish(self) -> None:
        """Write to disk that the input was read to its end."""
        await self._retry(self._journal.finish)

    async def ready(self) -> None:
        """Wait while the journal cannot be written, unless the run stops."""
        while self.waits_for and not self._stop_signal.reason:
            await self._resumed.wait()

    def release(self) -> None:
        """Wake all tasks that wait for the journal, because the run stops."""
        self._resumed.set()

    async def _flush(self) -> None:
        await self._write_pending()
        await self._journal.flush()

    async def _write_pending(self) -> None:
        async with self._write_lock:
            results, self._results = self._results, []
            unsent, self._unsent = self._unsent, []
            try:
                if unsent:
                    await self._journal.delete_unsent(unsent)
                if results:
                    await self._journal.record_results(results)
            except BaseException:
                self._results, self._unsent = results + self._results, unsent + self._unsent
                raise

    async def _retry(self, write: Callable[[], Awaitable[T]]) -> T | None:
        """Retry a write until it succeeds. Return None if the run stops."""
        until = anyio.current_time() + self._give_up_after
        for attempt in count(1):
            try:
                written = await write()
            except JournalError as error:
                self._pause_sending(error)
                if anyio.current_time() >= until:
                    self._stop_signal.set(str(error))
                if self._stop_signal.reason:
                    return None
            else:
                self.waits_for = ""
                self._resumed.set()
                return written
            await self._stop_signal.sleep(backoff(attempt))
        return None

    def _pause_sending(self, error: JournalError) -> None:
        if not self.waits_for:
            logger.warning("migration paused: %s", error)
            self._resumed = anyio.Event()
        self.waits_for = str(error)
