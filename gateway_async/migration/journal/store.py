"""`SqliteJournal` and `PostgresJournal`: a migration's journal in a file, or many of them in a database.

In a file, results are written with the next batch of started rows.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Final, cast

from gateway_async._background import closing_async
from gateway_async._secrets import Secret
from gateway_async._storage.backends import SqliteBackend
from gateway_async._storage.postgres import COMMAND_SECONDS, Database, check_dsn
from gateway_async._storage.sql import PooledStore, QueuedStore, SqlStore
from gateway_async._storage.sqlite import FileFormat, check_path, seal_path
from gateway_async.errors import JournalError
from gateway_async.migration.journal import _operations as operations
from gateway_async.migration.journal.protocol import (
    Journal,
    JournalEntry,
    JournalRun,
    LimitedJournal,
    RowResult,
    RowStarted,
    RowState,
)

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS @_runs (name text PRIMARY KEY, runs bigint NOT NULL, gateway text NOT NULL DEFAULT '');
CREATE TABLE IF NOT EXISTS @ (
    :migration_column
    key text COLLATE "C" NOT NULL,
    api_id text NOT NULL,
    state text NOT NULL,
    fingerprint text NOT NULL,
    line bigint,
    reasons jsonb NOT NULL DEFAULT '[]',
    vault_id text,
    last_four text,
    brand text,
    run bigint NOT NULL,
    changed_at timestamptz NOT NULL,
    PRIMARY KEY (:migration key)
);
ALTER TABLE @_runs ADD COLUMN IF NOT EXISTS has_former_keys boolean NOT NULL DEFAULT TRUE;
ALTER TABLE @ ADD COLUMN IF NOT EXISTS row_number bigint NOT NULL DEFAULT 0;
ALTER TABLE @ ADD COLUMN IF NOT EXISTS read_by bigint NOT NULL DEFAULT 0;
CREATE TABLE IF NOT EXISTS @_not_started (
    :migration_column
    row_number bigint NOT NULL,
    key text COLLATE "C" NOT NULL,
    state text NOT NULL,
    line bigint,
    reasons jsonb NOT NULL DEFAULT '[]',
    run bigint NOT NULL,
    changed_at timestamptz NOT NULL,
    PRIMARY KEY (:migration row_number)
);
"""
"""The tables. Journals of an earlier version lack the last table, and get the missing columns."""
_FORMAT: Final = FileFormat(
    kind="a journal",
    error=JournalError,
    application_id=0x67774A31,  # "gwJ1"
    version=1,
    schema=_SCHEMA,
    marks=(
        (":migration_column", ""),
        (":is_own_run", "TRUE"),
        (":is_own", "TRUE"),
        (":migration", ""),
        (":name", ""),
        (":time", "strftime('%Y-%m-%dT%H:%M:%f+00:00', :now, 'unixepoch')"),
        (":returning_keys", ""),  # each row that a statement returns would wait for the interpreter's lock
        ("@_runs", "migration"),
        ("@_not_started", "not_started"),
        ("@_row_limits", "row_limits"),
        ("@", "vaults"),
    ),
)
_POSTGRES_MARKS: Final = (
    (":migration_column", "migration text NOT NULL,"),
    (":is_own_run", "name = $1"),
    (":is_own", "migration = $1"),
    (":migration", "migration,"),
    (":name", "$1,"),
    (":time", "now()"),
    (":returning_keys", "RETURNING key"),
)
_CONNECTIONS: Final = 4


class _SqlJournal(SqlStore[QueuedStore | PooledStore]):
    """The base of both journals. Without a `name`, the first run sets it, by default to that of the file.

    `is_alone` says that nothing else writes during an operation.
    """

    def __init__(
        self, store: QueuedStore | PooledStore, name: str | None, *, is_alone: bool, create: bool = True
    ) -> None:
        super().__init__(store)
        self._name = name
        self._is_alone = is_alone
        self._create = create
        self._run = self._since = 0

    @property
    def location(self) -> str:
        """The file, or the address of the database without a password."""
        return self._store.location

    async def start(self, name: str | None, gateway: str = "", *, since: int | None = None) -> JournalRun:
        """Start a run."""
        own = self._name or (Path(self._store.location).stem if name is None else name)
        started = await self._store.run(operations.start, self._store.location, own, name, gateway)
        self._run = started.number
        self._since = self._run if since is None else since
        return started

    async def reserve_rows(self, number: int, *, limit: int) -> int:
        """Reserve rows of a limit that the runs of a migration share; a negative number gives some back.

        Return how many were reserved: fewer than `number` at the limit.
        """
        reserved = await self._store.run(
            operations.reserve_rows, self._name, self._since, number, limit, create=self._create
        )
        self._create = False  # the table exists now
        return reserved

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


class SqliteJournal(_SqlJournal):
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
        InvalidRequestError: `path` is invalid.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        given = seal_path(path)
        del path  # an error's traceback shows local variables
        file = check_path(given)
        store = QueuedStore(str(file), partial(SqliteBackend, file, _FORMAT), JournalError)
        super().__init__(store, None, is_alone=True)


class PostgresJournal(_SqlJournal):
    """A journal in PostgreSQL (12 or newer), on asyncio; any number of processes and hosts share one.

        await migrate_vaults(gateway, rows, journal=PostgresJournal("postgresql://127.0.0.1/shop", "cards"))

    Three tables hold the journals of any number of migrations. They are created on first use if they do not exist.
    Started rows are committed before they are sent, as durably as the server is configured.

    Args:
        dsn: `postgresql://…`; its password is in no error, repr or traceback.
        name: name of the migration. Ids are made of it.
        table: the name of the first table, with or without a schema; the others have `_runs` and `_not_started` added
            to it. A limit of rows on Dask creates another, `_row_limits`.
        create: whether missing tables are created.

    Raises:
        InvalidRequestError: an argument is invalid; `.problems` lists each one.
        ModuleNotFoundError: asyncpg is missing: `pip install 'gateway-async[postgres]'`.
    """

    def __init__(self, dsn: str | Secret, name: str, *, table: str = "vault_migration", create: bool = True) -> None:
        dsn = Secret(dsn)  # an error's traceback shows local variables
        is_name = isinstance(name, str) and name.strip() and name.isprintable()
        address = check_dsn(dsn, table, () if is_name else ["name: must be printable text, not empty"])
        database = Database(
            "PostgresJournal",
            address,
            JournalError,
            table=table,
            schema=_SCHEMA,
            marks=_POSTGRES_MARKS,
            create=create,
            part=f", {name!r}",
            connections=_CONNECTIONS,
            acquire_seconds=COMMAND_SECONDS,
        )
        super().__init__(PooledStore(database), name, is_alone=False, create=create)


@asynccontextmanager
async def open_limited_journal(journal: Journal | str | PathLike[str]) -> AsyncIterator[Journal]:
    """Open a journal, given or in a file, whose calls have a time limit; close it after a block."""
    opened = SqliteJournal(journal) if isinstance(journal, str | PathLike) else journal
    async with closing_async(LimitedJournal(opened)) as limited:
        yield cast("Journal", limited)
