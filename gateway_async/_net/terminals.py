"""One call at a time for each terminal, a place for each waiting call, and a turnstile before them."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import Any

import anyio
import anyio.lowlevel

from gateway_async._net.delivery import Delivery
from gateway_async._net.leasing import Leasing
from gateway_async._net.screen import Screen
from gateway_async._net.unsettled import Unsettled
from gateway_async._wire.call import Call
from gateway_async.observe import TerminalState

__all__ = ["Terminals"]


class Terminals:
    """Who may use which terminal now; first come, first served.

    Args:
        places: how many calls may be at terminals at once.
        unsettled: knows what earlier calls may still do there.
        leasing: shares the terminals with other processes and hosts, if they are shared.
    """

    def __init__(self, places: int, unsettled: Unsettled, leasing: Leasing | None = None) -> None:
        self._places = anyio.CapacityLimiter(places)
        self._turnstile = anyio.Lock()
        self._queues: dict[str, tuple[anyio.Lock, int]] = {}
        self._unsettled = unsettled
        self._leasing = leasing

    @asynccontextmanager
    async def turn(self, call: Call[Any], screen: Screen) -> AsyncIterator[None]:
        """Wait for the terminal to be free, here and elsewhere, and of what went before; then for a place. Hold both.

        Raises:
            TerminalBusyError: it is not, and the call does not wait for it any longer.
            NotSentError: that could not be found out.
        """
        screen.show(TerminalState.IN_LINE)
        async with self._queue(call.terminal_id or "") as lock, lock, self._lease(call, screen):
            await self._unsettled.check(call, screen)
            screen.show(TerminalState.IN_LINE)
            async with self._places:
                await self._pass()
                yield

    def ended(self, delivery: Delivery[Any]) -> None:
        """Remember a call whose outcome nobody knows, so that the next one does not meet its customer."""
        self._unsettled.note(delivery)

    async def aclose(self) -> None:
        """Let go of what is shared."""
        if self._leasing is not None:
            await self._leasing.aclose()

    def _lease(self, call: Call[Any], screen: Screen) -> AbstractAsyncContextManager[None]:
        if self._leasing is None:
            return nullcontext()
        return self._leasing.held(call, screen, keep=lambda: self._unsettled.has(call))

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
