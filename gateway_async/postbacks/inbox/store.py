"""`SqliteInbox` and `PostgresInbox`: an inbox in a file, where concurrent postbacks share commits, or in a database."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from operator import index
from os import PathLike
from secrets import token_hex
from time import time
from typing import Any, Final

import attrs
import msgspec

from gateway_async._arguments import retention_problems
from gateway_async._secrets import Secret
from gateway_async._storage.backends import SqliteBackend
from gateway_async._storage.postgres import Database, check_dsn
from gateway_async._storage.sql import PooledStore, QueuedStore, S, SqlStore, Steps, run_on_postgres
from gateway_async._storage.sqlite import FileFormat, check_path, seal_path
from gateway_async.errors import InboxError
from gateway_async.models.postbacks import Postback
from gateway_async.postbacks.inbox import _operations as operations
from gateway_async.postbacks.inbox._handler_statements import execute_statements
from gateway_async.postbacks.inbox._mapping import PostbackRow, row_of
from gateway_async.postbacks.inbox.protocol import Claim, PostbackState, Statement, StoredPostback
from gateway_async.telemetry.health import InboxHealth

_SCHEMA: Final = """
CREATE TABLE @ (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key text NOT NULL UNIQUE,
    ordering_key text NOT NULL,
    deletes boolean NOT NULL,
    modified timestamptz,
    content text NOT NULL,
    state text NOT NULL DEFAULT 'waiting',
    received_at timestamptz NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    error text NOT NULL DEFAULT '',
    ended_at timestamptz
);
CREATE INDEX ON @ (ordering_key, state, number);
CREATE INDEX ON @ (state, number);
CREATE INDEX ON @ (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX ON @ (ordering_key) WHERE :is_caught_up;
CREATE TABLE @_keys (
    ordering_key text PRIMARY KEY,
    head bigint,
    due_at timestamptz NOT NULL,
    token text,
    newest timestamptz,
    deleted timestamptz,
    ended_at timestamptz
):without_rowid;
CREATE INDEX ON @_keys (due_at) WHERE head IS NOT NULL;
CREATE INDEX ON @_keys (ended_at) WHERE head IS NULL;
"""
_FORMAT: Final = FileFormat(
    kind="an inbox",
    error=InboxError,
    application_id=0x67774931,  # "gwI1"
    version=2,
    schema=_SCHEMA,
    marks=(
        (":is_caught_up", """instr(content, '"caught_up":true')"""),
        (":never", "1e12"),
        (":without_rowid", " WITHOUT ROWID"),
        ("@", "postback_inbox"),
    ),
    can_be_shared=True,
)
_POSTGRES_MARKS: Final = (
    (":is_caught_up", """content LIKE '%"caught_up":true%'"""),
    (":never", "'infinity'"),
    (":without_rowid", ""),
    (":now", "now()"),
)
_CONNECTIONS: Final = 10
_HIGHEST: Final = 2**63 - 1

# One statement and one encoding for all rows: each further one would make the thread wait for the interpreter's lock.
_STORE_ROWS: Final = """
INSERT INTO @ (key, ordering_key, deletes, modified, content, received_at)
SELECT given.*, :now
FROM jsonb_to_recordset($1::jsonb) AS given (key text, ordering_key text, deletes bool, modified float, content text)
WHERE TRUE ON CONFLICT (key) DO NOTHING
"""
_NEW_KEYS: Final = "SELECT json_group_array(key) FROM @ WHERE number > $1"
_LAST_NUMBER: Final = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'postback_inbox'"
# NOT INDEXED: search by number. Otherwise SQLite would scan the whole inbox by ordering key to group the rows.
_ENQUEUE: Final = """
INSERT INTO @_keys (ordering_key, head, due_at)
SELECT ordering_key, min(number), min(received_at)
FROM @ NOT INDEXED WHERE number > $1 GROUP BY ordering_key
ON CONFLICT (ordering_key) DO UPDATE SET head = excluded.head, due_at = excluded.due_at WHERE head IS NULL
"""
_STORE_ROW: Final = """
WITH new AS (
    INSERT INTO @ (key, ordering_key, deletes, modified, content, received_at)
    VALUES ($1, $2, $3, $4, $5, :now)
    ON CONFLICT (key) DO NOTHING
    RETURNING number, received_at
)
INSERT INTO @_keys AS keys (ordering_key, head, due_at) SELECT $2, number, received_at FROM new
ON CONFLICT (ordering_key) DO UPDATE
SET head = coalesce(keys.head, excluded.head),
    due_at = CASE WHEN keys.head IS NULL THEN excluded.due_at ELSE keys.due_at END
RETURNING 1
"""


def _storable(number: int) -> int:
    """The nearest number that a database can store; another one would fail the other tasks of a transaction."""
    return max(0, min(index(number), _HIGHEST))


class _SqlInbox(SqlStore[S]):
    """The base of `SqliteInbox` and `PostgresInbox`.

    Args:
        store: runs the operations.
        insert: stores new postbacks; returns the keys of those that were not known.
    """

    def __init__(self, store: S, insert: Callable[[Sequence[PostbackRow]], Steps[set[str]]]) -> None:
        super().__init__(store)
        self._store_rows = partial(operations.store, insert)

    async def store(self, postback: Postback[Any]) -> bool:
        """Store a postback once; it is on disk when this returns."""
        return await self._store.run_merged(self._store_rows, row_of(postback))

    async def claim(self, limit: int, seconds: float) -> Sequence[Claim]:
        """Claim due postbacks."""
        return await self._store.run(operations.claim, limit, seconds, token_hex(8))

    async def extend(self, claims: Sequence[Claim], seconds: float) -> None:
        """Extend claims."""
        await self._store.run(operations.extend, claims, seconds)

    async def release(self, claims: Sequence[Claim]) -> None:
        """Release claims without counting the attempt."""
        for claim in claims:
            await self._store.run(operations.release, claim)

    async def fail(self, claim: Claim, error: str, retry_in: float | None) -> None:
        """Record the failure of a handler."""
        await self._store.run(operations.fail_claim, claim, error, retry_in)

    async def list(
        self, state: PostbackState | None = None, *, after: int = 0, limit: int = 1000
    ) -> Sequence[StoredPostback]:
        """List stored postbacks."""
        return await self._store.read(operations.list_postbacks, state, _storable(after), _storable(limit))

    async def health(self) -> InboxHealth:
        """Count what waits, is in progress and is dead."""
        return await self._store.read(operations.read_health)

    async def replay(self, number: int) -> bool:
        """Make a postback waiting again."""
        return await self._store.run(operations.replay, _storable(number))

    async def discard(self, number: int) -> bool:
        """Give up a dead postback."""
        return await self._store.run(operations.discard, _storable(number))

    def reopen(self) -> None:
        """Make the inbox usable again after `aclose`; the next use opens it, and a pool of yours has to be open."""
        self._store.reopen()


class SqliteInbox(_SqlInbox[QueuedStore]):
    """Inbox in an SQLite file, for any number of processes on one machine.

        receiver = PostbackReceiver(username="…", password="…", inbox=SqliteInbox("inbox.db"))

    The file is opened, or created, on first use. A postback is on the disk (WAL, `synchronous=FULL`) before it is
    acknowledged, so it survives `kill -9` and a power failure. Do not place the file on a network share: SQLite's locks
    do not work there. The inbox runs on asyncio and on trio.

    The file holds the records exactly as they were received. It may also contain tables of your own, and
    `Postback.execute` writes to them. Amounts and times are written as text (`"12.50"`, ISO 8601 in UTC). Foreign keys
    are not enforced. Keep the statements of a handler short, because they block every other use of the file.

    Args:
        path: the file; the files `-wal` and `-shm` beside it belong to it. Its folder must exist.
        keep_days: how many days postbacks are kept after they were handled or discarded. During that time, repeated
            deliveries and older states of a record are recognized. A gateway may repeat for 4 days (5 attempts, one
            day apart). Choose more than that, and more than `catch_up` looks back. Waiting and dead postbacks are
            always kept.
        shared: whether the file may be a database of your own program. The inbox then creates its two tables beside
            yours (`postback_inbox`, `postback_inbox_keys`) and switches the file to a write-ahead log.
        now: returns the current time, in seconds since 1970.

    Raises:
        InvalidRequestError: an argument is invalid.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        keep_days: float = 30.0,
        shared: bool = False,
        now: Callable[[], float] = time,
    ) -> None:
        given = seal_path(path)
        del path  # an error's traceback shows local variables
        problems = retention_problems(keep_days)
        if not callable(now):
            problems.append("now: must be a function that returns seconds since 1970")
        file = check_path(given, problems)
        prune = partial(operations.prune, timedelta(days=keep_days))
        open_file = partial(SqliteBackend, file, _FORMAT, prune=prune, shared=shared, now=now)
        super().__init__(QueuedStore(str(file), open_file, InboxError), _insert_together)

    async def complete(self, claim: Claim, state: PostbackState, statements: Sequence[Statement] = ()) -> bool:
        """Mark a postback as handled, and execute `statements` in the same transaction."""
        execute = partial(execute_statements, statements=statements) if statements else None
        return await self._store.run(operations.complete, claim, state, execute)


