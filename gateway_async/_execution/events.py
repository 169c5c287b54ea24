"""`EventEmitter`: pass the events of a client to its observers and to the log."""

import logging
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import anyio

from gateway_async._wire.call import Call
from gateway_async.observe import (
    Event,
    Observer,
    TerminalWaitEnded,
    TerminalWaitStarted,
    calls_logger,
    log_event,
    notify,
)


def new_call_id() -> str:
    """Generate the id that a call has in its events."""
    return os.urandom(8).hex()


def event_facts(call: Call[Any], call_id: str) -> dict[str, Any]:
    """Return what all events of a call contain."""
    return {"call": str(call), "api_id": call.api_id, "call_id": call_id, "terminal_id": call.terminal_id}


class TerminalWait:
    """The wait of a call for its terminal, from its creation to the first `end`.

    Args:
        call: the call that waits.
        emit: receives the events of the start and the end.

    Attributes:
        call_id: identifies the call in its events.
    """

    __slots__ = ("_emit", "_facts", "_is_over", "_started", "call_id")

    def __init__(self, call: Call[Any], emit: Callable[[Event], None]) -> None:
        self.call_id = new_call_id()
        self._emit = emit
        self._facts = event_facts(call, self.call_id)
        self._is_over = False
        self._started = anyio.current_time()
        emit(TerminalWaitStarted(**self._facts))

    def end(self, error: BaseException | None = None) -> None:
        """Emit the end of the wait, with the error that ended it; a second call does nothing."""
        if not self._is_over:
            self._is_over = True
            seconds = anyio.current_time() - self._started
            self._emit(TerminalWaitEnded(**self._facts, seconds=seconds, error=error))


class EventEmitter:
    """The observers of a client."""

    __slots__ = ("_observers",)

    def __init__(self, observers: Iterable[Observer]) -> None:
        self._observers = (*observers,)

    @property
    def wants_routine(self) -> bool:
        """Whether anything receives the events of a call that succeeds."""
        return bool(self._observers) or calls_logger.isEnabledFor(logging.DEBUG)

    def emit(self, event: Event) -> None:
        """Log an event and pass it to every observer."""
        notify((log_event, *self._observers), event)

    @contextmanager
    def observing(self, observer: Observer) -> Iterator[None]:
        """Add an observer for the duration of the block."""
        self._observers = (*self._observers, observer)
        try:
            yield
        finally:
            self._observers = tuple(each for each in self._observers if each is not observer)
