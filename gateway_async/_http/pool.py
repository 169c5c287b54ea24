"""`ConnectionPool`: the idle and busy connections of one kind of call (ordinary or terminal).

`Exchange` waits for a slot of the pool's limiters, takes an idle connection or opens one, and releases both at its end.
The cost of a call does not depend on how many others wait.
"""

import asyncio
import ssl
from collections import defaultdict, deque
from typing import TYPE_CHECKING, Final

import anyio

from gateway_async._http import asyncio_connection, stream_connection
from gateway_async._http.connection import Connection
from gateway_async._http.proxy import Proxy

if TYPE_CHECKING:
    from gateway_async.telemetry.health import PoolUse

__all__ = ["ConnectionPool", "Origin"]

Origin = tuple[str, str, int]

_MAX_CONNECTING: Final = 200
"""New connections that a pool opens at the same time.

More would block the event loop when thousands of calls start.
"""


class ConnectionPool:
    """The connections of one kind of call.

    A limiter counts those in use, and each origin has a stack of idle ones.

    Attributes:
        limiter: the slots for connections in use.
        connect_limiter: the slots for connections that are being opened.
        idle: the idle connections of each origin, the newest last.
        busy: the connections in use.
        connecting: the cancel scopes of connections that are being opened.
        closed: whether the pool is closed.
        reading_lock: lets one response be read in each round of the event loop; None if there is no need.
    """

    def __init__(
        self,
        size: int,
        *,
        max_idle: int,
        keepalive_expiry: float,
        proxy: Proxy | None = None,
        staggered: bool = False,
    ) -> None:
        self.limiter = anyio.CapacityLimiter(size)
        self.connect_limiter = anyio.CapacityLimiter(_MAX_CONNECTING)
        self.idle: defaultdict[Origin, deque[Connection]] = defaultdict(deque)
        self.busy: set[Connection] = set()
        self.connecting: set[anyio.CancelScope] = set()
        self.closed = False
        self.reading_lock = anyio.Lock() if staggered else None
        self._max_idle = max_idle
        self._keepalive_expiry = keepalive_expiry
        self._proxy = proxy

    def use(self) -> "PoolUse":
        """Return how many calls have a connection or wait for one."""
        from gateway_async.telemetry.health import PoolUse  # most programs never ask

        statistics = self.limiter.statistics()
        limit = int(statistics.total_tokens)
        return PoolUse(in_use=statistics.borrowed_tokens, waiting=statistics.tasks_waiting, limit=limit)

    def check_open(self) -> None:
        """Raise RuntimeError if the pool is closed."""
        if self.closed:
            raise RuntimeError("the transport is closed")

    async def acquire(self, origin: Origin) -> Connection | None:
        """Return the newest idle connection that is usable, or None; close unusable ones."""
        self.check_open()
        idle = self.idle[origin]
        while idle:
            connection = idle.pop()
            if not self._has_expired(connection) and connection.is_open:
                self.busy.add(connection)
                return connection
            await connection.aclose()
            self.check_open()
        return None

    async def connect(self, origin: Origin, tls: ssl.SSLContext | None, scope: anyio.CancelScope) -> Connection:
        """Open a connection; closing the pool cancels `scope`.

        Raises:
            httpx.ConnectError: the connection cannot be opened or trusted.
            httpx.ProxyError: the proxy refused.
        """
        self.connecting.add(scope)
        try:
            connection = await _connect(origin[1], origin[2], tls, self._proxy)
        finally:
            self.connecting.discard(scope)
        self.busy.add(connection)
        return connection

    async def release(self, origin: Origin, connection: Connection, *, discard: bool = False) -> None:
        """Return a reusable connection to its stack; close any other, and one to `discard`.

        Idle connections that have expired, or exceed the maximum, are closed first. Nothing is awaited after the
        connection is on its stack, so the caller can still discard it before another call gets it.
        """
        reusable = connection.finish(anyio.current_time()) and not discard
        idle = self.idle[origin]
        try:
            while idle and (len(idle) >= self._max_idle or self._has_expired(idle[0])):
                await idle.popleft().aclose()
        finally:
            self.busy.discard(connection)
            if reusable and not self.closed:
                idle.append(connection)
            else:
                await connection.aclose()

    async def aclose(self) -> None:
        """Close idle and busy connections; calls that wait for a slot fail."""
        self.closed = True
        idle = [connection for stack in self.idle.values() for connection in stack]
        for scope in self.connecting:
            scope.cancel()
        async with anyio.create_task_group() as closing:
            for connection in (*idle, *self.busy):
                closing.start_soon(connection.aclose)
        self.idle.clear()  # at the end: closing again closes what an interrupted call has left

    def _has_expired(self, connection: Connection) -> bool:
        return anyio.current_time() - connection.idle_since >= self._keepalive_expiry


async def _connect(host: str, port: int, tls: ssl.SSLContext | None, proxy: Proxy | None) -> Connection:
    if anyio.get_cancelled_exc_class() is asyncio.CancelledError:
        return await asyncio_connection.connect(host, port, tls, proxy)
    return await stream_connection.connect(host, port, tls, proxy)
