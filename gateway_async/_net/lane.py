"""`Lane`: the connections of one kind of call.

The law of this file: a call costs constant time however many others wait, and however it ends, its place comes back.
"""

import contextlib
from collections import defaultdict, deque
from collections.abc import Callable
from typing import Final, Protocol, cast

import anyio
import httpcore

__all__ = ["Lane", "Origin", "close"]

Origin = tuple[bytes, bytes, int | None]

_CLOSE_WITHIN: Final = 2.0
"""Seconds that closing one connection may take."""

_DIALS_AT_ONCE: Final = 200
"""New connections that a lane sets up at a time, so that the event loop breathes while thousands begin."""


class _Borrower(Protocol):
    """Whoever has a place."""

    async def hang_up(self) -> None:
        """Close the connection in use."""


class Lane:
    """The connections of one kind of call: places for those in use, a stack of idle ones for each origin."""

    def __init__(
        self, open_: Callable[[httpcore.Origin], httpcore.AsyncHTTPConnection], size: int, *, max_idle: int
    ) -> None:
        self.open = open_
        self.places = anyio.CapacityLimiter(size)
        self.dials = anyio.CapacityLimiter(_DIALS_AT_ONCE)
        self.idle: defaultdict[Origin, deque[httpcore.AsyncHTTPConnection]] = defaultdict(deque)
        self.max_idle = max_idle
        self.closed = False

    def check_open(self) -> None:
        if self.closed:
            raise RuntimeError("the transport is closed")

    async def take(self, origin: Origin) -> httpcore.AsyncHTTPConnection | None:
        """Give the newest idle connection that is still good; close the ones above it."""
        idle = self.idle[origin]
        while idle:
            connection = idle.pop()
            if not connection.has_expired():
                return connection
            await close(connection)
        return None

    async def keep(self, origin: Origin, connection: httpcore.AsyncHTTPConnection) -> None:
        """Put a connection on its stack; close the oldest while they are too many or too old."""
        idle = self.idle[origin]
        idle.append(connection)
        while len(idle) > 1 and (len(idle) > self.max_idle or idle[0].has_expired()):
            await close(idle.popleft())

    async def aclose(self) -> None:
        """Close what is idle and what is in use; whoever still waits for a place is refused it."""
        self.closed = True
        idle = [connection for stack in self.idle.values() for connection in stack]
        self.idle.clear()
        exchanges = cast("tuple[_Borrower, ...]", self.places.statistics().borrowers)
        async with anyio.create_task_group() as closing:
            for connection in idle:
                closing.start_soon(close, connection)
            for exchange in exchanges:
                closing.start_soon(exchange.hang_up)


async def close(part: httpcore.AsyncHTTPConnection | httpcore.AsyncNetworkStream) -> None:
    with anyio.move_on_after(_CLOSE_WITHIN, shield=True), contextlib.suppress(Exception):
        await part.aclose()