class PostgresInbox(_SqlInbox[PooledStore]):
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
        given = check_dsn(dsn, table, retention_problems(keep_days))
        database = Database(
            "PostgresInbox",
            given,
            InboxError,
            table=table,
            schema=_SCHEMA,
            marks=_POSTGRES_MARKS,
            create=create,
            connections=_CONNECTIONS,
        )
        prune = partial(operations.prune, timedelta(days=keep_days))
        super().__init__(PooledStore(database, prune), _insert_singly)

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


def _insert_together(rows: Sequence[PostbackRow]) -> Steps[set[str]]:
    """Store postbacks, and return the keys of the new ones."""
    ((last,),) = yield _LAST_NUMBER, ()
    values = [{**attrs.asdict(row), "modified": row.modified and row.modified.timestamp()} for row in rows]
    yield _STORE_ROWS, (values,)
    yield _ENQUEUE, (last,)
    ((keys,),) = yield _NEW_KEYS, (last,)
    return set(msgspec.json.decode(keys))


def _insert_singly(rows: Sequence[PostbackRow]) -> Steps[set[str]]:
    """Store postbacks, and return the keys of the new ones."""
    new: set[str] = set()
    for row in rows:
        if (yield _STORE_ROW, (row.key, row.ordering_key, row.deletes, row.modified, row.content)):
            new.add(row.key)
    return new
