"""One call at a time for each terminal, a place for each waiting call, and a turnstile before them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import anyio.lowlevel

__all__ = ["Terminals"]


class Terminals:
    """Who may use which terminal now; first come, first served."""

    def __init__(self, places: int) -> None:
        self._places = anyio.CapacityLimiter(places)
        self._turnstile = anyio.Lock()
        self._queues: dict[str, tuple[anyio.Lock, int]] = {}

    @asynccontextmanager
    async def turn(self, terminal_id: str) -> AsyncIterator[None]:
        """Wait for the terminal to be free, and then for one of the places; hold both."""
        async with self._queue(terminal_id) as lock, lock, self._places:
            await self._pass()
            yield

    async def _pass(self) -> None:
        """Let one call through in each round of the event loop: thousands that begin at once must not hold it up."""
        async with self._turnstile:
            await anyio.lowlevel.checkpoint()

    @asynccontextmanager
    async def _queue(self, terminal_id: str) -> AsyncIterator[anyio.Lock]:
        """The terminal's lock, kept for as long as anyone waits for it."""
        lock, waiting = self._queues.get(terminal_id, (None, 0))
        lock = lock or anyio.Lock()
        self._queues[terminal_id] = lock, waiting + 1
        try:
            yield lock
        finally:
            lock, waiting = self._queues.pop(terminal_id)
            if waiting > 1:
                self._queues[terminal_id] = lock, waiting - 1
