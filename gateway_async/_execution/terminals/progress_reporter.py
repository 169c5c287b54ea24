"""`ProgressReporter`: report the progress of a call at a terminal to a callback.

Without a callback it does nothing.
"""

from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any, Final

import anyio

from gateway_async._execution.state import LOOKUP_SECONDS
from gateway_async._http.background import run_in_background
from gateway_async._wire.call import Call
from gateway_async.errors import InvalidRequestError
from gateway_async.observe import OnProgress, TerminalProgress, TerminalState, call_safely, is_async

_TICK_SECONDS: Final = 1.0
_NO_REPORTS: Final = nullcontext()


def progress_reporter(call: Call[Any], on_progress: OnProgress | None) -> "ProgressReporter":
    """Create the progress reporter of a call.

    Raises:
        InvalidRequestError: `on_progress` is async or is not callable.
    """
    if on_progress is not None and (not callable(on_progress) or is_async(on_progress)):
        raise InvalidRequestError("on_progress: must be a plain function, not an async one")
    return ProgressReporter(call, on_progress)


class ProgressReporter:
    """Reports the state of a terminal call to a callback."""

    __slots__ = ("_began", "_call", "_last_reported", "_on_progress", "_until")

    def __init__(self, call: Call[Any], on_progress: OnProgress | None) -> None:
        self._call = call
        self._on_progress = on_progress
        self._began = anyio.current_time()
        self._last_reported: tuple[TerminalState, str] | None = None
        self._until: float | None = None

    def report(self, state: TerminalState, *, holder: str = "", seconds: float | None = None) -> None:
        """Report a state, unless it was reported last.

        The state lasts for at most `seconds`; None means without a limit.
        """
        if self._on_progress is not None and self._last_reported != (state, holder):
            self._last_reported = state, holder
            self._until = None if seconds is None else anyio.current_time() + seconds
            self._report(self._on_progress, state, holder)

    def report_lookup(self) -> None:
        """Report that the outcome of a call is being looked up."""
        self.report(TerminalState.LOOKING_UP, seconds=LOOKUP_SECONDS)

    def ticking(self) -> AbstractAsyncContextManager[None]:
        """Repeat the report every second while a block runs."""
        return _NO_REPORTS if self._on_progress is None else run_in_background(self._tick)

    async def _tick(self) -> None:
        while self._on_progress is not None:
            await anyio.sleep(_TICK_SECONDS)
            if self._last_reported is not None:
                self._report(self._on_progress, *self._last_reported)

    def _report(self, on_progress: OnProgress, state: TerminalState, holder: str) -> None:
        now = anyio.current_time()
        progress = TerminalProgress(
            terminal_id=self._call.terminal_id or "",
            api_id=self._call.api_id,
            state=state,
            holder=holder,
            waited=now - self._began,
            left=None if self._until is None else max(self._until - now, 0.0),
        )
        call_safely(on_progress, progress, "on_progress")
