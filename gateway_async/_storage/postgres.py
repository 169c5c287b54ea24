"""Shared parts of the PostgreSQL stores: driver, address, pool and error texts."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final
from urllib.parse import urlsplit

from gateway_async._extras import import_extra
from gateway_async._secrets import mask_text

__all__ = ["COMMAND_SECONDS", "Database", "in_one_line", "is_address", "without_password"]

COMMAND_SECONDS: Final = 30.0
_CONNECTING_SECONDS: Final = 10.0
_CLOSING_SECONDS: Final = 10.0


class Database:
    """A lazily opened pool of connections, and its tables.

    Args:
        who: the name of the class that uses it, for messages.
        given: the address of a database, or an asyncpg pool, which is left open.
        connections: maximum number of connections.
        create_tables: creates missing tables on a connection.

    Raises:
        ModuleNotFoundError: asyncpg is missing.
    """

    def __init__(
        self, who: str, given: Any, *, connections: int, create_tables: Callable[[Any], Awaitable[None]]
    ) -> None:
        self.driver = import_extra("asyncpg", extra="postgres", user=who)
        self.is_closed = False
        self._who = who
        self._dsn = given if isinstance(given, str) else None
        self._pool: Any = None if self._dsn else given
        self._connections = connections
        self._create_tables = create_tables
        self._opening = asyncio.Lock()
        self._is_ready = False

    async def pool(self) -> Any:
        """Return the pool; open it and create missing tables on first use."""
        if not self._is_ready:
            async with self._opening:
                await self._open()
        return self._pool

    async def aclose(self) -> None:
        """Close the connections, within 10 seconds.

        A pool that was given is left open.
        """
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
                await self._create_tables(connection)
            self._is_ready = True

    def check_asyncio(self) -> None:
        """Reject an event loop other than asyncio's, with a clear message.

        Raises:
            RuntimeError: the current event loop is trio's.
        """
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            raise RuntimeError(f"{self._who} needs asyncio") from None


def is_address(dsn: object) -> bool:
    """Return whether `dsn` is the address of a PostgreSQL database."""
    return isinstance(dsn, str) and dsn.startswith(("postgresql://", "postgres://"))


def without_password(dsn: str) -> str:
    """Return an address without its user and password, for display."""
    parts = urlsplit(dsn)
    return f"postgresql://{parts.netloc.rpartition('@')[2]}{parts.path}"


def in_one_line(error: Exception) -> str:
    """Return an error's text in one line, masked."""
    text = mask_text(" ".join(str(error).split()))
    return text or ("no response" if isinstance(error, TimeoutError) else type(error).__name__)
