"""`CallState`: the attempts of one call, and the time that remains for it."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from typing import Final, Generic, TypeVar

import anyio

from gateway_async._execution.retry_budget import RetryBudget
from gateway_async._wire.call import Call, Kind
from gateway_async._wire.retry_policy import NextStep, backoff, classify, decide, is_definite
from gateway_async.errors import GatewayError, OutcomeUnknownError, Reached

__all__ = ["LOOKUP_SECONDS", "CallState", "NotExecutedError"]

T = TypeVar("T")

_UNBOUND: Final = nullcontext()

LOOKUP_SECONDS: Final = 10.0
"""Maximum seconds for the lookup of a terminal call or of a cancelled call."""


class NotExecutedError(GatewayError):
    """A lookup found that the write was not executed.

    The write may be sent again.
    """

    def __init__(self, cause: GatewayError) -> None:
        super().__init__(str(cause))
        self.cause = cause


class CallState(Generic[T]):
    """State of one call: its attempts, and the time that remains.

    Args:
        call: the call to send.
        seconds: total time for the call, with lookups.
        max_attempts: maximum number of attempts.
        budget: the budget from which retries are withdrawn. None means unlimited, as for the reads of a lookup.
        in_doubt_seconds: for a write: seconds after an attempt in which the gateway may still execute it. This is an
            assumption: the contract gives no limit.

    Attributes:
        attempt: the number of the last attempt, from 1.
        attempt_timeout: maximum seconds for all attempts, without the time reserved for a lookup.
        attempts_until: the time at which the last attempt must end.
        identity: identifies the call; the same in copies.
        intent_id: the call's intent in the ledger, if it has one.
        may_arrive_until: the time until which the gateway may still execute the write.
        may_have_been_sent: whether an attempt of the call may have been executed.
        on_lookup: called before each lookup of the outcome.
        pause: seconds to wait before the next attempt.
        reached: how far the furthest attempt got that may have been executed.
        started: the time at which the call started.
        unresolved: the error of a call that ended with an unknown outcome.
    """

    __slots__ = (
        "attempt",
        "attempt_timeout",
        "attempts_until",
        "budget",
        "call",
        "identity",
        "in_doubt_seconds",
        "intent_id",
        "max_attempts",
        "may_arrive_until",
        "may_have_been_sent",
        "on_lookup",
        "pause",
        "reached",
        "seconds",
        "started",
        "unresolved",
    )

    def __init__(
        self,
        call: Call[T],
        seconds: float,
        max_attempts: int,
        budget: RetryBudget | None = None,
        in_doubt_seconds: float = 0.0,
    ) -> None:
        self.call = call
        self.identity = object()
        self.budget = budget
        self.in_doubt_seconds = in_doubt_seconds
        self.max_attempts = max_attempts
        self.seconds = seconds
        self.started = anyio.current_time()
        self.attempt_timeout = seconds - _lookup_reserve(call.kind, seconds)
        self.attempts_until = self.started + self.attempt_timeout
        self.attempt = 0
        self.pause = 0.0
        self.reached: Reached | None = None
        self.may_have_been_sent = False
        self.may_arrive_until = self.started
        self.intent_id: str | None = None
        self.unresolved: OutcomeUnknownError | None = None
        self.on_lookup: Callable[[], object] = lambda: None

    def without_body(self) -> "CallState[T]":
        """Return a copy for a later lookup, without the request body."""
        kept = copy(self)
        kept.call = self.call.without_body()
        return kept

    def deadline_scope(self) -> anyio.CancelScope:
        """Return a cancel scope with the deadline of the whole call."""
        return anyio.CancelScope(deadline=self.started + self.seconds)

    def attempt_scope(self) -> AbstractContextManager[object, bool | None]:
        """Return a scope with the deadline of an attempt.

        A read has only the deadline of the whole call.
        """
        return _UNBOUND if self.call.kind.is_read else anyio.CancelScope(deadline=self.attempts_until)

    def record_failure(self, error: GatewayError, *, unclear: bool = False) -> None:
        """Record a failed attempt that the gateway may have executed.

        With `unclear`, it may have, even if `error` says otherwise.
        """
        if unclear or not is_definite(self.call.kind, error, may_have_been_sent_before=self.may_have_been_sent):
            self.reached = max(self.reached or Reached.SENT, classify(error).reached, key=list(Reached).index)
            self.may_have_been_sent = True
            held = self.attempts_until if self.call.kind is Kind.TERMINAL else 0.0
            self.may_arrive_until = max(anyio.current_time(), held) + self.in_doubt_seconds

    def can_retry(self, error: BaseException, random_share: float) -> bool:
        """Return whether another attempt is safe, allowed, and can start in time.

        The next attempt would start `pause` seconds from now.

        Args:
            error: the error of the last attempt.
            random_share: a random number from 0 to 1.
        """
        cause = error.cause if isinstance(error, NotExecutedError) else error
        if not isinstance(cause, GatewayError) or self.attempt >= self.max_attempts:
            return False
        if error is cause and decide(self.call.kind, cause).step is not NextStep.AGAIN:
            return False
        self.pause = backoff(cause, self.attempt, random_share)
        return anyio.current_time() + self.pause < self.attempts_until

    def try_withdraw(self) -> bool:
        """Withdraw a retry from the budget, if the call has one."""
        return self.budget is None or self.budget.try_withdraw()


def _lookup_reserve(kind: Kind, seconds: float) -> float:
    """Return the seconds that are reserved for a lookup."""
    match kind:
        case Kind.READ | Kind.LOOKUP:
            return 0.0
        case Kind.TERMINAL:
            return LOOKUP_SECONDS
        case _:
            return min(LOOKUP_SECONDS, seconds / 3)
