"""`CallState`: the attempts of one call, and the time that remains for it.

`Attempts` and `OutcomeResolver` record failures, and `LedgerRecorder` the intent. `CallExecutor` records the outcome.
"""

from collections.abc import Awaitable, Callable
from copy import copy
from typing import Any, Final, Generic, TypeVar

import anyio

from gateway_async._execution.events import event_facts, new_call_id
from gateway_async._execution.retry_budget import RetryBudget
from gateway_async._http.progress import Progress
from gateway_async._wire.call import Call, Kind
from gateway_async._wire.retry_policy import classify, is_definite
from gateway_async.errors import GatewayError, OutcomeUnknownError, Reached

__all__ = ["LOOKUP_SECONDS", "CallState", "seconds_in_doubt"]

T = TypeVar("T")

LOOKUP_SECONDS: Final = 10.0
"""Maximum seconds for the lookup of a terminal call or of a cancelled call."""


_TERMINAL_SECONDS: Final = 300.0
"""Seconds that a terminal may wait for its customer after a request was sent (contract, *Limits*).

The client's `terminal_timeout` does not change it: the device does not notice that the client has stopped waiting.
"""


def seconds_in_doubt(in_doubt_seconds: float, *, at_terminal: bool) -> float:
    """Return how long after its sending a write may still be executed."""
    return in_doubt_seconds + _TERMINAL_SECONDS if at_terminal else in_doubt_seconds


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
        before_sending: raises an error if the call must not be sent any more; None for calls without a check.
        call_id: identifies the call in its events; generated for the first one.
        has_new_token: whether an attempt was repeated with a new token.
        identity: identifies the call; the same in copies.
        intent_id: the call's intent in the ledger, if it has one.
        is_observed: whether its routine events are emitted.
        may_arrive_until: the time until which the gateway may still execute the write.
        may_have_been_sent: whether an attempt of the call may have been executed.
        may_have_been_sent_before: the same, without the last attempt.
        progress: how far the last attempt got.
        reached: the furthest stage of an attempt that the gateway may have executed.
        started: the time at which the call started.
        unresolved: the error of a call that ended with an unknown outcome.
        until: the time at which the call must end.
    """

    __slots__ = (
        "attempt",
        "attempt_timeout",
        "attempts_until",
        "before_sending",
        "budget",
        "call",
        "call_id",
        "has_new_token",
        "identity",
        "in_doubt_seconds",
        "intent_id",
        "is_observed",
        "max_attempts",
        "may_arrive_until",
        "may_have_been_sent",
        "may_have_been_sent_before",
        "progress",
        "reached",
        "seconds",
        "started",
        "unresolved",
        "until",
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
        self.until = self.started + seconds
        self.attempt_timeout = seconds - _lookup_reserve(call.kind, seconds)
        self.attempts_until = self.started + self.attempt_timeout
        self.before_sending: Callable[[], Awaitable[None]] | None = None
        self.attempt = 0
        self.call_id = ""
        self.has_new_token = False
        self.is_observed = False
        self.progress: Progress | None = None
        self.reached: Reached | None = None
        self.may_have_been_sent = self.may_have_been_sent_before = False
        self.may_arrive_until = self.started
        self.intent_id: str | None = None
        self.unresolved: OutcomeUnknownError | None = None

    def without_body(self) -> "CallState[T]":
        """Return a copy for a later lookup, without the request body."""
        kept = copy(self)
        kept.call = self.call.without_body()
        return kept

    def event_facts(self) -> dict[str, Any]:
        """Return what all events of the call contain."""
        self.call_id = self.call_id or new_call_id()
        return event_facts(self.call, self.call_id)

    @property
    def status_code(self) -> int | None:
        """The HTTP status of the last attempt, if it got a response."""
        return self.progress.status_code if self.progress else None

    def begin_attempt(self, progress: Progress) -> None:
        """Count an attempt."""
        self.attempt += 1
        self.progress = progress
        self.may_have_been_sent_before = self.may_have_been_sent

    def record_failure(self, error: GatewayError, *, unclear: bool = False) -> None:
        """Record a failed attempt that the gateway may have executed.

        With `unclear`, it may have, even if `error` says otherwise.
        """
        if unclear or not is_definite(self.call.kind, error, may_have_been_sent_before=self.may_have_been_sent):
            self.reached = max(self.reached or Reached.SENT, classify(error).reached, key=list(Reached).index)
            self.may_have_been_sent = True
            now = anyio.current_time()
            sent_at = now if self.progress is None or self.progress.sent_at is None else self.progress.sent_at
            self.may_arrive_until = max(now + self.in_doubt_seconds, sent_at + self.seconds_in_doubt)

    @property
    def seconds_in_doubt(self) -> float:
        """How long the gateway may still execute the write after it was sent."""
        return seconds_in_doubt(self.in_doubt_seconds, at_terminal=self.call.kind is Kind.TERMINAL)

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
