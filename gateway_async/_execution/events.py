"""`EventEmitter`: pass the events of a client to its observers and to the log."""

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from gateway_async.observe import Event, Observer, calls_logger, log_event, notify

__all__ = ["EventEmitter"]


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
