"""`Lane`: the connections of one kind of call.

The law of this file: a call costs constant time however many others wait, and however it ends, its place comes back.
"""

from collections import defaultdict, deque
from typing import Final

import anyio

from gateway_async._net.connection import Connection

__all__ = ["Lane", "Origin"]

Origin = tuple[str, str, int]

_DIALS_AT_ONCE: Final = 200
"""New connections that a lane sets up at a time, so that the event loop breathes while thousands begin."""


class Lane:
    """The connections of one kind of call: places for those in use, a stack of idle ones for each origin.

    Attributes:
        dialling: how to end the setting up of connections that are not made yet.
    """

    def __init__(self, size: int, *, max_idle: int, keepalive_expiry: float) -> None:
        self.places = anyio.CapacityLimiter(size)
        self.dials = anyio.CapacityLimiter(_DIALS_AT_ONCE)
        self.idle: defaultdict[Origin, deque[Connection]] = defaultdict(deque)
        self.busy: set[Connection] = set()
        self.dialling: set[anyio.CancelScope] = set()
        self.closed = False
        self._max_idle = max_idle
        self._keepalive_expiry = keepalive_expiry

    def check_open(self) -> None:
        """Raise RuntimeError when the lane is closed."""
        if self.closed:
            raise RuntimeError("the transport is closed")

    async def take(self, origin: Origin) -> Connection | None:
        """Give the newest idle connection that is still good; close the ones above it."""
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

    async def give_back(self, origin: Origin, connection: Connection) -> None:
        """Close those that are too many or too old; put this connection on its stack, if it is fit, or close it.

        Nothing is awaited once it is on its stack: whoever distrusts it can still drop it before another call has it.
        """
        fit = connection.finish(anyio.current_time())
        idle = self.idle[origin]
        try:
            while idle and (len(idle) >= self._max_idle or self._has_expired(idle[0])):
                await idle.popleft().aclose()
        finally:
            self.busy.discard(connection)
            if fit and not self.closed:
                idle.append(connection)
            else:
                await connection.aclose()

    async def aclose(self) -> None:
        """Close what is idle and what is in use; whoever still waits for a place is refused it."""
        self.closed = True
        idle = [connection for stack in self.idle.values() for connection in stack]
        self.idle.clear()
        for dial in self.dialling:
            dial.cancel()
        async with anyio.create_task_group() as closing:
            for connection in (*idle, *self.busy):
                closing.start_soon(connection.aclose)

    def _has_expired(self, connection: Connection) -> bool:
        return anyio.current_time() - connection.idle_since >= self._keepalive_expiry
