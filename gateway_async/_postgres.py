"""What the package's stores in PostgreSQL have in common: the driver, the address, a pool, plain words for trouble."""

import asyncio
from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import Any, Final
from urllib.parse import urlsplit

from gateway_async._secrets import mask_text

__all__ = ["COMMAND_SECONDS", "Database", "in_one_line", "is_address", "without_password"]

COMMAND_SECONDS: Final = 30.0
_CONNECTING_SECONDS: Final = 10.0
_CLOSING_SECONDS: Final = 10.0


class Database:
    """A pool of connections, opened when it is first needed, and the tables with it.

    Args:
        who: needs it, for messages.
        given: the address of a database, or an asyncpg pool, which is left open.
        connections: at most.
        make_tables: makes what is not there, on a connection.

    Raises:
        ModuleNotFoundError: asyncpg is missing.
    """

    def __init__(
        self, who: str, given: Any, *, connections: int, make_tables: Callable[[Any], Awaitable[None]]
    ) -> None:
        self.driver = _load_driver(who)
        self.is_closed = False
        self._who = who
        self._dsn = given if isinstance(given, str) else None
        self._pool: Any = None if self._dsn else given
        self._connections = connections
        self._make_tables = make_tables
        self._opening = asyncio.Lock()
        self._is_ready = False

    async def pool(self) -> Any:
        """The pool, once the tables are there."""
        if not self._is_ready:
            async with self._opening:
                await self._open()
        return self._pool

    async def aclose(self) -> None:
        """Close the connections, in 10 seconds at most; a pool that was given is left open."""
        self.is_closed = True
        pool = self._pool
        if self._dsn and pool is not None:
            self._pool = None
            try:
                await asyncio.wait_for(pool.close(), _CLOSING_SECONDS)
            except (TimeoutError, OSError):
                pool.terminate()

    async def _open(self) -> None:
        if self._dsn and not self._pool:
            self._pool = await self.driver.create_pool(
                self._dsn,
                min_size=0,
                max_size=self._connections,
                timeout=_CONNECTING_SECONDS,
                command_timeout=COMMAND_SECONDS,
            )
        if not self._is_ready:
            async with self._pool.acquire() as connection:
                await self._make_tables(connection)
            self._is_ready = True

    def check_asyncio(self) -> None:
        """Refuse another event loop, as asyncpg would, in other words.

        Raises:
            RuntimeError: it is trio's.
        """
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            raise RuntimeError(f"{self._who} needs asyncio") from None


def is_address(dsn: object) -> bool:
    """Whether it is the address of a database."""
    return isinstance(dsn, str) and dsn.startswith(("postgresql://", "postgres://"))


def without_password(dsn: str) -> str:
    """An address that may be shown."""
    parts = urlsplit(dsn)
    return f"postgresql://{parts.netloc.rpartition('@')[2]}{parts.path}"


def in_one_line(error: Exception) -> str:
    """What is wrong, masked."""
    said = mask_text(" ".join(str(error).split()))
    return said or ("it does not answer" if isinstance(error, TimeoutError) else type(error).__name__)


def _load_driver(who: str) -> Any:
    try:
        return import_module("asyncpg")
    except ModuleNotFoundError as missing:
        msg = f"{who} needs an extra: pip install 'gateway-async[postgres]' ({missing.name} is missing)"
        raise ModuleNotFoundError(msg, name=missing.name) from None
