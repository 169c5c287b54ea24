"""Shared parts of the PostgreSQL stores: address, pool, tables, transactions and error texts."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final
from urllib.parse import urlsplit

import attrs

from gateway_async._extras import import_extra
from gateway_async._secrets import mask_text

__all__ = ["COMMAND_SECONDS", "Database", "is_address", "is_table_name", "read_committed", "without_password"]

COMMAND_SECONDS: Final = 30.0
_CONNECTING_SECONDS: Final = 10.0
_CLOSING_SECONDS: Final = 10.0
_TABLE_NAME: Final = re.compile(r"([a-z_][a-z0-9_]{0,49}\.)?[a-z_][a-z0-9_]{0,49}", re.ASCII)
_ENCODING: Final = "UTF8"
"""The encoding of a database in which every text can be stored."""
_LOCK_CREATION: Final = "SELECT pg_advisory_xact_lock(hashtextextended('gateway_async @', 0))"


@attrs.define(eq=False, repr=False)  # its address may have a password
class Database:
    """A lazily opened pool of connections, and its tables.

    Args:
        who: the name of the class that uses it, for messages.
        given: the address of a database, or an asyncpg pool, which is left open.
        table: the name of the first table, which replaces `@` in all statements.
        schema: the statements that create the tables.
        created_table: one of the tables; if it exists, all exist.
        error: creates the error of a database that cannot be used.
        create: whether missing tables are created.
        connections: maximum number of connections of the pool.
        acquire_seconds: maximum seconds to wait for a free connection; None waits without a limit.

    Raises:
        ModuleNotFoundError: asyncpg is missing.
    """

    _who: str = attrs.field(alias="who")
    _given: Any = attrs.field(alias="given")
    _table: str = attrs.field(alias="table")
    _schema: str = attrs.field(alias="schema")
    _created_table: str = attrs.field(alias="created_table")
    _error: Callable[[str], Exception] = attrs.field(alias="error")
    _create: bool = attrs.field(alias="create", default=True)
    _connections: int = attrs.field(alias="connections", default=1)
    _acquire_seconds: float | None = attrs.field(alias="acquire_seconds", default=None)
    driver: Any = attrs.field(init=False)
    is_closed: bool = attrs.field(init=False, default=False)
    _pool: Any = attrs.field(init=False)
    _opening: asyncio.Lock = attrs.field(init=False, factory=asyncio.Lock)
    _is_ready: bool = attrs.field(init=False, default=False)
    _event_loop: asyncio.AbstractEventLoop | None = attrs.field(init=False, default=None)

    def __attrs_post_init__(self) -> None:
        self.driver = import_extra("asyncpg", extra="postgres", user=self._who)
        self._pool = None if isinstance(self._given, str) else self._given

    @asynccontextmanager
    async def transaction(self, *, may_fail: bool = False) -> AsyncIterator[Any]:
        """Open a connection with a READ COMMITTED transaction of its own.

        Args:
            may_fail: whether a handler's statements run in it; their errors are raised unchanged.

        Raises:
            Exception: the result of `error`: the database cannot be used.
            RuntimeError: the current event loop is trio's.
        """
        with self.describe_errors(may_fail=may_fail):
            async with (
                (await self._open_pool()).acquire(timeout=self._acquire_seconds) as connection,
                read_committed(connection),
            ):
                yield connection

    async def connect(self) -> Any:
        """Open a connection outside of the pool, and create missing tables."""
        connection = await self.driver.connect(
            self._given, timeout=_CONNECTING_SECONDS, command_timeout=COMMAND_SECONDS
        )
        try:
            await self._create_tables(connection)
        except BaseException:
            connection.terminate()
            raise
        return connection

    @contextmanager
    def describe_errors(self, *, may_fail: bool = False) -> Iterator[None]:
        """Raise errors of the driver as errors of this store.

        Args:
            may_fail: whether errors of a statement are raised unchanged.
        """
        driver = self.driver
        try:
            yield
        except (driver.PostgresError, driver.InterfaceError, driver.InternalClientError, OSError) as error:
            if may_fail and not self._is_connection_error(error):
                raise
            raise self._error(_in_one_line(error)) from error

    async def fetch(self, connection: Any, statement: str, *values: Any) -> Sequence[Mapping[str, Any]]:
        """Execute a statement and return its rows."""
        rows: Sequence[Mapping[str, Any]] = await connection.fetch(statement.replace("@", self._table), *values)
        return rows

    async def execute_many(self, connection: Any, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        """Execute a statement once for each row of values."""
        await connection.executemany(statement.replace("@", self._table), rows)

    async def aclose(self) -> None:
        """Close the connections, within 10 seconds.

        A pool that was given is left open.

        Raises:
            Exception: the result of `error`: the connections belong to another event loop.
        """
        if self._event_loop is not None and not self.is_closed:
            self._check_event_loop(asyncio.get_running_loop())
        self.is_closed = True
        pool = self._pool
        if isinstance(self._given, str) and pool is not None:
            self._pool = None
            try:
                await asyncio.wait_for(pool.close(), _CLOSING_SECONDS)
            except (TimeoutError, OSError):
                pool.terminate()

    async def _open_pool(self) -> Any:
        """Return the pool; open it and create missing tables on first use."""
        try:
            here = asyncio.get_running_loop()
        except RuntimeError:
            raise RuntimeError(f"{self._who} needs asyncio") from None
        if self.is_closed:
            raise self._error("it is closed")
        self._event_loop = self._event_loop or here
        self._check_event_loop(here)
        if not self._is_ready:
            async with self._opening:
                await self._open()
        return self._pool

    def _check_event_loop(self, here: asyncio.AbstractEventLoop) -> None:
        if self._event_loop is not here:
            raise self._error("it belongs to another event loop (expected one for each loop)")

    async def _open(self) -> None:
        if self._pool is None:
            self._pool = await self.driver.create_pool(
                self._given,
                min_size=0,
                max_size=self._connections,
                timeout=_CONNECTING_SECONDS,
                command_timeout=COMMAND_SECONDS,
            )
        if not self._is_ready:
            async with self._pool.acquire() as connection:
                await self._create_tables(connection)
            self._is_ready = True

    async def _create_tables(self, connection: Any) -> None:
        encoding = connection.get_settings().server_encoding
        if encoding != _ENCODING:
            raise self._error(f"the database has the encoding {encoding} (expected {_ENCODING})")
        if await self._tables_exist(connection):
            return
        if not self._create:
            raise self._error("there is no such table")
        async with read_committed(connection):
            await self.fetch(connection, _LOCK_CREATION)  # another process may be creating them
            if not await self._tables_exist(connection):
                await connection.execute(self._schema.replace("@", self._table))

    async def _tables_exist(self, connection: Any) -> bool:
        """Return whether the tables exist.

        The query reads `pg_class`, so that a transaction that waited for the lock also sees new tables.
        """
        query = f"SELECT count(*) > 0 FROM pg_class WHERE oid = to_regclass('{self._created_table}')"  # noqa: S608
        ((exists,),) = await self.fetch(connection, query)
        return bool(exists)

    def _is_connection_error(self, error: Exception) -> bool:
        """Return whether the database or its connection failed."""
        driver = self.driver
        server_errors = (
            *(driver.PostgresConnectionError, driver.InsufficientResourcesError, driver.TransactionRollbackError),
            *(driver.OperatorInterventionError, driver.PostgresSystemError, driver.InternalServerError),
        )
        statements = (driver.QueryCanceledError, TimeoutError)
        client_errors = (driver.InterfaceError, driver.InternalClientError, OSError)
        return isinstance(error, (*server_errors, *client_errors)) and not isinstance(error, statements)


def read_committed(connection: Any) -> Any:
    """Start a transaction with READ COMMITTED isolation, whatever the database's default is."""
    return connection.transaction(isolation="read_committed")


def is_address(dsn: object) -> bool:
    """Return whether `dsn` is the address of a PostgreSQL database."""
    return isinstance(dsn, str) and dsn.startswith(("postgresql://", "postgres://"))


def is_table_name(table: object) -> bool:
    """Return whether `table` is a valid name, with or without a schema."""
    return isinstance(table, str) and _TABLE_NAME.fullmatch(table) is not None


def without_password(dsn: str) -> str:
    """Return an address without its user and password, for display."""
    parts = urlsplit(dsn)
    return f"postgresql://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _in_one_line(error: Exception) -> str:
    """Return an error's text in one line, masked."""
    text = mask_text(" ".join(str(error).split()))
    return text or ("no response" if isinstance(error, TimeoutError) else type(error).__name__)
