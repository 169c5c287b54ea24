"""`KeyedLock`: a lock for each key, granted in order of arrival."""

from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager

import anyio

__all__ = ["KeyedLock"]


class KeyedLock:
    """Holds one lock for each name in use; unused locks are removed."""

    def __init__(self) -> None:
        self._queues: dict[Hashable, _Queue] = {}

    @asynccontextmanager
    async def of(self, name: Hashable) -> AsyncIterator[None]:
        """Hold the lock of a name during the block."""
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
    """The lock of one name, and the number of tasks that hold it or wait for it."""

    def __init__(self) -> None:
        self.lock = anyio.Lock(fast_acquire=True)
        self.length = 0
