"""`PostgresLedger`: a ledger in a PostgreSQL database, shared by any number of processes and hosts."""

from datetime import timedelta
from functools import partial
from secrets import randbits
from typing import Final

from gateway_async._arguments import retention_period
from gateway_async._secrets import Secret
from gateway_async._storage.postgres import Database, read_address
from gateway_async._storage.sql import PostgresBackend
from gateway_async.errors import LedgerError
from gateway_async.ledger import _operations as operations
from gateway_async.ledger._sql_ledger import SqlLedger

__all__ = ["PostgresLedger"]

_SCHEMA: Final = """
CREATE TABLE @ (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
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
    owner bigint NOT NULL,
    recorded_at timestamptz NOT NULL DEFAULT now(),
    outcome text,
    record_id text,
    resolved_at timestamptz
);
CREATE INDEX ON @ (terminal_id) WHERE outcome IS NULL;
CREATE INDEX ON @ (resolved_at) WHERE outcome IS NOT NULL;
"""

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
_MARKS: Final = {
    ":owner": "owner",
    ":is_orphaned": "FALSE",
    ":is_shown": """(
        owner = :mine
        OR recorded_at + (conclusive_at - sent_at) < now()
        OR owner NOT IN (
            SELECT (classid::bigint << 32) | objid::bigint FROM pg_locks
            WHERE locktype = 'advisory' AND objsubid = 1
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
        )
    )""",
    ":resolved_at": "now()",
    ":oldest": """
        SELECT number FROM @ WHERE outcome IS NOT NULL AND :is_old
        ORDER BY resolved_at LIMIT 10000 FOR UPDATE SKIP LOCKED
    """,
    ":is_old": "resolved_at < now() - $1::interval",
    ":mine": "current_setting('gateway_async.owner')::bigint",
}


class PostgresLedger(SqlLedger):
    """A ledger in PostgreSQL (12 or newer), for any number of processes and hosts; each client needs its own object.

        AsyncGateway(..., ledger=PostgresLedger("postgresql://127.0.0.1/shop"))

    One table holds the intents of all processes. It is created on first use if it is missing. An intent is committed
    before its call is sent, also if the server's `synchronous_commit` is off. It runs on asyncio and on trio, and under
    several event loops. In a process that was forked after its first use it is closed.

    Each ledger has one connection, which holds an advisory lock until it ends. While a process is connected, the
    `recover()` of another process leaves the calls of that process alone until they have certainly ended. When a
    connection drops, the ledger connects again with its next write. In between, another process may look up calls that
    are still in progress. It reports them as found if they were executed. It never reports one as not made too early:
    the doubt counts its full time from when that process first sees the intent, as if the call had just been sent.

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
        address = read_address(dsn, table)
        retention = retention_period(keep_days)
        location = f"{address.shown} ({table})"
        database = Database(
            "PostgresLedger",
            address,
            table=table,
            marks=_MARKS,
            schema=_SCHEMA,
            created_table="@",
            create=create,
            error=partial(LedgerError, location),
        )
        super().__init__(location, partial(_open_ledger, database, retention), retention)


def _open_ledger(database: Database, keep: timedelta) -> PostgresBackend:
    """Open a connection with an owner of its own, which a process that is forked before this does not share."""
    return PostgresBackend(database, (_LOCK, (randbits(_OWNER_BITS),)), partial(operations.prune, keep))
