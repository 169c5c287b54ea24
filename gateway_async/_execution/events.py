"""`EventEmitter`: pass the events of a client to its observers and to the log.

`TerminalReporter` also passes the progress of a call at a terminal to its callback. `read_trace_headers` asks the
program for the headers of its current trace.
"""

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from typing import Any, Final

import anyio

from gateway_async._background import run_in_background
from gateway_async._wire.call import Call
from gateway_async.errors import InvalidRequestError
from gateway_async.observe import (
    Event,
    Observer,
    OnProgress,
    TerminalProgress,
    TerminalState,
    TerminalWaitEnded,
    TerminalWaitStarted,
    call_safely,
    calls_logger,
    is_async,
    log_event,
    logger,
    notify,
)

TraceHeaders = Callable[[], Mapping[str, str]]
"""Returns the headers that identify the current trace."""

_TRACE_HEADERS: Final = frozenset({"traceparent", "tracestate", "baggage"})
"""Headers of W3C Trace Context and Baggage.

Others are not sent, so that the function can replace neither credentials nor the length of a body.
"""

_TICK_SECONDS: Final = 1.0
_NO_TICKS: Final = nullcontext()


def new_call_id() -> str:
    return os.urandom(8).hex()


def event_facts(call: Call[Any], call_id: str) -> dict[str, Any]:
    return {"call": str(call), "api_id": call.api_id, "call_id": call_id, "terminal_id": call.terminal_id}


class EventEmitter:
    """The observers of a client."""

    def __init__(self, observers: Iterable[Observer]) -> None:
        self._observers = (*observers,)

    @property
    def wants_routine(self) -> bool:
        """Whether anything receives the events of a call that succeeds."""
        return bool(self._observers) or calls_logger.isEnabledFor(logging.DEBUG)

    def emit(self, event: Event) -> None:
        notify((log_event, *self._observers), event)

    @contextmanager
    def observing(self, observer: Observer) -> Iterator[None]:
        self._observers = (*self._observers, observer)
        try:
            yield
        finally:
            self._observers = tuple(each for each in self._observers if each is not observer)


class TerminalReporter:
    """Reports a call at a terminal: its wait to the observers, if `emit` is given, and each state to `on_progress`.

    Attributes:
        call_id: identifies the call in its events; "" before the wait, and without observers.

    Raises:
        InvalidRequestError: `on_progress` is async or is not callable.
    """

    __slots__ = ("_began", "_call", "_emit", "_last_reported", "_on_progress", "_until", "_waits_since", "call_id")

    def __init__(
        self, call: Call[Any], on_progress: OnProgress | None, emit: Callable[[Event], None] | None = None
    ) -> None:
        if on_progress is not None and (not callable(on_progress) or is_async(on_progress)):
            raise InvalidRequestError("on_progress: must be a plain function, not an async one")
        self._call = call
        self._on_progress = on_progress
        self._emit = emit
        self.call_id = ""
        self._began = anyio.current_time()
        self._waits_since: float | None = None
        self._last_reported: tuple[TerminalState, str] | None = None
        self._until: float | None = None

    def begin_wait(self) -> None:
        if self._emit is not None:
            self.call_id, self._waits_since = new_call_id(), anyio.current_time()
            self._emit(TerminalWaitStarted(**event_facts(self._call, self.call_id)))

    def end_wait(self, error: BaseException | None = None) -> None:
        """Emit the end of the wait, with the error that ended it; a second call does nothing."""
        if self._emit is not None and self._waits_since is not None:
            seconds, self._waits_since = anyio.current_time() - self._waits_since, None
            self._emit(TerminalWaitEnded(**event_facts(self._call, self.call_id), seconds=seconds, error=error))

    def report(self, state: TerminalState, *, holder: str = "", seconds: float | None = None) -> None:
        """Report a state, unless it was reported last.

        The state lasts for at most `seconds`; None means without a limit.
        """
        if self._on_progress is not None and self._last_reported != (state, holder):
            self._last_reported = state, holder
            self._until = None if seconds is None else anyio.current_time() + seconds
            self._report(self._on_progress, state, holder)

    def ticking(self) -> AbstractAsyncContextManager[None]:
        """Repeat the report every second while a block runs."""
        return _NO_TICKS if self._on_progress is None else run_in_background(self._tick)

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


def read_trace_headers(trace_headers: TraceHeaders) -> list[tuple[str, str]]:
    """Read the valid headers; log a failure and return none, because the call must continue."""
    try:
        fields = [(name, value) for name, value in trace_headers().items() if name.lower() in _TRACE_HEADERS]
        return [(name, value) for name, value in fields if value.isascii() and value.isprintable()]
    except Exception:  # noqa: BLE001  telemetry must not fail a payment
        logger.exception("trace_headers failed")
        return []
