"""`SqliteLedger` and `PostgresLedger`: a ledger in a file or in a database.

Callers wait until an intent is committed. Outcomes are written a moment later, together with other writes.
"""

import sqlite3
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from os import PathLike
from pathlib import Path
from secrets import randbits
from typing import Final

from gateway_async._arguments import retention_problems
from gateway_async._secrets import Secret
from gateway_async._storage.backends import PostgresBackend, SqliteBackend
from gateway_async._storage.postgres import Database, check_dsn
from gateway_async._storage.sql import QueuedStore, SqlStore
from gateway_async._storage.sqlite import FileFormat, ask_pragma, check_path, open_database, seal_path
from gateway_async._text import pluralize
from gateway_async.errors import InvalidRequestError, LedgerError
from gateway_async.ledger import _operations as operations
from gateway_async.ledger.protocol import DONE, Intent, StoredIntent

_PAGE: Final = 1000
"""Intents that `entries` reads at once, because payments wait meanwhile."""

_SCHEMA: Final = """
CREATE TABLE @ (
    number :identity PRIMARY KEY,
    id text NOT NULL UNIQUE,
    call text NOT NULL,
    resource text NOT NULL,
    api_id text,
    location_id text,
    terminal_id text,
    sent_at timestamptz NOT NULL,
    conclusive_at timestamptz NOT NULL,
    sent json NOT NULL,
    outcome_query json,
    gateway text NOT NULL DEFAULT '',
    :owner_columns,
    outcome text,
    record_id text,
    resolved_at timestamptz
);
CREATE INDEX ON @ (terminal_id) WHERE outcome IS NULL;
"""
_FORMAT: Final = FileFormat(
    kind="a ledger",
    error=LedgerError,
    application_id=0x67774C31,  # "gwL1"
    version=2,
    schema=_SCHEMA,
    marks=(
        (":identity", "INTEGER"),  # AUTOINCREMENT would write one more page with each commit
        (":owner_columns", "orphaned INTEGER NOT NULL DEFAULT 0"),
        (":owner", "orphaned"),
        (":mine", "FALSE"),
        (":is_orphaned", "orphaned"),
        (":is_shown", "TRUE"),
        (":resolved_at", "new.resolved_at"),
        (":oldest", "SELECT number FROM @ ORDER BY number LIMIT 10000"),
        (":is_old", "resolved_at < strftime('%Y-%m-%dT%H:%M:%fZ', :now - $1, 'unixepoch')"),
        ("@", "intents"),
    ),
)
_MARK_ORPHANED: Final = "UPDATE intents SET orphaned = 1 WHERE outcome IS NULL"

_OWNER_BITS: Final = 63

# Other ledgers know by the lock on a ledger's number, its *owner*, that its process is alive. The server releases the
# lock when the connection ends. A shared lock does not wait for the session of a lost connection, which may hold it for
# some time yet. The keep-alive packets end such a session after a minute. Without `synchronous_commit`, a power loss
# could lose an intent.
_LOCK: Final = """
SELECT pg_advisory_lock_shared($1::bigint), set_config('gateway_async.owner', ($1::bigint)::text, false),
    set_config('tcp_keepalives_idle', '30', false),
    set_config('tcp_keepalives_interval', '10', false),
    set_config('tcp_keepalives_count', '3', false),
    CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'on', false) END
"""
_POSTGRES_SCHEMA: Final = _SCHEMA + "CREATE INDEX ON @ (resolved_at) WHERE outcome IS NOT NULL;"
_POSTGRES_MARKS: Final = (
    (":identity", "bigint GENERATED ALWAYS AS IDENTITY"),
    (":owner_columns", "owner bigint NOT NULL, recorded_at timestamptz NOT NULL DEFAULT now()"),
    (":owner", "owner"),
    (":is_orphaned", "FALSE"),
    (
        ":is_shown",
        """(
            owner = :mine
            OR recorded_at + (conclusive_at - sent_at) < now()
            OR owner NOT IN (
                SELECT (classid::bigint << 32) | objid::bigint FROM pg_locks
                WHERE locktype = 'advisory' AND objsubid = 1
                AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
            )
        )""",
    ),
    (":resolved_at", "now()"),
    (
        ":oldest",
        """
        SELECT number FROM @ WHERE outcome IS NOT NULL AND :is_old
        ORDER BY resolved_at LIMIT 10000 FOR UPDATE SKIP LOCKED
        """,
    ),
    (":is_old", "resolved_at < now() - $1::interval"),
    (":mine", "current_setting('gateway_async.owner')::bigint"),
)


class _SqlLedger(SqlStore[QueuedStore]):
    """The base of `SqliteLedger` and `PostgresLedger`."""

    def __init__(self, store: QueuedStore, keep: timedelta) -> None:
        super().__init__(store)
        self._keep = keep

    async def record_intent(self, intent: Intent) -> None:
        """Write an intent to disk.

        Raises:
            LedgerError: it cannot be written.
        """
        await self._store.run_merged(operations.record_intents, intent)

    def record_outcome(self, intent_id: str, outcome: str, record_id: str | None = None) -> Awaitable[None]:
        """Record the outcome of an intent; it is on disk a moment later.

        Raises:
            LedgerError: the ledger is closed.
        """
        recorded = operations.RecordedOutcome(intent_id, outcome, record_id, datetime.now(UTC))
        self._store.run_merged_soon(operations.record_outcomes, recorded)
        return DONE

    async def open_intents(self, terminal_id: str | None = None) -> Sequence[Intent]:
        """Return the intents without an outcome, the oldest first.

        With `terminal_id`, return only the intents of that terminal.

        Raises:
            LedgerError: the ledger cannot be read.
        """
        return await self._store.read(operations.open_intents, terminal_id)

    async def entries(self, since: datetime) -> AsyncIterator[StoredIntent]:
        """Iterate over the intents with `sent_at` from `since`, the oldest first.

        Open and resolved intents of all processes are included. They are read in pages, so that a long ledger needs
        little memory.

        Raises:
            InvalidRequestError: resolved intents of that time may have been deleted.
            LedgerError: the ledger cannot be read.
        """
        if datetime.now(UTC) - since > self._keep:
            days = self._keep / timedelta(days=1)
            raise InvalidRequestError(
                f"since: too early, resolved intents are kept for {days:g} {pluralize(days, 'day')} (see keep_days)"
            )
        after = operations.id_before(since)
        while page := await self._store.read(operations.entries_after, after, _PAGE):
            for stored in page:
                yield stored
            after = page[-1].intent.id

    async def aclose(self) -> None:
        """Write what is pending and close the ledger, within 15 seconds.

        A client closes the ledger that it was given. A second close is harmless. Later calls raise `LedgerError`.

        Raises:
            LedgerError: it took longer, so the last outcomes may not be written. Their intents are then open.
        """
        await super().aclose()
        if self._store.writer.is_running:
            raise LedgerError(self._store.location, "it does not respond, and was not closed")


