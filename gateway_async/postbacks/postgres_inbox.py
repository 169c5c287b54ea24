"""`PostgresInbox`: an inbox in a PostgreSQL database, for any number of processes and hosts."""

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from secrets import token_hex
from time import monotonic
from typing import Any, Final

from gateway_async._postgres import Database, in_one_line, is_address, without_password
from gateway_async.errors import InboxError, InvalidRequestError
from gateway_async.models.postbacks import Postback
from gateway_async.postbacks import _inbox_sql as sql
from gateway_async.postbacks._rows import (
    LISTING_SECONDS,
    Row,
    check_keep_days,
    claim_of,
    lane_of,
    letter_of,
    row_of,
    was_missed,
    was_told,
)
from gateway_async.postbacks.inbox import Claim, Letter, LetterState, Write

__all__ = ["PostgresInbox"]

_CONNECTIONS: Final = 10
_PRUNING_SECONDS: Final = 60.0
_NAME: Final = re.compile(r"([a-z_][a-z0-9_]{0,49}\.)?[a-z_][a-z0-9_]{0,49}", re.ASCII)


class PostgresInbox:
    """An inbox in PostgreSQL (12 or newer), on asyncio; any number of processes and hosts share one.

        receiver = PostbackReceiver(username="…", password="…", inbox=PostgresInbox("postgresql://127.0.0.1/shop"))

    Two tables hold it, made when they are first needed and not there. A postback is as durable as the server makes
    what it commits. Times are the database's, so hosts' clocks need not agree. `Postback.write` runs in the same
    database, in the transaction that marks the postback handled.

    Args:
        database: `postgresql://…`, or an asyncpg pool of yours, which is left open.
        table: the name of the first table, with or without a schema; the second has `_lanes` added to it.
        keep_days: how long postbacks are kept after they were handled or discarded. For so long a repeated delivery is
            known as one, and an older state of a record as older. A gateway may repeat for 4 days (5 attempts, a day
            between them), so let it be more than that, and more than `reconcile` looks back. What waits, and what is
            dead, is kept.
        create: whether the tables are made if they are not there.

    Raises:
        InvalidRequestError: an argument cannot be right.
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
            raise InvalidRequestError("table: must be a name of small letters, digits and _, with or without a schema")
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
        """Keep a postback, once; it is committed when this returns."""
        row = row_of(postback)
        values = (row.key, row.lane, row.deletes, row.modified, row.content)
        async with self._transaction() as connection:
            if not await self._is_news(connection, row):
                return False
            return bool(await self._value(connection, sql.PUT, *values))

    async def claim(self, at_most: int, seconds: float) -> Sequence[Claim]:
        """Take postbacks that are due."""
        await self._prune()
        token = token_hex(8)
        async with self._transaction() as connection:
            claimed = await self._fetch(connection, sql.CLAIM, token, timedelta(seconds=seconds), at_most)
            heads = [row["head"] for row in claimed]
            rows = await self._fetch(connection, sql.CLAIMED, heads) if heads else []
        return [claim_of(row, token) for row in sorted(rows, key=lambda row: int(row["number"]))]

    async def prolong(self, claims: Sequence[Claim], seconds: float) -> None:
        """Keep claims."""
        lanes, tokens = [lane_of(claim.postback) for claim in claims], [claim.token for claim in claims]
        async with self._transaction() as connection:
            await self._fetch(connection, sql.PROLONG, lanes, tokens, timedelta(seconds=seconds))

    async def release(self, claims: Sequence[Claim]) -> None:
        """Give claims back."""
        for claim in claims:
            async with self._transaction() as connection:
                if await self._locked(connection, claim):
                    await self._value(connection, sql.UNCOUNT, claim.number)
                    await self._go_on(connection, claim)

    async def done(self, claim: Claim, state: LetterState, writes: Sequence[Write] = ()) -> bool:
        """Note that a postback is handled, and carry out `writes`."""
        async with self._transaction(may_fail=bool(writes)) as connection:
            if not await self._locked(connection, claim):
                return False
            await self._write(connection, writes)
            (row,) = await self._fetch(connection, sql.END, claim.number, str(state))
            if state is LetterState.HANDLED:
                lane = lane_of(claim.postback)
                await self._value(connection, sql.LEARN, lane, row["modified"], row["deletes"])
            await self._go_on(connection, claim)
        return True

    async def failed(self, claim: Claim, error: str, again_in: float | None) -> None:
        """Note that a handler failed."""
        state = LetterState.DEAD if again_in is None else LetterState.WAITING
        async with self._transaction() as connection:
            if await self._locked(connection, claim):
                await self._value(connection, sql.FAILED, claim.number, error.replace("\0", "?"), str(state))
                await self._go_on(connection, claim, again_in or 0)

    async def letters(self, state: LetterState | None = None, *, after: int = 0, limit: int = 1000) -> Sequence[Letter]:
        """What is kept."""
        async with self._transaction() as connection:
            rows = await self._fetch(connection, sql.LETTERS, after, state and str(state), limit)
        return [letter_of(row) for row in rows]

    async def replay(self, number: int) -> bool:
        """Have a postback handled again."""
        async with self._transaction() as connection:
            lane = await self._value(connection, sql.LANE, number)
            if lane is None:
                return False
            await self._value(connection, sql.LOCK_LANE, lane)
            await self._value(connection, sql.REPLAY, number)
            await self._value(connection, sql.LINE_UP_AGAIN, lane, number)
        return True

    async def discard(self, number: int) -> bool:
        """Give a dead postback up."""
        async with self._transaction() as connection:
            return bool(await self._value(connection, sql.DISCARD, number))

    def reopen(self) -> None:
        """Be usable again after `aclose`; a pool of yours has to be open."""
        if self._database.is_closed:
            self._database = self._new_database()

    async def aclose(self) -> None:
        """Close the connections, in 10 seconds at most; a pool of yours is left open. A second close is harmless."""
        await self._database.aclose()

    def __repr__(self) -> str:
        return f"PostgresInbox({self._place!r})"

    # --- in a transaction

    async def _is_news(self, connection: Any, row: Row) -> bool:
        if row.reconciled:
            return await self._was_missed(connection, row)
        return not await self._was_told(connection, row)

    async def _was_missed(self, connection: Any, row: Row) -> bool:
        before = timedelta(seconds=LISTING_SECONDS)
        (known,) = await self._fetch(connection, sql.KNOWN, row.lane, row.modified, before)
        return was_missed(row, row.modified, known)

    async def _was_told(self, connection: Any, row: Row) -> bool:
        listed = await self._fetch(connection, sql.LISTED, row.lane)
        return was_told(row, [each["content"] for each in listed])

    async def _locked(self, connection: Any, claim: Claim) -> bool:
        """Whether a claim still stands; if so, its lane is nobody else's until the transaction ends."""
        lane = lane_of(claim.postback)
        return bool(await self._value(connection, sql.LOCK, lane, claim.number, claim.token))

    async def _go_on(self, connection: Any, claim: Claim, pause: float = 0) -> None:
        """Give a claim's lane free for what is next in it, after a pause in seconds."""
        await self._value(connection, sql.NEXT, lane_of(claim.postback), timedelta(seconds=pause))

    async def _write(self, connection: Any, writes: Sequence[Write]) -> None:
        """What a handler wants written."""
        for statement, values in writes:
            try:
                await connection.fetch(statement, *values)
            except self._database.driver.InterfaceError as error:
                if connection.is_closed():
                    raise
                raise ValueError(str(error)) from None  # values that do not fit
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
                await self._value(connection, sql.FORGET_LETTERS, self._keep)
                await self._value(connection, sql.FORGET_LANES, self._keep)
            self._pruned = monotonic()

    # --- the database

    @asynccontextmanager
    async def _transaction(self, *, may_fail: bool = False) -> AsyncIterator[Any]:
        """A connection, in a transaction of its own.

        Args:
            may_fail: whether statements that are not ours run in it: what is wrong with them is raised as it is.
        """
        async with (
            self._in_plain_words(may_fail),
            (await self._opened()).acquire() as connection,
            _read_committed(connection),
        ):
            yield connection

    async def _opened(self) -> Any:
        """The pool, once the tables are there."""
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
            await self._value(connection, sql.LOCK_CREATION)  # others may be making them right now
            if not await self._value(connection, sql.EXISTS):
                await connection.execute(sql.CREATE.replace("@", self._table))

    @asynccontextmanager
    async def _in_plain_words(self, may_fail: bool) -> AsyncIterator[None]:
        driver = self._database.driver
        try:
            yield
        except (driver.PostgresError, driver.InterfaceError, driver.InternalClientError, OSError) as error:
            if may_fail and not self._is_trouble(error):
                raise
            raise InboxError(self._place, in_one_line(error)) from error

    def _is_trouble(self, error: Exception) -> bool:
        """Whether something is wrong with the database or the way to it, and not only with a statement."""
        driver = self._database.driver
        troubles = (
            *(driver.PostgresConnectionError, driver.InsufficientResourcesError, driver.TransactionRollbackError),
            *(driver.OperatorInterventionError, driver.PostgresSystemError, driver.InternalServerError),
        )
        statements = (driver.QueryCanceledError, TimeoutError)
        ways = (driver.InterfaceError, driver.InternalClientError, OSError)
        return isinstance(error, (*troubles, *ways)) and not isinstance(error, statements)


def _read_committed(connection: Any) -> Any:
    """A transaction each of whose statements sees what was committed before it, whatever the database's default."""
    return connection.transaction(isolation="read_committed")


def _checked(dsn: str) -> str:
    if not is_address(dsn):
        raise InvalidRequestError("database: must be an address that begins with postgresql://")
    return dsn
