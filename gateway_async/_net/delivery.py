"""`Delivery`: one call on its way, what has been tried, and how much time is left for more."""

from typing import Final, Generic, TypeVar

import anyio

from gateway_async._wire.call import Call, Kind
from gateway_async._wire.retrying import Verdict, pause, verdict
from gateway_async.errors import GatewayError

__all__ = ["LOOKUP_SECONDS", "MAY_ARRIVE_SECONDS", "Delivery", "NotDoneError"]

T = TypeVar("T")

LOOKUP_SECONDS: Final = 10.0
"""How long looking up may take after a terminal call, and how long it may hold back a cancellation."""


MAY_ARRIVE_SECONDS: Final = 30.0
"""How long after an attempt the gateway may still carry out what it got; then "not there" is certain."""


class NotDoneError(GatewayError):
    """The lookup said that the write was not carried out: it may be sent again."""

    def __init__(self, cause: GatewayError) -> None:
        super().__init__(str(cause))
        self.cause = cause


class Delivery(Generic[T]):
    """One call on its way: what has been tried, and how much time is left."""

    __slots__ = (
        "attempt",
        "attempts_until",
        "call",
        "max_attempts",
        "may_arrive_until",
        "may_have_left",
        "patience",
        "started",
    )

    def __init__(self, call: Call[T], seconds: float, max_attempts: int) -> None:
        self.call = call
        self.max_attempts = max_attempts
        self.started = anyio.current_time()
        self.patience = seconds - _lookup_reserve(call.kind, seconds)
        self.attempts_until = self.started + self.patience
        self.attempt = 0
        self.may_have_left = False
        self.may_arrive_until = self.started

    def attempt_seconds(self) -> float | None:
        """How long an attempt may take; a read is bounded by its deadline alone."""
        return None if self.call.kind is Kind.READ else self.attempts_until - anyio.current_time()

    def note(self, *, may_have_left: bool) -> None:
        """Keep in mind that an attempt ended without a clear answer, if the gateway may have got it."""
        if may_have_left:
            self.may_have_left = True
            held = self.attempts_until if self.call.kind is Kind.TERMINAL else 0.0
            self.may_arrive_until = max(anyio.current_time(), held) + MAY_ARRIVE_SECONDS

    def may_repeat(self, error: BaseException) -> bool:
        """Whether another attempt is safe, allowed, and can begin in time."""
        if not isinstance(error, GatewayError) or self.attempt >= self.max_attempts:
            return False
        safe = isinstance(error, NotDoneError) or verdict(self.call.kind, error) is Verdict.AGAIN
        return safe and anyio.current_time() + self.pause(error, 0.0) < self.attempts_until

    def pause(self, error: BaseException, jitter: float) -> float:
        """Seconds to wait before the next attempt."""
        cause = error.cause if isinstance(error, NotDoneError) else error
        return pause(cause, self.attempt, jitter) if isinstance(cause, GatewayError) else 0.0


def _lookup_reserve(kind: Kind, seconds: float) -> float:
    """The part of a call's time that its attempts leave for the lookup."""
    match kind:
        case Kind.READ:
            return 0.0
        case Kind.TERMINAL:
            return LOOKUP_SECONDS
        case _:
            return min(LOOKUP_SECONDS, seconds / 3)
