"""`PostgresInbox`: an inbox in a PostgreSQL database, shared by any number of processes and hosts."""

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from secrets import token_hex
from time import monotonic
from typing import Any, Final

from gateway_async._arguments import retention_period
from gateway_async._storage.postgres import Database, in_one_line, is_address, without_password
from gateway_async._storage.sqlite import PRUNING_SECONDS
from gateway_async.errors import InboxError, InvalidRequestError
from gateway_async.models.postbacks import Postback
from gateway_async.postbacks.inbox import _postgres_statements as sql
from gateway_async.postbacks.inbox._mapping import (
    LISTING_SECONDS,
    Row,
    claim_of,
    ordering_key_of,
    row_of,
    stored_postback_of,
    was_missed,
    was_passed_on,
)
from gateway_async.postbacks.inbox.protocol import Claim, PostbackState, Statement, StoredPostback

__all__ = ["PostgresInbox"]

_CONNECTIONS: Final = 10
_NAME: Final = re.compile(r"([a-z_][a-z0-9_]{0,49}\.)?[a-z_][a-z0-9_]{0,49}", re.ASCII)


class PostgresInbox:
    """Inbox in PostgreSQL (12 or newer), on asyncio, for any number of processes and hosts.

        receiver = PostbackReceiver(username="…", password="…", inbox=PostgresInbox("postgresql://127.0.0.1/shop"))

    It uses two tables, which are created on first use if they are missing. A postback is as durable as the server's
    commits. All times come from the database, so the clocks of the hosts may differ. Statements passed to
    `Postback.execute` run in the same database, in the transaction that marks the postback as handled.

    Args:
        database: `postgresql://…`, or an asyncpg pool of yours, which is left open.
        table: the name of the first table, with or without a schema. The second table has the suffix `_keys`.
        keep_days: how many days postbacks are kept after they were handled or discarded. During that time, repeated
            deliveries and older states of a record are recognized. A gateway may repeat for 4 days (5 attempts, one
            day apart). Choose more than that, and more than `reconcile` looks back. Waiting and dead postbacks are
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
        if not isinstance(table, str) or not _NAME.fullmatch(table):
            raise InvalidRequestError(
                "table: invalid name (expected lower-case letters, digits and _, or schema.table)"
            )
        dsn = _check_address(database) if isinstance(database, str) else None
        self._new_database = partial(
            Database, "PostgresInbox", database, connections=_CONNECTIONS, create_tables=self._create_tables
        )
        self._database = self._new_database()
        self._table = table
        self._keep = retention_period(keep_days)
        self._create = create
        self._path = f"{without_password(dsn) if dsn else 'of a PostgreSQL pool'} ({table})"
        self._pruned = float("-inf")

    async def store(self, postback: Postback[Any]) -> bool:
        """Store a postback once; it is committed when this returns."""
        row = row_of(postback)
        values = (row.key, row.ordering_key, row.deletes, row.modified, row.content)
        async with self._transaction() as connection:
            if not await self._should_store(connection, row):
                return False
            return bool(await self._value(connection, sql.STORE, *values))

    async def claim(self, limit: int, seconds: float) -> Sequence[Claim]:
        """Claim due postbacks."""
        await self._prune()
        token = token_hex(8)
        async with self._transaction() as connection:
            claimed = await self._fetch(connection, sql.CLAIM, token, timedelta(seconds=seconds), limit)
            heads = [row["head"] for row in claimed]
            rows = await self._fetch(connection, sql.COUNT_ATTEMPTS, heads) if heads else []
        return [claim_of(row, token) for row in sorted(rows, key=lambda row: int(row["number"]))]

    async def extend(self, claims: Sequence[Claim], seconds: float) -> None:
        """Extend claims."""
        keys, tokens = [ordering_key_of(claim.postback) for claim in claims], [claim.token for claim in claims]
        async with self._transaction() as connection:
            await self._fetch(connection, sql.EXTEND, keys, tokens, timedelta(seconds=seconds))

    async def release(self, claims: Sequence[Claim]) -> None:
        """Release claims without counting the attempt."""
        for claim in claims:
            async with self._transaction() as connection:
                if await self._lock_claim(connection, claim):
                    await self._value(connection, sql.UNDO_ATTEMPT, claim.number)
                    await self._end_claim(connection, claim)

    async def complete(self, claim: Claim, state: PostbackState, statements: Sequence[Statement] = ()) -> bool:
        """Mark a postback as handled, and execute `statements` in the same transaction."""
        async with self._transaction(may_fail=bool(statements)) as connection:
            if not await self._lock_claim(connection, claim):
                return False
            await self._execute(connection, statements)
            (row,) = await self._fetch(connection, sql.FINISH, claim.number, str(state))
            if state is PostbackState.HANDLED:
                ordering_key = ordering_key_of(claim.postback)
                await self._value(connection, sql.RECORD_NEWEST, ordering_key, row["modified"], row["deletes"])
            await self._end_claim(connection, claim)
        return True

    async def fail(self, claim: Claim, error: str, retry_in: float | None) -> None:
        """Record the failure of a handler."""
        state = PostbackState.DEAD if retry_in is None else PostbackState.WAITING
        async with self._transaction() as connection:
            if await self._lock_claim(connection, claim):
                await self._value(connection, sql.FAILED, claim.number, error.replace("\0", "?"), str(state))
                await self._end_claim(connection, claim, retry_in or 0)

    async def list(
        self, state: PostbackState | None = None, *, after: int = 0, limit: int = 1000
    ) -> Sequence[StoredPostback]:
        """List stored postbacks."""
        async with self._transaction() as connection:
            rows = await self._fetch(connection, sql.LIST_POSTBACKS, after, state and str(state), limit)
        return [stored_postback_of(row) for row in rows]

    async def replay(self, number: int) -> bool:
        """Make a postback waiting again."""
        async with self._transaction() as connection:
            ordering_key = await self._value(connection, sql.ORDERING_KEY_OF, number)
            if ordering_key is None:
                return False
            await self._value(connection, sql.LOCK_KEY, ordering_key)
            await self._value(connection, sql.REPLAY, number)
            await self._value(connection, sql.REQUEUE, ordering_key, number)
        return True

    async def discard(self, number: int) -> bool:
        """Give up a dead postback."""
        async with self._transaction() as connection:
            return bool(await self._value(connection, sql.DISCARD, number))

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
        return f"PostgresInbox({self._path!r})"

    # --- in a transaction

    async def _should_store(self, connection: Any, row: Row) -> bool:
        if row.reconciled:
            return await self._was_missed(connection, row)
        return not await self._was_passed_on(connection, row)

    async def _was_missed(self, connection: Any, row: Row) -> bool:
        before = timedelta(seconds=LISTING_SECONDS)
        (known,) = await self._fetch(connection, sql.FIND_LATEST, row.ordering_key, row.modified, before)
        return was_missed(row, row.modified, known)

    async def _was_passed_on(self, connection: Any, row: Row) -> bool:
        listed = await self._fetch(connection, sql.FIND_RECONCILED, row.ordering_key)
        return was_passed_on(row, [each["content"] for each in listed])

    async def _lock_claim(self, connection: Any, claim: Claim) -> bool:
        """Return whether a claim is still valid; if so, lock its ordering key until the transaction ends."""
        ordering_key = ordering_key_of(claim.postback)
        return bool(await self._value(connection, sql.LOCK_CLAIM, ordering_key, claim.number, claim.token))

    async def _end_claim(self, connection: Any, claim: Claim, pause: float = 0) -> None:
        """End a claim; the next postback of its ordering key is due after `pause` seconds."""
        await self._value(connection, sql.ADVANCE, ordering_key_of(claim.postback), timedelta(seconds=pause))

    async def _execute(self, connection: Any, statements: Sequence[Statement]) -> None:
        """Execute the statements of a handler."""
        for statement, values in statements:
            try:
                await connection.fetch(statement, *values)
            except self._database.driver.InterfaceError as error:
                if connection.is_closed():
                    raise
                raise ValueError(str(error)) from None  # parameters that do not match the statement
            if not connection.is_in_transaction():
                raise RuntimeError(f"{statement.split()[0]}: a handler's statement must not end the transaction")

    async def _value(self, connection: Any, statement: str, *values: Any) -> Any:
        return await connection.fetchval(statement.replace("@", self._table), *values)

    async def _fetch(self, connection: Any, statement: str, *values: Any) -> Sequence[Mapping[str, Any]]:
        rows: Sequence[Mapping[str, Any]] = await connection.fetch(statement.replace("@", self._table), *values)
        return rows

    async def _prune(self) -> None:
        if monotonic() >= self._pruned + PRUNING_SECONDS:
            async with self._transaction() as connection:
                await self._value(connection, sql.PRUNE_POSTBACKS, self._keep)
                await self._value(connection, sql.PRUNE_KEYS, self._keep)
            self._pruned = monotonic()

    # --- the database

    @asynccontextmanager
    async def _transaction(self, *, may_fail: bool = False) -> AsyncIterator[Any]:
        """Open a connection with a transaction of its own.

        Args:
            may_fail: whether a handler's statements run in it; their errors are raised unchanged.
        """
        async with (
            self._describe_errors(may_fail),
            (await self._open_pool()).acquire() as connection,
            _read_committed(connection),
        ):
            yield connection

    async def _open_pool(self) -> Any:
        """Return the pool, after making sure that the tables exist."""
        self._database.check_asyncio()
        if self._database.is_closed:
            raise InboxError(self._path, "it is closed")
        return await self._database.pool()

    async def _create_tables(self, connection: Any) -> None:
        if await self._value(connection, sql.EXISTS):
            return
        if not self._create:
            raise InboxError(self._path, "there is no such table")
        async with _read_committed(connection):
            await self._value(connection, sql.LOCK_CREATION)  # another process may be creating them
            if not await self._value(connection, sql.EXISTS):
                await connection.execute(sql.CREATE.replace("@", self._table))

    @asynccontextmanager
    async def _describe_errors(self, may_fail: bool) -> AsyncIterator[None]:
        driver = self._database.driver
        try:
            yield
        except (driver.PostgresError, driver.InterfaceError, driver.InternalClientError, OSError) as error:
            if may_fail and not self._is_connection_error(error):
                raise
            raise InboxError(self._path, in_one_line(error)) from error

    def _is_connection_error(self, error: Exception) -> bool:
        """Return whether the database or its connection failed."""
        driver = self._database.driver
        server_errors = (
            *(driver.PostgresConnectionError, driver.InsufficientResourcesError, driver.TransactionRollbackError),
            *(driver.OperatorInterventionError, driver.PostgresSystemError, driver.InternalServerError),
        )
        statements = (driver.QueryCanceledError, TimeoutError)
        client_errors = (driver.InterfaceError, driver.InternalClientError, OSError)
        return isinstance(error, (*server_errors, *client_errors)) and not isinstance(error, statements)


def _read_committed(connection: Any) -> Any:
    """Start a transaction with READ COMMITTED isolation, whatever the database's default is."""
    return connection.transaction(isolation="read_committed")


def _check_address(dsn: str) -> str:
    if not is_address(dsn):
        raise InvalidRequestError("database: invalid address (expected postgresql://…)")
    return dsn
