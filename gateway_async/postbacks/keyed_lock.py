"""`KeyedLock`: a lock for each key, granted in order of arrival."""

from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from functools import partial

import anyio
import attrs


class KeyedLock:
    """Holds one lock for each key in use; unused locks are removed."""

    def __init__(self) -> None:
        self._locks: dict[Hashable, _CountedLock] = {}

    @asynccontextmanager
    async def of(self, key: Hashable) -> AsyncIterator[None]:
        """Hold the lock of a key during the block."""
        counted = self._locks.setdefault(key, _CountedLock())
        counted.users += 1
        try:
            async with counted.lock:
                yield
        finally:
            counted.users -= 1
            if not counted.users:
                del self._locks[key]


@attrs.define(eq=False, repr=False)
class _CountedLock:
    """The lock of one key, and the number of tasks that hold it or wait for it."""

    lock: anyio.Lock = attrs.field(factory=partial(anyio.Lock, fast_acquire=True))
    users: int = 0
