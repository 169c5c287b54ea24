"""`Turns`: one at a time for each record, in the order in which they came."""

from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager

import anyio

__all__ = ["Turns"]


class Turns:
    """A lock for each name, which is forgotten when nobody wants it any more."""

    def __init__(self) -> None:
        self._queues: dict[Hashable, _Queue] = {}

    @asynccontextmanager
    async def of(self, name: Hashable) -> AsyncIterator[None]:
        """Wait for this name's turn, and have it for the time of the block."""
        queue = self._queues.setdefault(name, _Queue())
        queue.length += 1
        try:
            async with queue.lock:
                yield
        finally:
            queue.length -= 1
            if not queue.length:
                del self._queues[name]


class _Queue:
    """Those who have a turn, or wait for it."""

    def __init__(self) -> None:
        self.lock = anyio.Lock(fast_acquire=True)
        self.length = 0