class SqliteLedger(_SqlLedger):
    """A ledger in an SQLite file; each client needs its own.

        AsyncGateway(..., ledger=SqliteLedger("payments.db"))

    Any number of ledgers can share one file. The file is opened or created on first use. An intent is on disk (WAL,
    `synchronous=FULL`) before its call is sent, and survives `kill -9` and a loss of power. Several processes of one
    machine may use one file at the same time. Do not put it on a network share, because SQLite's locks do not work
    there. It runs on asyncio and on trio, and under several event loops. In a process that was forked after its first
    use it is closed.

    The file contains only the last four digits of a card or an account, to recognize a stored card.

    Args:
        path: the file; the files with the suffixes `-wal` and `-shm` belong to it. Its folder must exist.
        keep_days: days for which resolved intents are kept for inspection. Open intents are kept until they are
            resolved.

    Raises:
        InvalidRequestError: an argument is invalid.
    """

    def __init__(self, path: str | PathLike[str], *, keep_days: float = 30.0) -> None:
        given = seal_path(path)
        del path  # an error's traceback shows local variables
        file = check_path(given, retention_problems(keep_days))
        keep = timedelta(days=keep_days)
        super().__init__(QueuedStore(str(file), partial(_open_ledger, file, keep), LedgerError), keep)


class PostgresLedger(_SqlLedger):
    """A ledger in PostgreSQL (12 or newer), for any number of processes and hosts; each client needs its own.

        AsyncGateway(..., ledger=PostgresLedger("postgresql://127.0.0.1/shop"))

    One table holds the intents of all processes. It is created on first use if it is missing. An intent is committed
    before its call is sent, even if the server's `synchronous_commit` is off. It runs on asyncio and on trio, and under
    several event loops. In a process that was forked after its first use it is closed.

    Each ledger has one connection, which holds an advisory lock until it ends. While a process is connected, the
    `recover()` of another process leaves the calls of that process alone until they have certainly ended. When a
    connection drops, the ledger connects again with its next write. In between, another process may look up calls that
    are still in progress. It reports them as found if they were executed, but never as not made too early: the
    time in doubt counts in full from when that process first sees the intent, as if the call had just been sent.

    Connect directly or through a pooler in session mode: a pooler in transaction mode breaks the lock.

    The table contains the same data as the file of a `SqliteLedger`.

    Args:
        dsn: `postgresql://…`; its password is in no error, repr or traceback.
        table: the name of the table, with or without a schema.
        keep_days: days for which resolved intents are kept for inspection. Open intents are kept until they are
            resolved.
        create: whether a missing table is created.

    Raises:
        InvalidRequestError: an argument is invalid.
        ModuleNotFoundError: asyncpg is missing: `pip install 'gateway-async[postgres]'`.
    """

    def __init__(
        self, dsn: str | Secret, *, table: str = "payment_ledger", keep_days: float = 30.0, create: bool = True
    ) -> None:
        dsn = Secret(dsn)  # an error's traceback shows local variables
        address = check_dsn(dsn, table, retention_problems(keep_days))
        keep = timedelta(days=keep_days)
        database = Database(
            "PostgresLedger",
            address,
            LedgerError,
            table=table,
            schema=_POSTGRES_SCHEMA,
            marks=_POSTGRES_MARKS,
            create=create,
        )
        super().__init__(QueuedStore(database.location, partial(_connect, database, keep), LedgerError), keep)


def _open_ledger(path: Path, keep: timedelta | None = None) -> SqliteBackend:
    """Open a ledger's file; with `keep`, resolved intents are deleted after that time.

    Raises:
        LedgerError: it cannot be used.
    """
    _mark_orphaned(path)
    return SqliteBackend(path, _FORMAT, prune=partial(operations.prune, keep) if keep else None)


def _mark_orphaned(path: Path) -> None:
    """Mark open intents as orphaned if no other process uses the file.

    The processes that wrote them have then exited. Errors are ignored here: the store opens the file next and reports
    them.
    """
    if not path.is_file():
        return
    with suppress(sqlite3.Error), closing(open_database(str(path), 0)) as alone:
        alone.execute("PRAGMA locking_mode = EXCLUSIVE")
        if ask_pragma(alone, "application_id") == _FORMAT.application_id:
            alone.execute(_MARK_ORPHANED)


def _connect(database: Database, keep: timedelta) -> PostgresBackend:
    """Open a connection with an owner of its own, which a process that is forked before this does not share."""
    return PostgresBackend(database, (_LOCK, (randbits(_OWNER_BITS),)), partial(operations.prune, keep))
