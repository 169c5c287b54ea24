"""What a client is doing, as frozen events for your own eyes: metrics, traces, a till's screen.

    def watch(event: Event) -> None:
        if isinstance(event, CallEnded):
            latency.observe(event.seconds)

    AsyncGateway(..., observers=[watch])

Observers are called in order, in the task that makes the call. They are plain functions that return soon, as the whole
event loop waits for them; one that raises is logged and ignored. Events hold no card number and no secret. `log_event`
is always there: it writes to the logger `gateway_async.calls`.
"""

import asyncio
import enum
import inspect
import logging
from collections.abc import Callable, Iterable
from typing import Final, TypeVar

import attrs

from gateway_async._secrets import mask_text
from gateway_async.errors import GatewayError

__all__ = [
    "AttemptFailed",
    "CallEnded",
    "CallStarted",
    "Event",
    "LeaseInDoubt",
    "LookedUp",
    "Observer",
    "OnProgress",
    "RepeatsUsedUp",
    "TerminalProgress",
    "TerminalState",
    "is_async",
    "log_event",
    "notify",
    "tell",
]

logger = logging.getLogger("gateway_async")
"""What nobody would learn otherwise. Where a program has set up no logging, Python shows it on standard error."""

_calls: Final = logging.getLogger("gateway_async.calls")
_calls.addHandler(logging.NullHandler())  # whoever made a call learns how it ended


@attrs.frozen(kw_only=True)
class CallStarted:
    """A call begins.

    Attributes:
        call: such as `"POST /v2/transactions"`.
        api_id: the integrator id of what is written, if it has one.
    """

    call: str
    api_id: str | None = None


@attrs.frozen(kw_only=True)
class AttemptFailed:
    """One attempt of a call ended without a result.

    Attributes:
        attempt: its number, from 1.
        error: what it ended with.
        verdict: what follows: `"again"`, `"look up"` or `"stop"`.
    """

    call: str
    api_id: str | None = None
    attempt: int
    error: GatewayError
    verdict: str


@attrs.frozen(kw_only=True)
class LookedUp:
    """A write whose answer was lost has been looked up.

    Attributes:
        outcome: `"found"`, `"not there"` (at that time: what is under way may still arrive) or `"unknown"`.
        cancelled: whether the task had been cancelled meanwhile; then this event is the only news of the outcome.
    """

    call: str
    api_id: str | None = None
    outcome: str
    cancelled: bool = False


@attrs.frozen(kw_only=True)
class CallEnded:
    """A call is over.

    Attributes:
        attempts: how often it was tried.
        seconds: how long it took, waits and lookups included.
        error: what it ended with, or None when it succeeded.
    """

    call: str
    api_id: str | None = None
    attempts: int
    seconds: float
    error: BaseException | None = None


@attrs.frozen(kw_only=True)
class LeaseInDoubt:
    """The lease of a terminal could not be prolonged while a call waits there; the call goes on.

    Somebody else may get the terminal meanwhile: the call itself is safe, the customer may be asked twice.

    Attributes:
        terminal_id: the terminal.
        reason: why, in words.
    """

    call: str
    api_id: str | None = None
    terminal_id: str
    reason: str


@attrs.frozen(kw_only=True)
class RepeatsUsedUp:
    """A call could be tried again and is not, as the client has made as many repeats as its calls allow.

    The gateway is in trouble: more requests would not help it. The call ends with its last attempt's error.
    """

    call: str
    api_id: str | None = None


Event = CallStarted | AttemptFailed | LookedUp | LeaseInDoubt | RepeatsUsedUp | CallEnded
Observer = Callable[[Event], object]


class TerminalState(enum.StrEnum):
    """How a call for a terminal stands."""

    IN_LINE = "in line"
    """Other calls of this client come first, or it has `max_terminals` open."""
    HELD = "held"
    """Somebody else has the terminal."""
    AT_TERMINAL = "at the terminal"
    """The gateway has it, or is getting it: the customer's turn."""
    LOOKING_UP = "looking it up"
    """An answer was lost, this call's or that of the one before it, and the gateway is asked what became of it."""


@attrs.frozen(kw_only=True)
class TerminalProgress:
    """How a call for a terminal stands, for a till's screen: `str(progress)` is a line of it.

    Attributes:
        terminal_id: the terminal.
        api_id: the integrator id of what is made, if it has one.
        state: where the call is.
        holder: who has the terminal, when somebody else does.
        waited: seconds since the call was made.
        left: seconds until this state ends at the latest, or None when nothing bounds it.
    """

    terminal_id: str
    api_id: str | None
    state: TerminalState
    holder: str = ""
    waited: float
    left: float | None

    def __str__(self) -> str:
        stands = f"{self.state} by {self.holder}" if self.holder else str(self.state)
        return f"{stands}, {self.waited:.0f} s" + ("" if self.left is None else f", {self.left:.0f} s left")


OnProgress = Callable[[TerminalProgress], object]

T = TypeVar("T")


def notify(observers: Iterable[Observer], event: Event) -> None:
    """Tell every observer; one that raises is logged and ignored."""
    for observer in observers:
        tell(observer, event, "an observer")


def is_async(callback: object) -> bool:
    """Whether nobody would await what `callback` does."""
    return any(map(inspect.iscoroutinefunction, (callback, getattr(callback, "__call__", None))))  # noqa: B004


def tell(callback: Callable[[T], object], news: T, name: str) -> None:
    """Call a callback; one that raises is logged under its name and ignored, as news must not cost a payment.

    Cancelled is at most some future of its own that it asks, since nothing awaits here.
    """
    try:
        _check_done(callback(news))
    except (Exception, asyncio.CancelledError):
        logger.exception("%s failed", name)


def _check_done(result: object) -> None:
    if inspect.iscoroutine(result):
        result.close()
        raise TypeError("it is async: nobody awaits what it returns")


def log_event(event: Event) -> None:
    """Write an event to the logger `gateway_async.calls`: routine at DEBUG, a retry at INFO, doubt at WARNING.

    What became of a call whose caller was cancelled, and so learns nothing of it, goes to `gateway_async`.
    """
    level = _level(event)
    log = logger if isinstance(event, LookedUp) and event.cancelled else _calls
    if log.isEnabledFor(level):
        log.log(level, "%s", mask_text(_sentence(event)))


def _level(event: Event) -> int:
    match event:
        case AttemptFailed(verdict="again"):
            return logging.INFO
        case AttemptFailed(verdict="look up"):
            return logging.WARNING
        case LeaseInDoubt() | RepeatsUsedUp():
            return logging.WARNING
        case LookedUp(outcome=outcome):
            return logging.ERROR if outcome == "unknown" else logging.WARNING
        case _:
            return logging.DEBUG


def _sentence(event: Event) -> str:
    named = f"{event.call} ({event.api_id})" if event.api_id else event.call
    match event:
        case CallStarted():
            return f"{named} started"
        case AttemptFailed():
            return f"{named} attempt {event.attempt} failed, next: {event.verdict}: {event.error}"
        case LookedUp():
            return f"{named} looked up: {event.outcome}" + (", after cancellation" if event.cancelled else "")
        case RepeatsUsedUp():
            return f"{named} is not tried again: the client's repeats are used up"
        case LeaseInDoubt():
            return f"{named} goes on, the lease of terminal {event.terminal_id} in doubt: {event.reason}"
        case CallEnded():
            ended = "done" if event.error is None else type(event.error).__name__
            return f"{named} ended after {event.attempts} attempts and {event.seconds:.3f} s: {ended}"
