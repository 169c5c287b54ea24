"""`Delivery`: one call on its way, what has been tried, and how much time is left for more."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Final, Generic, TypeVar

import anyio

from gateway_async._net.budget import Budget
from gateway_async._wire.call import Call, Kind
from gateway_async._wire.retrying import Verdict, decide, fate_of, is_definite, pause
from gateway_async.errors import GatewayError, OutcomeUnknownError, Reached

__all__ = ["LOOKUP_SECONDS", "MAY_ARRIVE_SECONDS", "Delivery", "NotDoneError"]

T = TypeVar("T")

_UNBOUND: Final = nullcontext()

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
    """One call on its way: what has been tried, and how much time is left.

    Args:
        call: what is sent.
        seconds: for all of it, lookups included.
        max_attempts: how often it is tried at most.
        budget: what repeats are taken from; None when they are not limited, as those of a lookup.
    """

    __slots__ = (
        "attempt",
        "attempts_until",
        "budget",
        "call",
        "doubt",
        "intent_id",
        "max_attempts",
        "may_arrive_until",
        "may_have_left",
        "on_lookup",
        "patience",
        "pause",
        "reached",
        "seconds",
        "started",
    )

    def __init__(self, call: Call[T], seconds: float, max_attempts: int, budget: Budget | None = None) -> None:
        self.call = call
        self.budget = budget
        self.max_attempts = max_attempts
        self.seconds = seconds
        self.started = anyio.current_time()
        self.patience = seconds - _lookup_reserve(call.kind, seconds)
        self.attempts_until = self.started + self.patience
        self.attempt = 0
        self.pause = 0.0
        self.reached: Reached | None = None
        self.may_have_left = False
        self.may_arrive_until = self.started
        self.intent_id: str | None = None
        self.doubt: OutcomeUnknownError | None = None
        self.on_lookup: Callable[[], object] = lambda: None

    def in_time(self) -> anyio.CancelScope:
        """Bounds all of it."""
        return anyio.CancelScope(deadline=self.started + self.seconds)

    def attempt_in_time(self) -> AbstractContextManager[object, bool | None]:
        """Bounds an attempt; a read is bounded by its deadline alone."""
        return _UNBOUND if self.call.kind.is_read else anyio.CancelScope(deadline=self.attempts_until)

    def note(self, error: GatewayError) -> None:
        """Keep in mind how an attempt ended, if the gateway may have carried it out."""
        if not is_definite(self.call.kind, error, may_have_left_before=self.may_have_left):
            self.reached = max(self.reached or Reached.SENT, fate_of(error).reached, key=list(Reached).index)
            self.may_have_left = True
            held = self.attempts_until if self.call.kind is Kind.TERMINAL else 0.0
            self.may_arrive_until = max(anyio.current_time(), held) + MAY_ARRIVE_SECONDS

    def may_repeat(self, error: BaseException, chance: float) -> bool:
        """Whether another attempt is safe, allowed, and can begin in time, `pause` seconds from now.

        Args:
            error: what the last attempt ended with.
            chance: a random number from 0 to 1.
        """
        cause = error.cause if isinstance(error, NotDoneError) else error
        if not isinstance(cause, GatewayError) or self.attempt >= self.max_attempts:
            return False
        if error is cause and decide(self.call.kind, cause).step is not Verdict.AGAIN:
            return False
        self.pause = pause(cause, self.attempt, chance)
        return anyio.current_time() + self.pause < self.attempts_until

    def spend(self) -> bool:
        """Take a repeat out of the budget, if it has one."""
        return self.budget is None or self.budget.spend()


def _lookup_reserve(kind: Kind, seconds: float) -> float:
    """The part of a call's time that its attempts leave for the lookup."""
    match kind:
        case Kind.READ | Kind.LOOKUP:
            return 0.0
        case Kind.TERMINAL:
            return LOOKUP_SECONDS
        case _:
            return min(LOOKUP_SECONDS, seconds / 3)
