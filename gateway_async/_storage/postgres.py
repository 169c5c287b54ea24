"""Shared parts of the PostgreSQL stores: address, pool, tables, transactions and error texts."""

import asyncio
import os
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final, Self
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit

import attrs

from gateway_async._extras import import_extra
from gateway_async._secrets import Secret, mask_text, strip_traceback
from gateway_async._storage.dialect import CREATED_TABLES, Marks, replace_marks, without_nul
from gateway_async.errors import InvalidRequestError

COMMAND_SECONDS: Final = 30.0
_CONNECTING_SECONDS: Final = 10.0
_CLOSING_SECONDS: Final = 10.0
_TABLE_NAME: Final = re.compile(r"([a-z_][a-z0-9_]{0,49}\.)?[a-z_][a-z0-9_]{0,49}", re.ASCII)
_ENCODING: Final = "UTF8"
"""The encoding of a database in which every text can be stored."""
_LOCK_CREATION: Final = "SELECT pg_advisory_xact_lock(hashtextextended('gateway_async @', 0))"


_FORM: Final = "invalid address (expected postgresql://…, with special characters percent-encoded)"
_SCHEMES: Final = ("postgresql", "postgres")
_HOST_AND_PORT: Final = re.compile(r"(\[[0-9a-fA-F:.%]+\]|[^:\[\]]+)?(:(?P<port>[0-9]{1,5}))?")
_PORTS: Final = range(1, 65_536)


@attrs.frozen(repr=False)
class Address:
    """The address of a PostgreSQL database.

    Attributes:
        shown: the address without its user, password and options.
    """

    _dsn: Secret
    _password: Secret | None
    shown: str

    @classmethod
    def parse(cls, dsn: str | Secret) -> "tuple[Self | None, str]":
        """Read `postgresql://user:password@host:port/database?option=value`, as asyncpg takes it.

        Returns the address, and "" or what is wrong with it. No error is raised, because its traceback would show the
        password.
        """
        text = Secret(dsn).reveal()
        try:
            parts = urlsplit(text)
            options = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=True) if parts.query else []
        except ValueError:
            return None, _FORM
        login, at, hosts = parts.netloc.rpartition("@")
        # A password whose special characters are not encoded would be taken for a part of the host or the database.
        is_whole = (
            text.isprintable() and not parts.fragment and "@" not in login + parts.path and (at or "@" not in text)
        )
        if parts.scheme not in _SCHEMES or not is_whole or not all(map(_is_host, hosts.split(",") if hosts else ())):
            return None, _FORM
        user, _, password = login.partition(":")
        passwords = [unquote(password)] if password else [value for name, value in options if name == "password"]
        query = urlencode([(name, value) for name, value in options if name != "password"])
        plain = urlunsplit((parts.scheme, f"{user}{at}{hosts}", parts.path, query, ""))
        shown = f"postgresql://{hosts}{parts.path}"
        return cls(Secret(plain), Secret(passwords[-1]) if passwords else None, shown), ""

    async def connect(self, driver: Any, **options: Any) -> Any:
        """Open a connection.

        The frames of the driver contain the password. Every error is therefore detached from them, also a cancellation.

        Raises:
            Exception: an error of the driver, or an `OSError`.
        """
        # As a function, because a connection keeps it; the environment's password would be kept as text.
        password = self._password or Secret(os.environ.get("PGPASSWORD", ""))
        known = password.reveal if password.reveal() else None
        try:
            return await driver.connect(self._dsn.reveal(), password=known, **options)
        except BaseException as error:  # noqa: BLE001
            is_setting = isinstance(error, ValueError) and not isinstance(error, driver.InterfaceError)
            failure = OSError(f"invalid setting: {error}") if is_setting else strip_traceback(error)
        try:
            raise failure
        finally:
            del failure  # its traceback refers to this frame

    def __repr__(self) -> str:
        return f"<Address {self.shown}>"


def _is_host(text: str) -> bool:
    """Whether a text is a host, with or without a port."""
    found = _HOST_AND_PORT.fullmatch(text)
    return bool(text) and found is not None and (found["port"] is None or int(found["port"]) in _PORTS)


