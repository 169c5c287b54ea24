"""Observers of a client: frozen events for metrics, traces and a till's display.

    def watch(event: Event) -> None:
        if isinstance(event, CallEnded):
            latency.observe(event.seconds)

    AsyncGateway(..., observers=[watch])

Observers are called in order, in the task that makes the call. They are plain functions and must return quickly,
because the event loop waits for them. An observer that raises is logged and ignored. Events contain no card number and
no secret. `log_event` is always installed: it writes to the logger `gateway_async.calls`.
"""

import asyncio
import enum
import inspect
import logging
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar

import attrs

from gateway_async._secrets import mask_text
from gateway_async._text import pluralize
from gateway_async.errors import GatewayError

__all__ = [
    "AttemptEnded",
    "AttemptFailed",
    "AttemptStarted",
    "CallEnded",
    "CallStarted",
    "CircuitClosed",
    "CircuitOpened",
    "Event",
    "LeaseRenewalFailed",
    "LookupOutcome",
    "LookupStarted",
    "NextStep",
    "Observer",
    "OnProgress",
    "OutcomeLookedUp",
    "RecordDiffers",
    "RetryBudgetExhausted",
    "TerminalProgress",
    "TerminalState",
    "TerminalWaitEnded",
    "TerminalWaitStarted",
    "call_safely",
    "call_template",
    "is_async",
    "log_event",
    "notify",
]

logger = logging.getLogger("gateway_async")
"""Logger for failures that are not raised to any caller.

If the program has not configured logging, Python prints them to standard error.
"""

calls_logger: Final = logging.getLogger("gateway_async.calls")
calls_logger.addHandler(logging.NullHandler())  # the caller gets the result or the error


@attrs.frozen(kw_only=True)
class _CallEvent:
    """An event of a call.

    Attributes:
        call: such as `"GET /v2/contacts/11e8…"`.
        call_id: the same in all events of one call; empty for a call of an earlier
            process that `recover()` looks up.
        api_id: the integrator id of what is written, if it has one.
        terminal_id: the terminal, for a call that waits at one.
    """

    call: str
    call_id: str = attrs.field(default="", eq=False)
    api_id: str | None = None
    terminal_id: str | None = None

    @property
    def template(self) -> str:
        """The call without ids, such as `"GET /v2/contacts/{id}"`, as a label for metrics."""
        return call_template(self.call)


class CallStarted(_CallEvent):
    """A call starts."""


class TerminalWaitStarted(_CallEvent):
    """A call starts to wait until its terminal is free."""


@attrs.frozen(kw_only=True)
class TerminalWaitEnded(_CallEvent):
    """A call has its terminal, or gave up.

    Attributes:
        seconds: how long it waited.
        error: the error that ended the wait, or None if the call has the terminal.
    """

    seconds: float
    error: BaseException | None = None


@attrs.frozen(kw_only=True)
class AttemptStarted(_CallEvent):
    """An attempt of a call, or of the lookup of its outcome, starts.

    A lookup has a `call_id` of its own.

    Attributes:
        attempt: its number, from 1.
        gateway: the address of the gateway, without `/v2`.
    """

    attempt: int
    gateway: str


@attrs.frozen(kw_only=True)
class AttemptEnded(_CallEvent):
    """An attempt ended; if it failed, `AttemptFailed` says what comes next.

    Attributes:
        attempt: its number, from 1.
        seconds: its duration, including the wait for a connection.
        status_code: the HTTP status of the response, if there was one.
        error: the error that ended it, or None if it succeeded.
    """

    attempt: int
    seconds: float
    status_code: int | None = None
    error: BaseException | None = None


class NextStep(enum.StrEnum):
    """The next step of a call after a failed attempt."""

    AGAIN = "again"
    RENEW_TOKEN = "renew token"  # noqa: S105  no secret
    """Send it again with a new token, once for each call."""
    LOOK_UP = "look up"
    STOP = "stop"
    """Raise the error."""
    UNKNOWN = "unknown"
    """Raise `OutcomeUnknownError`. It only follows a lookup that found nothing."""


@attrs.frozen(kw_only=True)
class AttemptFailed(_CallEvent):
    """One attempt of a call failed.

    Attributes:
        attempt: its number, from 1.
        seconds: how long the call has taken so far.
        status_code: the HTTP status of the response, if there was one.
        error: the error that ended it.
        next_step: what the client does next.
    """

    attempt: int
    seconds: float = 0.0
    status_code: int | None = None
    error: GatewayError
    next_step: NextStep


class LookupStarted(_CallEvent):
    """The client starts to look up a write; `OutcomeLookedUp` follows."""


