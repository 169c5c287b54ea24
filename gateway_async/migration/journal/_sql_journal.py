"""`SqlJournal`: what `SqliteJournal` and `PostgresJournal` share."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from gateway_async._storage.sql import PooledStore, QueuedStore
from gateway_async.migration.journal import _operations as operations
from gateway_async.migration.journal.protocol import JournalEntry, JournalRun, RowResult, RowStarted, RowState


class SqlJournal:
    """A journal in an SQL database.

    Args:
        location: the file or the database, without a password.
        store: runs the operations.
        name: the name of the migration; None for the one that its first run sets, by default that of the file.
        is_alone: whether nothing else writes during an operation.
    """

    def __init__(self, location: str, store: PooledStore | QueuedStore, name: str | None, *, is_alone: bool) -> None:
        self._location = location
        self._store = store
        self._name = name
        self._is_alone = is_alone
        self._run = self._since = 0

    async def start(self, name: str | None, gateway: str = "", *, since: int | None = None) -> JournalRun:
        """Start a run."""
        own = self._name or (Path(self._location).stem if name is None else name)
        started = await self._store.run(operations.start, self._location, own, name, gateway)
        self._run = started.number
        self._since = self._run if since is None else since
        return started

    async def record_starts(self, rows: Sequence[RowStarted]) -> Sequence[JournalEntry | None]:
        """Write rows that are about to be sent. Return the known entry of each."""
        record_starts = partial(operations.record_starts, is_alone=self._is_alone)
        return await self._store.run(record_starts, self._name, self._run, self._since, rows)

    async def record_results(self, rows: Sequence[RowResult]) -> None:
        """Write the results of rows; they are on disk a moment later."""
        await self._store.run_soon(operations.record_results, self._name, self._run, rows)

    async def delete_unsent(self, rows: Sequence[RowStarted]) -> None:
        """Remove rows that were not sent; the change is on disk a moment later."""
        await self._store.run_soon(operations.delete_unsent, self._name, self._run, rows)

    async def delete_rejected(self) -> None:
        """Remove rejected rows, so that they count as new."""
        await self._store.run(operations.delete_rejected, self._name)

    async def finish(self) -> None:
        """Forget what earlier runs recorded of rows that were not started."""
        await self._store.run(operations.finish, self._name, self._since)

    async def flush(self) -> None:
        """Wait until all changes are on disk."""
        await self._store.flush()

    async def entries(
        self, state: RowState | None = None, *, after: str | None = None, limit: int = 5000
    ) -> Sequence[JournalEntry]:
        """Return started rows in the order of their keys."""
        return await self._store.read(operations.entries, self._name, state, after, limit)

    async def not_started(
        self, state: RowState | None = None, *, after: int = 0, limit: int = 5000
    ) -> Sequence[JournalEntry]:
        """Return rows that were not started, by row number."""
        return await self._store.read(operations.not_started, self._name, state, after, limit)

    async def counts(self) -> Mapping[RowState, int]:
        """Return the number of rows of each state."""
        return await self._store.read(operations.counts, self._name)

    async def aclose(self) -> None:
        """Write pending changes and close the store, in 15 seconds at most; a second close is harmless."""
        await self._store.aclose()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({vars(self).get('_location', '')!r})"  # also of one whose arguments are wrong
