"""`PostgresLedger`: a ledger in a PostgreSQL database, shared by any number of processes and hosts."""

from functools import partial

from gateway_async._arguments import retention_period
from gateway_async._secrets import Secret
from gateway_async._storage.postgres import Address, Database, is_table_name
from gateway_async.errors import InvalidRequestError, LedgerError
from gateway_async.ledger._group_commit_ledger import GroupCommitLedger
from gateway_async.ledger._postgres_store import SCHEMA, LedgerDatabase

__all__ = ["PostgresLedger"]


class PostgresLedger(GroupCommitLedger):
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
        address, problem = Address.parse(dsn)
        if address is None:
            raise InvalidRequestError(f"dsn: {problem}")
        if not is_table_name(table):
            raise InvalidRequestError(
                "table: invalid name (expected lower-case letters, digits and _, or schema.table)"
            )
        retention = retention_period(keep_days)
        location = f"{address.shown} ({table})"
        database = Database(
            "PostgresLedger",
            address,
            table=table,
            schema=SCHEMA,
            created_table="@",
            create=create,
            error=partial(LedgerError, location),
        )
        super().__init__(location, partial(LedgerDatabase, database, retention), retention)
