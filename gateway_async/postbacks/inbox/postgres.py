"""`PostgresInbox`: an inbox in a PostgreSQL database, shared by any number of processes and hosts."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from gateway_async._arguments import retention_period
from gateway_async._secrets import Secret
from gateway_async._storage.postgres import Address, Database, read_address, table_problems
from gateway_async._storage.sql import PooledStore, Steps, run_on_postgres
from gateway_async.errors import InboxError, InvalidRequestError
from gateway_async.postbacks.inbox import _operations as operations
from gateway_async.postbacks.inbox._mapping import PostbackRow
from gateway_async.postbacks.inbox._sql_inbox import SqlInbox
from gateway_async.postbacks.inbox.protocol import Claim, PostbackState, Statement

__all__ = ["PostgresInbox"]

_CONNECTIONS: Final = 10
_MARKS: Final = {
    ":now": "now()",
    ":never": "'infinity'",
    ":is_caught_up": """content LIKE '%"caught_up":true%'""",
}

_SCHEMA: Final = """
CREATE TABLE @ (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key text NOT NULL UNIQUE,
    ordering_key text NOT NULL,
    deletes boolean NOT NULL,
    modified timestamptz,
    content text NOT NULL,
    state text NOT NULL DEFAULT 'waiting',
    received_at timestamptz NOT NULL DEFAULT now(),
    attempts integer NOT NULL DEFAULT 0,
    error text NOT NULL DEFAULT '',
    ended_at timestamptz
);
CREATE INDEX ON @ (ordering_key, state, number);
CREATE INDEX ON @ (state, number);
CREATE INDEX ON @ (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX ON @ (ordering_key) WHERE content LIKE '%"caught_up":true%';
CREATE TABLE @_keys (
    ordering_key text PRIMARY KEY,
    head bigint,
    due_at timestamptz NOT NULL,
    token text,
    newest timestamptz,
    deleted timestamptz,
    ended_at timestamptz
);
CREATE INDEX ON @_keys (due_at) WHERE head IS NOT NULL;
CREATE INDEX ON @_keys (ended_at) WHERE head IS NULL;
"""
_STORE: Final = """
WITH new AS (
    INSERT INTO @ (key, ordering_key, deletes, modified, content)
    VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (key) DO NOTHING
    RETURNING number, received_at
)
INSERT INTO @_keys AS keys (ordering_key, head, due_at) SELECT $2, number, received_at FROM new
ON CONFLICT (ordering_key) DO UPDATE
SET head = coalesce(keys.head, excluded.head),
    due_at = CASE WHEN keys.head IS NULL THEN excluded.due_at ELSE keys.due_at END
RETURNING 1
"""


class PostgresInbox(SqlInbox):
    """Inbox in PostgreSQL (12 or newer), on asyncio, for any number of processes and hosts.

        receiver = PostbackReceiver(username="…", password="…", inbox=PostgresInbox("postgresql://127.0.0.1/shop"))

    It uses two tables, which are created on first use if they are missing. A postback is as durable as the server's
    commits. All times come from the database, so the clocks of the hosts may differ. Statements passed to
    `Postback.execute` run in the same database, in the transaction that marks the postback as handled.

    Args:
        dsn: `postgresql://…`, whose password is in no error, repr or traceback; or an asyncpg pool of yours, which
            is left open.
        table: the name of the first table, with or without a schema. The second table has the suffix `_keys`.
        keep_days: how many days postbacks are kept after they were handled or discarded. During that time, repeated
            deliveries and older states of a record are recognized. A gateway may repeat for 4 days (5 attempts, one
            day apart). Choose more than that, and more than `catch_up` looks back. Waiting and dead postbacks are
            always kept.
        create: whether missing tables are created.

    Raises:
        InvalidRequestError: an argument is invalid.
        ModuleNotFoundError: asyncpg is missing: `pip install 'gateway-async[postgres]'`.
    """

    def __init__(
        self,
        dsn: Any,
        *,
        table: str = "postback_inbox",
        keep_days: float = 30.0,
        create: bool = True,
    ) -> None:
        if not callable(getattr(dsn, "acquire", None)):
            dsn = Secret(dsn)  # an error's traceback shows local variables
            dsn = read_address(dsn, table)
        elif problems := table_problems(table):
            raise InvalidRequestError(problems)
        prune = partial(operations.prune, retention_period(keep_days))
        location = f"{dsn.shown if isinstance(dsn, Address) else 'of a PostgreSQL pool'} ({table})"
        open_database = partial(
            Database,
            "PostgresInbox",
            dsn,
            connections=_CONNECTIONS,
            table=table,
            marks=_MARKS,
            schema=_SCHEMA,
            created_table="@_keys",
            create=create,
            error=partial(InboxError, location),
        )
        self._store: PooledStore
        super().__init__(location, PooledStore(open_database, prune), _insert)

    async def complete(self, claim: Claim, state: PostbackState, statements: Sequence[Statement] = ()) -> bool:
        """Mark a postback as handled, and execute `statements` in the same transaction."""
        database = self._store.database
        execute = partial(_execute_statements, database.driver, statements) if statements else None
        async with database.transaction(may_fail=bool(statements)) as connection:
            return bool(await run_on_postgres(database, connection, operations.complete(claim, state, execute)))


async def _execute_statements(driver: Any, statements: Sequence[Statement], connection: Any) -> None:
    """Execute the statements of handlers.

    Raises:
        Exception: an error of the database, of a value or of the connection.
    """
    for statement, values in statements:
        try:
            await connection.fetch(statement, *values)
        except driver.InterfaceError as error:
            if connection.is_closed():
                raise
            raise ValueError(str(error)) from None  # parameters that do not match the statement
        if not connection.is_in_transaction():
            raise RuntimeError(f"{statement.split()[0]}: a handler's statement must not end the transaction")


def _insert(rows: Sequence[PostbackRow]) -> Steps[set[str]]:
    """Store postbacks, and return the keys of the new ones."""
    new: set[str] = set()
    for row in rows:
        if (yield _STORE, (row.key, row.ordering_key, row.deletes, row.modified, row.content)):
            new.add(row.key)
    return new
