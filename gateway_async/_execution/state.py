"""`CallPlan` and `CallState`: what is fixed before a call is sent, and what its attempts have shown so far."""

from collections.abc import Awaitable, Callable
from copy import copy
from typing import Any, Final, Generic, TypeVar

import anyio
import attrs

from gateway_async._execution.events import event_facts, new_call_id
from gateway_async._http.progress import Progress, Stage
from gateway_async._wire.call import Call, RepeatEffect
from gateway_async._wire.retry_policy import classify, is_definite
from gateway_async.errors import GatewayError, OutcomeUnknownError, SendStage

T = TypeVar("T")

LOOKUP_SECONDS: Final = 10.0
"""Maximum seconds for the lookup of a terminal call or of a cancelled call."""

_TERMINAL_SECONDS: Final = 300.0
"""Seconds that a terminal may wait for its customer (contract, *Limits*), also if the client has stopped waiting."""


def seconds_in_doubt(in_doubt_seconds: float, *, at_terminal: bool) -> float:
    """How long after its sending a write may still be executed."""
    return in_doubt_seconds + _TERMINAL_SECONDS if at_terminal else in_doubt_seconds


@attrs.frozen(kw_only=True, eq=False, repr=False)
class CallPlan(Generic[T]):
    """A call and its limits.

    Attributes:
        call: the call to send.
        seconds: total time for the call, with lookups.
        max_attempts: maximum number of attempts, without the one after the renewal of a token.
        in_doubt_seconds: for a write: assumed seconds after an attempt in which the gateway may still execute it.
        call_id: identifies the call in its events; "" until there is one.
        before_sending: raises an error if the call must not be sent any more; None for calls without a check.
        on_lookup: is called before each lookup of the outcome.
        started: the time at which the call started.
        token: identifies the call, also in a copy without its body.
    """

    call: Call[T]
    seconds: float
    max_attempts: int
    in_doubt_seconds: float = 0.0
    call_id: str = ""
    before_sending: Callable[[], Awaitable[None]] | None = None
    on_lookup: Callable[[], object] | None = None
    started: float = attrs.field(factory=anyio.current_time)
    token: object = attrs.field(factory=object)

    @property
    def until(self) -> float:
        return self.started + self.seconds

    @property
    def seconds_for_attempts(self) -> float:
        """Maximum seconds for all attempts, without the time reserved for a lookup."""
        match self.call.repeat_effect:
            case RepeatEffect.READ | RepeatEffect.LOOKUP:
                return self.seconds
            case RepeatEffect.TERMINAL:
                return self.seconds - LOOKUP_SECONDS
            case _:
                return self.seconds - min(LOOKUP_SECONDS, self.seconds / 3)

    @property
    def attempts_until(self) -> float:
        return self.started + self.seconds_for_attempts

    @property
    def seconds_in_doubt(self) -> float:
        """How long the gateway may still execute the write after it was sent."""
        return seconds_in_doubt(self.in_doubt_seconds, at_terminal=self.call.repeat_effect is RepeatEffect.TERMINAL)


class CallState(Generic[T]):
    """The attempts of one call.

    Attributes:
        plan: the call and its limits.
        call: the call to send; a read may be repeated on a fresh connection.
        attempt: the number of the last attempt, from 1.
        call_id: identifies the call in its events; generated for the first one.
        has_new_token: whether an attempt was repeated with a new token.
        in_doubt_until: when the write stops being in doubt.
        intent_id: the call's intent in the ledger, if it has one.
        is_observed: whether its routine events are emitted.
        may_have_been_executed: whether an attempt of the call may have been executed.
        may_have_been_executed_before: the same, without the last attempt.
        progress: how far the last attempt got.
        reached: the furthest stage of an attempt that the gateway may have executed.
        unresolved: the error of a call that ended with an unknown outcome.
    """

    def __init__(self, plan: CallPlan[T]) -> None:
        self.plan = plan
        self.call = plan.call
        self.call_id = plan.call_id
        self.attempt = 0
        self.has_new_token = False
        self.is_observed = False
        self.progress: Progress | None = None
        self.reached: SendStage | None = None
        self.may_have_been_executed = self.may_have_been_executed_before = False
        self.in_doubt_until = plan.started
        self.intent_id: str | None = None
        self.unresolved: OutcomeUnknownError | None = None

    def without_body(self) -> "CallState[T]":
        """A copy for a lookup after the call's end."""
        kept = copy(self)
        kept.call = self.call.without_body()
        kept.plan = attrs.evolve(self.plan, call=kept.call, on_lookup=None)
        return kept

    @property
    def facts(self) -> dict[str, Any]:
        self.call_id = self.call_id or new_call_id()
        return event_facts(self.call, self.call_id)

    @property
    def end_facts(self) -> dict[str, Any]:
        """The facts that the events of an end contain, with the seconds since the call's start."""
        status_code = None if self.progress is None else self.progress.status_code
        return {**self.facts, "seconds": anyio.current_time() - self.plan.started, "status_code": status_code}

    @property
    def is_on_reused_connection(self) -> bool:
        return self.progress is not None and self.progress.is_reused

    def begin_attempt(self) -> Progress:
        """Count an attempt, and return its progress."""
        self.attempt += 1
        self.may_have_been_executed_before = self.may_have_been_executed
        self.progress = progress = Progress()
        progress.stage = Stage.QUEUED
        progress.before_sending = self.plan.before_sending
        return progress

    def record_failure(self, error: GatewayError, *, unclear: bool = False) -> None:
        """Record a failed attempt, unless `error` proves that nothing was executed; if `unclear`, it proves nothing."""
        if unclear or not is_definite(
            self.call.repeat_effect, error, may_have_been_executed_before=self.may_have_been_executed
        ):
            self.reached = max(self.reached or SendStage.SENT, classify(error).reached, key=list(SendStage).index)
            self.may_have_been_executed = True
            now = anyio.current_time()
            sent_at = now if self.progress is None or self.progress.sent_at is None else self.progress.sent_at
            # A terminal's 300 s count from the sending. The time for a late arrival counts from now.
            self.in_doubt_until = max(now + self.plan.in_doubt_seconds, sent_at + self.plan.seconds_in_doubt)