class LookupOutcome(enum.StrEnum):
    """The result of looking up a write whose response was lost."""

    FOUND = "found"
    NOT_FOUND = "not found"
    """There was no record at that time; the gateway may still execute the write."""
    UNKNOWN = "unknown"
    """The lookup failed, or was not conclusive."""


@attrs.frozen(kw_only=True)
class OutcomeLookedUp(_CallEvent):
    """The client looked up a write whose response was lost.

    Attributes:
        outcome: what the lookup found.
        error: why the outcome is unknown; None for a known one.
        cancelled: whether the task was cancelled. Then only this event reports the outcome.
    """

    outcome: LookupOutcome
    error: GatewayError | None = None
    cancelled: bool = False


@attrs.frozen(kw_only=True)
class RecordDiffers(_CallEvent):
    """A write was found by its SDK-generated id, but its record differs.

    The call returns the record, because no other request has the id. Compare the amounts before you hand out goods.

    Attributes:
        differences: one line for each value that differs.
    """

    differences: tuple[str, ...]


@attrs.frozen(kw_only=True)
class CallEnded(_CallEvent):
    """A call has ended.

    Attributes:
        attempts: how many attempts it made.
        seconds: its total duration, including waits and lookups.
        status_code: the HTTP status of the last attempt, if that got a response.
        error: the error that it raised, or None if it succeeded.
    """

    attempts: int
    seconds: float
    status_code: int | None = None
    error: BaseException | None = None


@attrs.frozen(kw_only=True)
class LeaseRenewalFailed(_CallEvent):
    """A terminal's lease could not be renewed while a call waits there.

    The call continues safely, but another client may get the terminal meanwhile, and ask the customer again.

    Attributes:
        reason: why the renewal failed, as text.
    """

    reason: str


class RetryBudgetExhausted(_CallEvent):
    """A call is not retried because the client's retry budget is empty.

    Many calls have failed recently, and more requests would only burden the gateway. The call ends with the error of
    its last attempt.
    """


class CircuitOpened(_CallEvent):
    """The circuit breaker opened: the client rejects new writes.

    The attributes describe the call whose attempt failed last. A failed probe opens the breaker again.
    """


class CircuitClosed(_CallEvent):
    """The circuit breaker closed: the gateway responded to this call."""


Event = (
    TerminalWaitStarted
    | TerminalWaitEnded
    | CallStarted
    | AttemptStarted
    | AttemptEnded
    | AttemptFailed
    | LookupStarted
    | OutcomeLookedUp
    | RecordDiffers
    | LeaseRenewalFailed
    | RetryBudgetExhausted
    | CircuitOpened
    | CircuitClosed
    | CallEnded
)
Observer = Callable[[Event], object]


class TerminalState(enum.StrEnum):
    """State of a call for a terminal."""

    QUEUED = "queued"
    """Other calls of this client come first, or `max_terminals` calls are open."""
    HELD = "held"
    """Another client has the terminal."""
    AT_TERMINAL = "at the terminal"
    """The gateway has the call, or is about to get it; the customer is being asked."""
    LOOKING_UP = "looking up"
    """The response to this call, or to the one before it, was lost; its outcome is being looked up."""


@attrs.frozen(kw_only=True)
class TerminalProgress:
    """Progress of a call for a terminal; `str(progress)` is one display line.

    Attributes:
        terminal_id: the terminal.
        api_id: the integrator id of what is made, if it has one.
        state: the state of the call.
        holder: the owner of the terminal's lease, if another client has it.
        waited: seconds since the call was made.
        left: maximum seconds until this state ends, or None if there is no limit.
    """

    terminal_id: str
    api_id: str | None
    state: TerminalState
    holder: str = ""
    waited: float
    left: float | None

    def to_dict(self) -> dict[str, Any]:
        """Convert the attributes to JSON-ready values, for example for a browser."""
        return attrs.asdict(self) | {"state": self.state.value}

    def __str__(self) -> str:
        text = f"{self.state} by {self.holder}" if self.holder else str(self.state)
        return f"{text}, {self.waited:.0f} s" + ("" if self.left is None else f", {self.left:.0f} s left")


OnProgress = Callable[[TerminalProgress], object]

T = TypeVar("T")

_FIRST_ID: Final = 3  # of "", "v2", "contacts", "11e8…"
_NAMED_SEGMENTS: Final = frozenset({"me"})
"""Segments of a path that stand where an id does."""


