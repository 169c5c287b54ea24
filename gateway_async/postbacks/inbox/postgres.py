"""`PostgresInbox`: an inbox in a PostgreSQL database, shared by any number of processes and hosts."""

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from secrets import token_hex
from time import monotonic
from typing import Any, Final

from gateway_async._storage.postgres import Database, in_one_line, is_address, without_password
from gateway_async.errors import InboxError, InvalidRequestError
from gateway_async.models.postbacks import Postback
from gateway_async.postbacks.inbox import _postgres_statements as sql
from gateway_async.postbacks.inbox._mapping import (
    LISTING_SECONDS,
    Row,
    check_keep_days,
    claim_of,
    ordering_key_of,
    row_of,
    stored_postback_of,
    was_missed,
    was_told,
)
from gateway_async.postbacks.inbox.protocol import Claim, PostbackState, StoredPostback, Write

__all__ = ["PostgresInbox"]

_CONNECTIONS: Final = 10
_PRUNING_SECONDS: Final = 60.0
_NAME: Final = re.compile(r"([a-z_][a-z0-9_]{0,49}\.)?[a-z_][a-z0-9_]{0,49}", re.ASCII)


class PostgresInbox:
    """Inbox in PostgreSQL (12 or newer), on asyncio, for any number of processes and hosts.

        receiver = PostbackReceiver(username="…", password="…", inbox=PostgresInbox("postgresql://127.0.0.1/shop"))

    It uses two tables, which are created on first use if they are missing. A postback is as durable as the server's
    commits. All times come from the database, so the clocks of the hosts may differ. Statements passed to
    `Postback.write` run in the same database, in the transaction that marks the postback as handled.

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
                "table: must be a name of small postbacks, digits and _, with or without a schema"
            )
        dsn = _checked(database) if isinstance(database, str) else None
        self._new_database = partial(
            Database, "PostgresInbox", database, connections=_CONNECTIONS, make_tables=self._make_tables
        )
        self._database = self._new_database()
        self._table = table
        self._keep = timedelta(days=check_keep_days(keep_days))
        self._create = create
        self._place = f"{without_password(dsn) if dsn else 'of a PostgreSQL pool'} ({table})"
        self._pruned = float("-inf")

    async def put(self, postback: Postback[Any]) -> bool:
        """Store a postback once; it is committed when this returns."""
        row = row_of(postback)
        values = (row.key, row.ordering_key, row.deletes, row.modified, row.content)
        async with self._transaction() as connection:
            if not await self._is_news(connection, row):
                return False
            return bool(await self._value(connection, sql.PUT, *values))

    async def claim(self, at_most: int, seconds: float) -> Sequence[Claim]:
        """Claim due postbacks."""
        await self._prune()
        token = token_hex(8)
        async with self._transaction() as connection:
            claimed = await self._fetch(connection, sql.CLAIM, token, timedelta(seconds=seconds), at_most)
            heads = [row["head"] for row in claimed]
            rows = await self._fetch(connection, sql.CLAIMED, heads) if heads else []
        return [claim_of(row, token) for row in sorted(rows, key=lambda row: int(row["number"]))]

    async def extend(self, claims: Sequence[Claim], seconds: float) -> None:
        """Extend claims."""
        keys, tokens = [ordering_key_of(claim.postback) for claim in claims], [claim.token for claim in claims]
        async with self._transaction() as connection:
            await self._fetch(connection, sql.PROLONG, keys, tokens, timedelta(seconds=seconds))

    async def release(self, claims: Sequence[Claim]) -> None:
        """Release claims without counting the attempt."""
        for claim in claims:
            async with self._transaction() as connection:
                if await self._locked(connection, claim):
                    await self._value(connection, sql.UNCOUNT, claim.number)
                    await self._go_on(connection, claim)

    async def done(self, claim: Claim, state: PostbackState, writes: Sequence[Write] = ()) -> bool:
        """Mark a postback as handled, and execute `writes` in the same transaction."""
        async with self._transaction(may_fail=bool(writes)) as connection:
            if not await self._locked(connection, claim):
                return False
            await self._write(connection, writes)
            (row,) = await self._fetch(connection, sql.END, claim.number, str(state))
            if state is PostbackState.HANDLED:
                ordering_key = ordering_key_of(claim.postback)
                await self._value(connection, sql.LEARN, ordering_key, row["modified"], row["deletes"])
            await self._go_on(connection, claim)
        return True

    async def failed(self, claim: Claim, error: str, again_in: float | None) -> None:
        """Record the failure of a handler."""
        state = PostbackState.DEAD if again_in is None else PostbackState.WAITING
        async with self._transaction() as connection:
            if await self._locked(connection, claim):
                await self._value(connection, sql.FAILED, claim.number, error.replace("\0", "?"), str(state))
                await self._go_on(connection, claim, again_in or 0)

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
            ordering_key = await self._value(connection, sql.LANE, number)
            if ordering_key is None:
                return False
            await self._value(connection, sql.LOCK_LANE, ordering_key)
            await self._value(connection, sql.REPLAY, number)
            await self._value(connection, sql.LINE_UP_AGAIN, ordering_key, number)
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
        return f"PostgresInbox({self._place!r})"

    # --- in a transaction

    async def _is_news(self, connection: Any, row: Row) -> bool:
        if row.reconciled:
            return await self._was_missed(connection, row)
        return not await self._note_reconciled(connection, row)

    async def _was_missed(self, connection: Any, row: Row) -> bool:
        before = timedelta(seconds=LISTING_SECONDS)
        (known,) = await self._fetch(connection, sql.KNOWN, row.ordering_key, row.modified, before)
        return was_missed(row, row.modified, known)

    async def _note_reconciled(self, connection: Any, row: Row) -> bool:
        listed = await self._fetch(connection, sql.LISTED, row.ordering_key)
        return was_told(row, [each["content"] for each in listed])

    async def _locked(self, connection: Any, claim: Claim) -> bool:
        """Return whether a claim is still valid; if so, lock its ordering key until the transaction ends."""
        ordering_key = ordering_key_of(claim.postback)
        return bool(await self._value(connection, sql.LOCK, ordering_key, claim.number, claim.token))

    async def _go_on(self, connection: Any, claim: Claim, pause: float = 0) -> None:
        """End a claim; the next postback of its ordering key is due after `pause` seconds."""
        await self._value(connection, sql.NEXT, ordering_key_of(claim.postback), timedelta(seconds=pause))

    async def _write(self, connection: Any, writes: Sequence[Write]) -> None:
        """Execute the statements of a handler."""
        for statement, values in writes:
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
        if monotonic() >= self._pruned + _PRUNING_SECONDS:
            async with self._transaction() as connection:
                await self._value(connection, sql.FORGET_POSTBACKS, self._keep)
                await self._value(connection, sql.FORGET_LANES, self._keep)
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
            (await self._opened()).acquire() as connection,
            _read_committed(connection),
        ):
            yield connection

    async def _opened(self) -> Any:
        """Return the pool, after making sure that the tables exist."""
        self._database.check_asyncio()
        if self._database.is_closed:
            raise InboxError(self._place, "it is closed")
        return await self._database.pool()

    async def _make_tables(self, connection: Any) -> None:
        if await self._value(connection, sql.EXISTS):
            return
        if not self._create:
            raise InboxError(self._place, "there is no such table")
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
            if may_fail and not self._is_trouble(error):
                raise
            raise InboxError(self._place, in_one_line(error)) from error

    def _is_trouble(self, error: Exception) -> bool:
        """Return whether the database or its connection failed, and not only a statement."""
        driver = self._database.driver
        troubles = (
            *(driver.PostgresConnectionError, driver.InsufficientResourcesError, driver.TransactionRollbackError),
            *(driver.OperatorInterventionError, driver.PostgresSystemError, driver.InternalServerError),
        )
        statements = (driver.QueryCanceledError, TimeoutError)
        ways = (driver.InterfaceError, driver.InternalClientError, OSError)
        return isinstance(error, (*troubles, *ways)) and not isinstance(error, statements)


def _read_committed(connection: Any) -> Any:
    """Start a transaction with READ COMMITTED isolation, whatever the database's default is."""
    return connection.transaction(isolation="read_committed")


def _checked(dsn: str) -> str:
    if not is_address(dsn):
        raise InvalidRequestError("database: must be an address that begins with postgresql://")
    return dsn
