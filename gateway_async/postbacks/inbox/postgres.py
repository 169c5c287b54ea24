"""`PostgresInbox`: an inbox in a PostgreSQL database, shared by any number of processes and hosts."""

from collections.abc import Callable, Sequence
from functools import partial
from time import monotonic
from typing import Any, Final, ParamSpec, TypeVar, cast

from gateway_async._arguments import retention_period
from gateway_async._secrets import Secret
from gateway_async._storage.postgres import Address, Database, is_table_name
from gateway_async._storage.sqlite import PRUNING_SECONDS
from gateway_async.errors import InboxError, InvalidRequestError
from gateway_async.models.postbacks import Postback
from gateway_async.postbacks.inbox import _operations as operations
from gateway_async.postbacks.inbox._mapping import PostbackRow, row_of
from gateway_async.postbacks.inbox._operations import Steps
from gateway_async.postbacks.inbox._sql_inbox import SqlInbox
from gateway_async.postbacks.inbox.protocol import Claim, PostbackState, Statement

__all__ = ["PostgresInbox"]

P = ParamSpec("P")
T = TypeVar("T")

_CONNECTIONS: Final = 10
_DIALECT: Final = {
    ":now": "now()",
    ":never": "'infinity'",
    ":is_caught_up": """content LIKE '%"caught_up":true%'""",
}
"""Mark in the statements of an operation → its replacement."""

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
        database: `postgresql://…`, whose password is in no error, repr or traceback; or an asyncpg pool of yours, which
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
        database: Any,
        *,
        table: str = "postback_inbox",
        keep_days: float = 30.0,
        create: bool = True,
    ) -> None:
        if isinstance(database, str | Secret):
            database = Secret(database)  # an error's traceback shows local variables
            database, problem = Address.parse(database)
            if database is None:
                raise InvalidRequestError(f"database: {problem}")
        if not is_table_name(table):
            raise InvalidRequestError(
                "table: invalid name (expected lower-case letters, digits and _, or schema.table)"
            )
        shown = database.shown if isinstance(database, Address) else "of a PostgreSQL pool"
        self._path = f"{shown} ({table})"
        self._new_database = partial(
            Database,
            "PostgresInbox",
            database,
            connections=_CONNECTIONS,
            table=table,
            schema=_SCHEMA,
            created_table="@_keys",
            create=create,
            error=partial(InboxError, self._path),
        )
        self._database = self._new_database()
        self._keep = retention_period(keep_days)
        self._pruned = float("-inf")

    async def store(self, postback: Postback[Any]) -> bool:
        """Store a postback once; it is committed when this returns."""
        return await self._run(_store, row_of(postback))

    async def claim(self, limit: int, seconds: float) -> Sequence[Claim]:
        """Claim due postbacks."""
        if monotonic() >= self._pruned + PRUNING_SECONDS:
            await self._run(operations.prune, self._keep)
            self._pruned = monotonic()
        return await super().claim(limit, seconds)

    async def complete(self, claim: Claim, state: PostbackState, statements: Sequence[Statement] = ()) -> bool:
        """Mark a postback as handled, and execute `statements` in the same transaction."""
        async with self._database.transaction(may_fail=bool(statements)) as connection:
            if not await self._execute(connection, operations.lock_claim(claim)):
                return False
            await self._execute_handlers(connection, statements)
            await self._execute(connection, operations.finish_claim(claim, state))
        return True

    async def fail(self, claim: Claim, error: str, retry_in: float | None) -> None:
        """Record the failure of a handler."""
        await super().fail(claim, error.replace("\0", "?"), retry_in)

    def reopen(self) -> None:
        """Make the inbox usable again after `aclose`; a pool of yours has to be open."""
        if self._database.is_closed:
            self._database = self._new_database()

    async def aclose(self) -> None:
        """Close the connections within 10 seconds.

        A pool of yours is left open. A second close has no effect.
        """
        await self._database.aclose()

    def __repr__(self) -> str:
        return f"PostgresInbox({vars(self).get('_path', '')!r})"  # also of one whose arguments are wrong

    async def _run(self, operation: Callable[P, Steps[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        async with self._database.transaction() as connection:
            return await self._execute(connection, operation(*args, **kwargs))

    async def _execute(self, connection: Any, steps: Steps[T]) -> T:
        try:
            statement, values = next(steps)
            while True:
                for name, replacement in _DIALECT.items():
                    statement = statement.replace(name, replacement)
                statement, values = steps.send(await self._database.fetch(connection, statement, *values))
        except StopIteration as end:
            return cast("T", end.value)

    async def _execute_handlers(self, connection: Any, statements: Sequence[Statement]) -> None:
        """Execute the statements of handlers."""
        for statement, values in statements:
            try:
                await connection.fetch(statement, *values)
            except self._database.driver.InterfaceError as error:
                if connection.is_closed():
                    raise
                raise ValueError(str(error)) from None  # parameters that do not match the statement
            if not connection.is_in_transaction():
                raise RuntimeError(f"{statement.split()[0]}: a handler's statement must not end the transaction")


def _store(row: PostbackRow) -> Steps[bool]:
    """Store a postback, and return whether it was new."""
    if not (yield from operations.select_new([row])):
        return False
    return bool((yield _STORE, (row.key, row.ordering_key, row.deletes, row.modified, row.content)))
