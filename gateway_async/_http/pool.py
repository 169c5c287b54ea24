"""`ConnectionPool`: the connections of one kind of call (ordinary or terminal), and the slots that limit them.

`acquire` waits for a slot and returns a connection, `release` takes both back. The cost of a call does not depend on
how many others wait.
"""

import asyncio
import ssl
from collections import defaultdict, deque
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

import anyio
import anyio.lowlevel
import httpx

from gateway_async._http import asyncio_connection, stream_connection
from gateway_async._http.connection import Connection
from gateway_async._http.messages import Origin
from gateway_async._http.progress import Progress, Stage
from gateway_async._http.proxy import Proxy
from gateway_async.telemetry.health import PoolUse

T = TypeVar("T")

Timeouts = dict[str, float | None]
"""httpx's timeouts in seconds, by phase."""

_MAX_CONNECTING: Final = 200
"""New connections that a pool opens at the same time.

More would block the event loop when thousands of calls start.
"""


class ConnectionPool:
    """The connections of one kind of call.

    Each connection in use has a slot; each origin has a stack of idle connections, the newest last.

    Args:
        size: the number of slots.
        max_idle: maximum number of idle connections for each origin.
        keepalive_expiry: seconds for which an idle connection is kept.
        proxy: the proxy through which connections are opened.
        staggered: whether each response has to `wait_to_read`.

    Attributes:
        closed: whether the pool is closed.
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
        self.closed = False
        self._size = size
        self._slots = anyio.Semaphore(size, max_value=size)
        self._connect_slots = anyio.Semaphore(_MAX_CONNECTING, max_value=_MAX_CONNECTING)
        self._idle: defaultdict[Origin, deque[Connection]] = defaultdict(deque)
        self._busy: set[Connection] = set()
        self._connecting: set[anyio.CancelScope] = set()
        self.staggered = staggered
        self._reading_lock = anyio.Lock()
        self._max_idle = max_idle
        self._keepalive_expiry = keepalive_expiry
        self._proxy = proxy

    def use(self) -> PoolUse:
        waiting = self._slots.statistics().tasks_waiting
        return PoolUse(in_use=self._size - self._slots.value, waiting=waiting, limit=self._size)

    def check_open(self) -> None:
        if self.closed:
            raise RuntimeError("the transport is closed")

    async def acquire(
        self, origin: Origin, tls: ssl.SSLContext | None, timeouts: Timeouts, progress: Progress, *, fresh: bool = False
    ) -> Connection:
        """Wait for a slot; return a connection, which `release` takes back.

        1. Without a free slot, the call waits in line until one is released. Then it goes on with 2 or 3.
        2. The newest usable idle connection to `origin` is returned.
        3. Without one, or if it has to be `fresh`, a new connection is opened.

        Args:
            origin: where the connection leads.
            tls: the TLS context of a new connection; None for plain http.
            timeouts: `pool` limits the wait for a slot, and once more the wait to open a connection; `connect` limits
                the opening.
            progress: is updated once there is a slot.
            fresh: take no idle connection.

        Raises:
            httpx.PoolTimeout: there is no free slot in time.
            httpx.ConnectTimeout: the connection is not open in time.
            httpx.ConnectError: it cannot be opened or trusted.
            httpx.ProxyError: the proxy refused.
            RuntimeError: the pool is closed.
        """
        if self._slots.value:
            self._slots.acquire_nowait()
        else:
            await within(timeouts.get("pool"), self._slots.acquire(), httpx.PoolTimeout)
        try:
            progress.stage = Stage.CONNECTING
            self.check_open()
            idle = self._idle[origin]
            while idle and not fresh:
                connection = idle.pop()
                if connection.idle_seconds < self._keepalive_expiry and connection.is_open:
                    progress.is_reused = True
                    break
                await connection.aclose()
                self.check_open()
            else:
                connection = await self._connect(origin, tls, timeouts)
        except BaseException:
            self._slots.release()
            raise
        self._busy.add(connection)
        return connection

    async def release(self, origin: Origin, connection: Connection, *, discard: bool = False) -> None:
        """Take back a connection and its slot; close one that is not reusable, or to `discard`.

        Idle connections that have expired, or exceed the maximum, are closed first. Nothing is awaited after the
        connection is on its stack, so the caller can still discard it before another call gets it.
        """
        reusable = connection.finish() and not discard
        idle = self._idle[origin]
        try:
            try:
                while idle and (len(idle) >= self._max_idle or idle[0].idle_seconds >= self._keepalive_expiry):
                    await idle.popleft().aclose()
            finally:
                self._busy.discard(connection)
                if reusable and not self.closed:
                    idle.append(connection)
                else:
                    await connection.aclose()
        finally:
            self._slots.release()

    async def wait_to_read(self) -> None:
        """Let one response be read in each round of the event loop.

        Thousands that arrive together would otherwise block it.
        """
        async with self._reading_lock:
            await anyio.lowlevel.checkpoint()

    async def aclose(self) -> None:
        """Close idle and busy connections; calls that wait for a slot fail."""
        self.closed = True
        idle = [connection for stack in self._idle.values() for connection in stack]
        for scope in self._connecting:
            scope.cancel()
        async with anyio.create_task_group() as closing:
            for connection in (*idle, *self._busy):
                closing.start_soon(connection.aclose)
        self._idle.clear()  # at the end: closing again closes what an interrupted call has left

    async def _connect(self, origin: Origin, tls: ssl.SSLContext | None, timeouts: Timeouts) -> Connection:
        """Open a connection; closing the pool cancels it."""
        if self._connect_slots.value:
            self._connect_slots.acquire_nowait()
        else:
            await within(timeouts.get("pool"), self._connect_slots.acquire(), httpx.PoolTimeout)
        try:
            self.check_open()
            with anyio.move_on_after(timeouts.get("connect")) as scope:
                self._connecting.add(scope)
                try:
                    return await _connect(origin[1], origin[2], tls, self._proxy)
                finally:
                    self._connecting.discard(scope)
            raise httpx.ConnectTimeout("timed out")
        finally:
            self._connect_slots.release()


def within(
    seconds: float | None, work: Coroutine[Any, Any, T], error: type[httpx.TimeoutException]
) -> Coroutine[Any, Any, T]:
    """Limit `work` to that many seconds, after which `error` is raised."""
    return work if seconds is None else _within(seconds, work, error)


async def _within(seconds: float, work: Coroutine[Any, Any, T], error: type[httpx.TimeoutException]) -> T:
    with anyio.move_on_after(seconds):
        return await work
    raise error("timed out")


async def _connect(host: str, port: int, tls: ssl.SSLContext | None, proxy: Proxy | None) -> Connection:
    if anyio.get_cancelled_exc_class() is asyncio.CancelledError:
        return await asyncio_connection.connect(host, port, tls, proxy)
    return await stream_connection.connect(host, port, tls, proxy)
