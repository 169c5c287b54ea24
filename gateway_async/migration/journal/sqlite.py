"""`SqliteJournal`: a migration's journal in one SQLite file.

The caller waits for started rows to be on disk. Results are written with the next batch.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from os import PathLike
from typing import TypeVar, cast

from gateway_async._storage.group_commit import GroupCommitWriter
from gateway_async._storage.sqlite import database_file, seal_address
from gateway_async.errors import JournalError
from gateway_async.migration.journal._sqlite_store import JournalFile, JournalOperation
from gateway_async.migration.journal.protocol import JournalEntry, JournalRun, RowResult, RowStarted, RowState

__all__ = ["SqliteJournal"]

T = TypeVar("T")


class SqliteJournal:
    """A journal in an SQLite file, for any number of processes of one machine.

        await migrate_vaults(gateway, rows, journal=SqliteJournal("cards.journal"))

    For several machines use `PostgresJournal`.

    The file is opened or created when it is first needed. A row is on disk (WAL, `synchronous=FULL`) before it is sent,
    so it survives `kill -9` and a loss of power. Do not put the file on a network share: SQLite's locks do not work
    there. It runs on asyncio and on trio.

    Of a card the file holds the last four digits and the brand. A migration without a name has the name of the file,
    without its last suffix.

    Args:
        path: the file; `-wal` and `-shm` beside it belong to it. Its folder must exist.

    Raises:
        InvalidRequestError: `path` is an address.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        given = seal_address(path)
        del path  # an error's traceback shows local variables
        self._path = database_file(given)
        self._writer = GroupCommitWriter(
            "gateway_async journal",
            partial(JournalFile, self._path),
            partial(JournalError, str(self._path), "it is closed"),
        )

    async def start(self, name: str | None, gateway: str = "", *, since: int | None = None) -> JournalRun:
        """Start a run."""
        return await self._submit(lambda file: file.start(name, gateway, since), writes=True)

    async def record_starts(self, rows: Sequence[RowStarted]) -> Sequence[JournalEntry | None]:
        """Write rows that are about to be sent. Return the known entry of each."""
        return await self._submit(lambda file: file.record_starts(rows), writes=True)

    async def record_results(self, rows: Sequence[RowResult]) -> None:
        """Write the results of rows; they are on disk a moment later."""
        self._writer.submit_nowait(JournalOperation(lambda file: file.record_results(rows), writes=True))

    async def delete_unsent(self, rows: Sequence[RowStarted]) -> None:
        """Remove rows that were not sent; the change is on disk a moment later."""
        self._writer.submit_nowait(JournalOperation(lambda file: file.delete_unsent(rows), writes=True))

    async def delete_rejected(self) -> None:
        """Remove rejected rows, so that they count as new."""
        await self._submit(lambda file: file.delete_rejected(), writes=True)

    async def finish(self) -> None:
        """Forget what earlier runs recorded of rows that were not started."""
        await self._submit(lambda file: file.finish(), writes=True)

    async def flush(self) -> None:
        """Wait until all changes are on disk."""
        await self._submit(_do_nothing, writes=True)

    async def entries(
        self, state: RowState | None = None, *, after: str | None = None, limit: int = 5000
    ) -> Sequence[JournalEntry]:
        """Return started rows in the order of their keys."""
        return await self._submit(lambda file: file.entries(state, after, limit))

    async def not_started(
        self, state: RowState | None = None, *, after: int = 0, limit: int = 5000
    ) -> Sequence[JournalEntry]:
        """Return rows that were not started, by row number."""
        return await self._submit(lambda file: file.not_started(state, after, limit))

    async def counts(self) -> Mapping[RowState, int]:
        """Return the number of rows of each state."""
        return await self._submit(lambda file: file.counts())

    async def aclose(self) -> None:
        """Write pending changes and close the file, in 15 seconds at most; a second close is harmless."""
        await self._writer.aclose()

    async def _submit(self, function: "Callable[[JournalFile], T | JournalError]", *, writes: bool = False) -> T:
        return cast("T", await self._writer.submit(JournalOperation(function, writes)))

    def __repr__(self) -> str:
        return f"SqliteJournal({str(vars(self).get('_path', ''))!r})"  # also of one whose arguments are wrong


def _do_nothing(_file: JournalFile) -> None:
    """Do nothing. Its commit shows that all earlier changes are on disk."""
