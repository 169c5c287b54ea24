"""`Screen`: what a till shows of a call that waits at a terminal. Without a callback it costs nothing."""

from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any, Final

import anyio

from gateway_async._net.beside import beside
from gateway_async._net.delivery import LOOKUP_SECONDS
from gateway_async._wire.call import Call
from gateway_async.errors import InvalidRequestError
from gateway_async.observe import OnProgress, TerminalProgress, TerminalState, is_async, tell

__all__ = ["Screen", "screen_of"]

_TICK_SECONDS: Final = 1.0
_DARK: Final = nullcontext()


def screen_of(call: Call[Any], on_progress: OnProgress | None) -> "Screen":
    """The screen of a call.

    Raises:
        InvalidRequestError: `on_progress` is no function, or an async one, which nobody would await.
    """
    if on_progress is not None and (not callable(on_progress) or is_async(on_progress)):
        raise InvalidRequestError("on_progress: must be a plain function, not an async one")
    return Screen(call, on_progress)


class Screen:
    """Tells a till how its call stands."""

    __slots__ = ("_began", "_call", "_on_progress", "_shown", "_until")

    def __init__(self, call: Call[Any], on_progress: OnProgress | None) -> None:
        self._call = call
        self._on_progress = on_progress
        self._began = anyio.current_time()
        self._shown: tuple[TerminalState, str] | None = None
        self._until: float | None = None

    def show(self, state: TerminalState, *, holder: str = "", seconds: float | None = None) -> None:
        """Show a state that lasts for `seconds` at most, or for nobody knows how long, unless it is shown already."""
        if self._on_progress is not None and self._shown != (state, holder):
            self._shown = state, holder
            self._until = None if seconds is None else anyio.current_time() + seconds
            self._tell(self._on_progress, state, holder)

    def show_lookup(self) -> None:
        """Show that the gateway is asked what became of the call."""
        self.show(TerminalState.LOOKING_UP, seconds=LOOKUP_SECONDS)

    def alight(self) -> AbstractAsyncContextManager[None]:
        """Show the seconds going by, for as long as a block lasts."""
        return _DARK if self._on_progress is None else beside(self._tick)

    async def _tick(self) -> None:
        while self._on_progress is not None:
            await anyio.sleep(_TICK_SECONDS)
            if self._shown is not None:
                self._tell(self._on_progress, *self._shown)

    def _tell(self, on_progress: OnProgress, state: TerminalState, holder: str) -> None:
        now = anyio.current_time()
        progress = TerminalProgress(
            terminal_id=self._call.terminal_id or "",
            api_id=self._call.api_id,
            state=state,
            holder=holder,
            waited=now - self._began,
            left=None if self._until is None else max(self._until - now, 0.0),
        )
        tell(on_progress, progress, "on_progress")
