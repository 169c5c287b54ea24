"""One call at a time for each terminal, a place for each waiting call, and a turnstile before them."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import Any, Final

import anyio
import anyio.lowlevel

from gateway_async._net.delivery import Delivery
from gateway_async._net.leasing import Leasing
from gateway_async._net.screen import Screen
from gateway_async._net.unsettled import Unsettled
from gateway_async._wire.call import Call
from gateway_async.observe import TerminalState

__all__ = ["Terminals"]

_NOT_SHARED: Final = nullcontext()


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
        self._queues: dict[str, _Queue] = {}
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
        terminal_id = call.terminal_id or ""
        await self._enter(terminal_id)
        try:
            async with self._lease(call, screen):
                await self._unsettled.check(call, screen)
                screen.show(TerminalState.IN_LINE)
                async with self._places:
                    await self._pass()
                    yield
        finally:
            self._leave(terminal_id)

    def ended(self, delivery: Delivery[Any]) -> None:
        """Remember a call whose outcome nobody knows, so that the next one does not meet its customer."""
        self._unsettled.note(delivery)

    async def aclose(self) -> None:
        """Let go of what is shared."""
        if self._leasing is not None:
            await self._leasing.aclose()

    def _lease(self, call: Call[Any], screen: Screen) -> AbstractAsyncContextManager[None]:
        if self._leasing is None:
            return _NOT_SHARED
        return self._leasing.held(call, screen, keep=lambda: self._unsettled.has(call))

    async def _pass(self) -> None:
        """Let one call through in each round of the event loop: thousands that begin at once must not hold it up."""
        async with self._turnstile:
            await anyio.lowlevel.checkpoint()

    async def _enter(self, terminal_id: str) -> None:
        """Wait until everyone who came before is gone from the terminal."""
        queue = self._queues.setdefault(terminal_id, _Queue())
        queue.length += 1
        if queue.length == 1:
            return
        queue.gate = queue.gate or anyio.Semaphore(0)
        try:
            await queue.gate.acquire()
        except BaseException:
            self._shorten(terminal_id)
            raise

    def _leave(self, terminal_id: str) -> None:
        """Let the next one in."""
        queue = self._shorten(terminal_id)
        if queue.gate is not None:
            queue.gate.release()

    def _shorten(self, terminal_id: str) -> "_Queue":
        queue = self._queues[terminal_id]
        queue.length -= 1
        if not queue.length:
            del self._queues[terminal_id]
        return queue


class _Queue:
    """The calls for one terminal: the one that has it, and those that wait for it.

    Attributes:
        length: how many they are, those included whose waiting was cancelled just now.
        gate: lets one in when the one before leaves; most terminals have no line, and need none.
    """

    __slots__ = ("gate", "length")

    def __init__(self) -> None:
        self.length = 0
        self.gate: anyio.Semaphore | None = None