@attrs.define(eq=False, repr=False)
class Database:
    """A lazily opened pool of connections, and the tables of a store.

    Args:
        user: the name of the class that uses it, for messages.
        given: the `Address` of a database, or an asyncpg pool, which is left open.
        error: the error of a database that cannot be used, made of its location and the reason.
        table: the name of the first table, which replaces `@` in all statements.
        schema: the statements that create the tables. They run if one of the tables is missing.
        marks: other marks in the statements.
        create: whether missing tables are created.
        part: the part of the tables that is used, for messages.
        connections: maximum number of connections of the pool.
        acquire_seconds: maximum seconds to wait for a free connection; None waits without a limit.

    Raises:
        ModuleNotFoundError: asyncpg is missing.
    """

    user: str
    given: Any
    error: Callable[[str, str], Exception]
    table: str
    schema: str
    marks: Marks
    create: bool = True
    part: str = ""
    connections: int = 1
    acquire_seconds: float | None = None
    driver: Any = attrs.field(init=False)
    is_closed: bool = attrs.field(init=False, default=False)
    _pool: Any = attrs.field(init=False)
    _opening: asyncio.Lock = attrs.field(init=False, factory=asyncio.Lock)
    _is_ready: bool = attrs.field(init=False, default=False)
    _event_loop: asyncio.AbstractEventLoop | None = attrs.field(init=False, default=None)

    def __attrs_post_init__(self) -> None:
        self.driver = import_extra("asyncpg", extra="postgres", user=self.user)
        self._pool = None if isinstance(self.given, Address) else self.given

    @property
    def location(self) -> str:
        """The address, without a password, and the table."""
        address = self.given.shown if isinstance(self.given, Address) else "of a PostgreSQL pool"
        return f"{address} ({self.table}{self.part})"

    def failure(self, reason: str) -> Exception:
        """The error of a database that cannot be used."""
        return self.error(self.location, reason)

    @asynccontextmanager
    async def transaction(self, *, may_fail: bool = False) -> AsyncIterator[Any]:
        """Open a connection with a READ COMMITTED transaction of its own.

        Args:
            may_fail: whether a handler's statements run in it; their errors are raised unchanged.

        Raises:
            Exception: an `error`: the database cannot be used.
            RuntimeError: the current event loop is trio's.
        """
        with self.describe_errors(may_fail=may_fail):
            async with (
                (await self._open_pool()).acquire(timeout=self.acquire_seconds) as connection,
                read_committed(connection),
            ):
                yield connection

    async def connect(self) -> Any:
        """Open a connection outside of the pool, and create missing tables."""
        connection = await self.given.connect(self.driver, timeout=_CONNECTING_SECONDS, command_timeout=COMMAND_SECONDS)
        try:
            await self._create_tables(connection)
        except BaseException:
            connection.terminate()
            raise
        return connection

    @contextmanager
    def describe_errors(self, *, may_fail: bool = False) -> Iterator[None]:
        """Raise errors of the driver as this store's, without the driver's frames.

        Args:
            may_fail: whether errors of a statement are raised unchanged.
        """
        driver = self.driver
        try:
            yield
        except (driver.PostgresError, driver.InterfaceError, driver.InternalClientError, OSError) as error:
            if may_fail and not self._is_connection_error(error):
                raise
            failure = self.failure(_in_one_line(error))
        else:
            return
        try:
            raise failure
        finally:
            failure.__context__ = None  # Python sets it, because the block's error is still handled
            del failure  # its traceback refers to this frame

    async def fetch(self, connection: Any, statement: str, *values: Any) -> Sequence[Mapping[str, Any]]:
        """Execute a statement and return its rows."""
        rows: Sequence[Mapping[str, Any]] = await connection.fetch(self._named(statement), *map(without_nul, values))
        return rows

    def _named(self, statement: str) -> str:
        return replace_marks(statement, (*self.marks, ("@", self.table)))

    async def aclose(self) -> None:
        """Close the connections, within 10 seconds.

        A pool that was given is left open.

        Raises:
            Exception: an `error`: the connections belong to another event loop.
        """
        if self._event_loop is not None and not self.is_closed:
            self._check_event_loop(asyncio.get_running_loop())
        self.is_closed = True
        pool = self._pool
        if isinstance(self.given, Address) and pool is not None:
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
            raise RuntimeError(f"{self.user} needs asyncio") from None
        if self.is_closed:
            raise self.failure("it is closed")
        self._event_loop = self._event_loop or here
        self._check_event_loop(here)
        if not self._is_ready:
            async with self._opening:
                await self._open()
        return self._pool

    def _check_event_loop(self, here: asyncio.AbstractEventLoop) -> None:
        if self._event_loop is not here:
            raise self.failure("it belongs to another event loop (expected one for each loop)")

    async def _open(self) -> None:
        if self._pool is None:
            self._pool = await self.driver.create_pool(
                min_size=0,
                max_size=self.connections,
                timeout=_CONNECTING_SECONDS,
                command_timeout=COMMAND_SECONDS,
                connect=self._connect_for_pool,
            )
        if not self._is_ready:
            async with self._pool.acquire() as connection:
                await self._create_tables(connection)
            self._is_ready = True

    async def _connect_for_pool(self, _no_dsn: None, **options: Any) -> Any:
        return await self.given.connect(self.driver, **options)

    async def _create_tables(self, connection: Any) -> None:
        encoding = connection.get_settings().server_encoding
        if encoding != _ENCODING:
            raise self.failure(f"the database has the encoding {encoding} (expected {_ENCODING})")
        if await self._tables_exist(connection):
            return
        if not self.create:
            raise self.failure("there is no such table")
        async with read_committed(connection):
            await self.fetch(connection, _LOCK_CREATION)  # another process may be creating them
            if not await self._tables_exist(connection):
                await connection.execute(self._named(self.schema))

    async def _tables_exist(self, connection: Any) -> bool:
        """Whether the tables exist.

        The query reads `pg_class`, so that a transaction that waited for the lock also sees new tables.
        """
        tables = CREATED_TABLES.findall(self._named(self.schema))
        found = ", ".join(f"to_regclass('{table}')" for table in tables)
        query = f"SELECT count(*) = {len(tables)} FROM pg_class WHERE oid IN ({found})"  # noqa: S608
        ((exists,),) = await self.fetch(connection, query)
        return bool(exists)

    def needs_new_connection(self, error: Exception) -> bool:
        """Whether the server did not answer, or became a standby that rejects writes.

        After other errors a connection is kept, because its lock shows other processes that this one is alive.
        """
        driver = self.driver
        client_errors = (driver.InterfaceError, driver.InternalClientError, OSError)
        return isinstance(error, (*client_errors, driver.ReadOnlySQLTransactionError))

    def _is_connection_error(self, error: Exception) -> bool:
        """Whether the database or its connection failed."""
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


def check_dsn(dsn: Any, table: object, problems: Sequence[str] = ()) -> Any:
    """Unseal the address in a secret; an asyncpg pool given instead is returned as it is.

    Args:
        dsn: the secret or the pool.
        table: the name of the table, with or without a schema.
        problems: problems with other arguments, to be reported together.

    Raises:
        InvalidRequestError: there are problems.
    """
    address, problem = Address.parse(dsn) if isinstance(dsn, Secret) else (dsn, "")
    problems = [*([f"dsn: {problem}"] if problem else ()), *problems]
    if not isinstance(table, str) or not _TABLE_NAME.fullmatch(table):
        problems.append("table: invalid name (expected lower-case letters, digits and _, or schema.table)")
    if problems:
        raise InvalidRequestError(problems)
    return address


def _in_one_line(error: Exception) -> str:
    """An error's text in one line, masked."""
    text = mask_text(" ".join(str(error).split()))
    return text or ("no response" if isinstance(error, TimeoutError) else type(error).__name__)