def call_template(call: str) -> str:
    """Replace the ids in a call such as `"GET /v2/contacts/11e8…"` with `{id}`.

    Names and ids alternate in the gateway's paths: a resource, its id, an action or a part, and the part's id.
    """
    method, _, path = call.partition(" ")
    segments = path.split("/")
    for place in range(_FIRST_ID, len(segments), 2):
        if segments[place] not in _NAMED_SEGMENTS:
            segments[place] = "{id}"
    return f"{method} {'/'.join(segments)}".strip()


def notify(observers: Iterable[Observer], event: Event) -> None:
    """Pass an event to every observer; one that raises is logged and ignored."""
    for observer in observers:
        call_safely(observer, event, "an observer")


def is_async(callback: object) -> bool:
    """Whether calling `callback` would return a coroutine."""
    return any(map(inspect.iscoroutinefunction, (callback, getattr(callback, "__call__", None))))  # noqa: B004


def call_safely(callback: Callable[[T], object], news: T, name: str) -> None:
    """Call a callback; log an exception under `name` and ignore it.

    A failing observer must not fail a payment. Even a `CancelledError` is ignored: nothing is awaited here, so it can
    only come from a future that the callback itself reads.
    """
    try:
        _check_done(callback(news))
    except (Exception, asyncio.CancelledError):
        logger.exception("%s failed", name)


def _check_done(result: object) -> None:
    if inspect.iscoroutine(result):
        result.close()
        raise TypeError("an async function, whose result is not awaited (expected a plain function)")


def log_event(event: Event) -> None:
    """Write an event to the logger `gateway_async.calls`.

    Routine events are logged at DEBUG, retries at INFO, and outcomes that stay unknown after their lookup at ERROR.
    Other lookups, differing records, lost leases, an empty retry budget and an opening circuit breaker are logged at
    WARNING. The outcome of a cancelled call and a differing record go to the logger `gateway_async`, because no caller
    receives them.
    """
    level = _level(event)
    has_no_caller = isinstance(event, RecordDiffers) or (isinstance(event, OutcomeLookedUp) and event.cancelled)
    log = logger if has_no_caller else calls_logger
    if log.isEnabledFor(level):
        log.log(level, "%s", mask_text(_sentence(event)))


def _level(event: Event) -> int:
    match event:
        case AttemptFailed(next_step=NextStep.AGAIN) | CircuitClosed():
            return logging.INFO
        case OutcomeLookedUp(outcome=LookupOutcome.UNKNOWN):
            return logging.ERROR
        case AttemptFailed(next_step=NextStep.LOOK_UP) | OutcomeLookedUp():
            return logging.WARNING
        case LeaseRenewalFailed() | RecordDiffers() | RetryBudgetExhausted() | CircuitOpened():
            return logging.WARNING
        case _:
            return logging.DEBUG


def _sentence(event: Event) -> str:  # noqa: C901, PLR0911, PLR0912  one for each event
    named = f"{event.call} ({event.api_id})" if event.api_id else event.call
    match event:
        case TerminalWaitStarted(terminal_id=terminal_id):
            return f"{named} waits for terminal {terminal_id}"
        case TerminalWaitEnded(terminal_id=terminal_id, seconds=seconds, error=error):
            return f"{named} waited {seconds:.3f} s for terminal {terminal_id}: {_result(error)}"
        case CallStarted():
            return f"{named} started"
        case AttemptStarted(attempt=attempt):
            return f"{named} attempt {attempt} started"
        case AttemptEnded(attempt=attempt, seconds=seconds, error=error):
            return f"{named} attempt {attempt} ended after {seconds:.3f} s: {_result(error)}"
        case LookupStarted():
            return f"{named} is looked up"
        case AttemptFailed():
            return f"{named} attempt {event.attempt} failed, next: {event.next_step}: {event.error}"
        case OutcomeLookedUp():
            reason = f": {event.error}" if event.error else ""
            return f"{named} looked up: {event.outcome}{', after cancellation' if event.cancelled else ''}{reason}"
        case RecordDiffers(differences=differences):
            return f"{named} found by its id; the record differs from what was sent: {'; '.join(differences)}"
        case RetryBudgetExhausted():
            return f"{named} is not retried: the client's retry budget is exhausted"
        case CircuitOpened():
            return f"{named} found the gateway unreachable: the circuit breaker opened"
        case CircuitClosed():
            return f"{named} reached the gateway: the circuit breaker closed"
        case LeaseRenewalFailed():
            return f"{named} continues; the lease of terminal {event.terminal_id} was not renewed: {event.reason}"
        case CallEnded(attempts=attempts, seconds=seconds, error=error):
            made = f"{attempts} {pluralize(attempts, 'attempt')}"
            return f"{named} ended after {made} and {seconds:.3f} s: {_result(error)}"


def _result(error: BaseException | None) -> str:
    return "done" if error is None else type(error).__name__
