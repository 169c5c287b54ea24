"""The retry policy: a decision table for what to do after a failed attempt.

The table maps how far the request got and what came back (`AttemptResult`), and what a repeated call could change
(`RepeatEffect`), to a `Decision`. `format_table()` returns the table for the documentation.

The table says what is safe. `CallExecutor` then checks whether attempts, time and retry budget are left.
"""

import enum
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

import attrs

from gateway_async._wire.call import RepeatEffect
from gateway_async.errors import (
    AuthenticationError,
    ConnectionLostError,
    DuplicateError,
    GatewayError,
    MalformedReplyError,
    MismatchedReplyError,
    NotSentError,
    SendStage,
    StatusError,
    TerminalBusyError,
)
from gateway_async.observe import NextStep


class AttemptResult(enum.Enum):
    """The result of one failed attempt: how far it got, and what came back."""

    QUEUED = SendStage.NOT_CONNECTED, "–"
    UNWRITTEN = SendStage.NOTHING_WRITTEN, "–"
    LOST = SendStage.SENT, "–"
    TRUNCATED = SendStage.RESPONSE_TRUNCATED, "–"
    UNREADABLE = SendStage.RESPONDED, "2xx that does not parse"
    MISMATCHED = SendStage.RESPONDED, "response to another request"
    THROTTLED = SendStage.RESPONDED, "429"
    EXPIRED = SendStage.RESPONDED, "401 to a token that a login replaces"
    UNTRUSTED = SendStage.RESPONDED, "401 to such a token, not the gateway's JSON"
    OVERLOADED = SendStage.RESPONDED, "502, 503, 504, or 429 that is not the gateway's JSON"
    FAILED = SendStage.RESPONDED, "other 5xx, 3xx, 408"
    NOT_FOUND = SendStage.RESPONDED, "404"
    NOT_FROM_GATEWAY = SendStage.RESPONDED, "404 or other 4xx, not the gateway's JSON"
    INVALID = SendStage.RESPONDED, "422"
    REFUSED = SendStage.RESPONDED, "other 4xx"
    REFUSED_ON_USED_CONNECTION = SendStage.RESPONDED, "422 or other 4xx, on a connection that was used before"
    REFUSED_AFTER_DOUBT = SendStage.RESPONDED, "404 or other 4xx, after an attempt that may have arrived"

    def __init__(self, reached: SendStage, response: str) -> None:
        self.reached = reached
        self.response = response


@attrs.frozen
class Decision:
    """The decision after a failed attempt.

    Attributes:
        step: the next step.
        if_not_found: for a lookup, the step to take if it finds no record.
    """

    step: NextStep
    if_not_found: NextStep = NextStep.STOP

    def __str__(self) -> str:
        return f"{self.step}, else {self.if_not_found}" if self.step is NextStep.LOOK_UP else str(self.step)


_RETRY: Final = Decision(NextStep.AGAIN)
_STOP: Final = Decision(NextStep.STOP)
_RENEW_TOKEN: Final = Decision(NextStep.RENEW_TOKEN)
_LOOK_UP_OR_RETRY: Final = Decision(NextStep.LOOK_UP, NextStep.AGAIN)
_LOOK_UP_OR_RENEW_TOKEN: Final = Decision(NextStep.LOOK_UP, NextStep.RENEW_TOKEN)
_LOOK_UP_OR_STOP: Final = Decision(NextStep.LOOK_UP, NextStep.STOP)
_LOOK_UP_OR_UNKNOWN: Final = Decision(NextStep.LOOK_UP, NextStep.UNKNOWN)


def _row(*, read: Decision, lookup: Decision, repeatable: Decision, once: Decision) -> Mapping[RepeatEffect, Decision]:
    """A row; `repeatable` is for named and idempotent writes, `once` for unnamed ones and terminals."""
    return {
        RepeatEffect.READ: read,
        RepeatEffect.LOOKUP: lookup,
        RepeatEffect.NAMED: repeatable,
        RepeatEffect.IDEMPOTENT: repeatable,
        RepeatEffect.UNNAMED: once,
        RepeatEffect.TERMINAL: once,
    }


def _in_doubt(read: Decision, repeatable: Decision = _LOOK_UP_OR_RETRY) -> Mapping[RepeatEffect, Decision]:
    """The row of an attempt whose outcome is unknown."""
    return _row(read=read, lookup=_RETRY, repeatable=repeatable, once=_LOOK_UP_OR_UNKNOWN)


TABLE: Final[Mapping[AttemptResult, Mapping[RepeatEffect, Decision]]] = {
    AttemptResult.QUEUED: dict.fromkeys(RepeatEffect, _RETRY),
    AttemptResult.UNWRITTEN: dict.fromkeys(RepeatEffect, _RETRY),
    AttemptResult.LOST: _in_doubt(_RETRY),
    AttemptResult.TRUNCATED: _in_doubt(_RETRY),
    AttemptResult.UNREADABLE: _in_doubt(_STOP),
    AttemptResult.MISMATCHED: _in_doubt(_RETRY, _LOOK_UP_OR_UNKNOWN),
    AttemptResult.THROTTLED: _row(read=_RETRY, lookup=_RETRY, repeatable=_LOOK_UP_OR_RETRY, once=_LOOK_UP_OR_STOP),
    # The gateway checks credentials first. A proxy may have sent a copy of the request that the gateway executed.
    AttemptResult.EXPIRED: _row(
        read=_RENEW_TOKEN, lookup=_RENEW_TOKEN, repeatable=_LOOK_UP_OR_RENEW_TOKEN, once=_LOOK_UP_OR_STOP
    ),
    AttemptResult.UNTRUSTED: _row(
        read=_RENEW_TOKEN, lookup=_RENEW_TOKEN, repeatable=_LOOK_UP_OR_UNKNOWN, once=_LOOK_UP_OR_UNKNOWN
    ),
    AttemptResult.OVERLOADED: _in_doubt(_RETRY),
    AttemptResult.FAILED: _in_doubt(_STOP),
    # A 404 may be a late response to another request; a create has no record that could be missing.
    # A lookup's 404 from the gateway is a result and is not classified here; this one comes from a proxy.
    AttemptResult.NOT_FOUND: _row(read=_STOP, lookup=_RETRY, repeatable=_LOOK_UP_OR_STOP, once=_LOOK_UP_OR_STOP),
    # A proxy's page does not tell whether the proxy forwarded the write.
    AttemptResult.NOT_FROM_GATEWAY: _in_doubt(_STOP, _LOOK_UP_OR_UNKNOWN),
    # A proxy may send a request twice, and return the response to the second one: "already voided", "exceeds the rest".
    AttemptResult.INVALID: {
        **dict.fromkeys(RepeatEffect, _STOP),
        RepeatEffect.IDEMPOTENT: _LOOK_UP_OR_STOP,
        RepeatEffect.UNNAMED: _LOOK_UP_OR_STOP,
    },
    AttemptResult.REFUSED: dict.fromkeys(RepeatEffect, _STOP),
    # A connection that is one response behind brings the refusal of another call.
    AttemptResult.REFUSED_ON_USED_CONNECTION: _row(
        read=_STOP, lookup=_STOP, repeatable=_LOOK_UP_OR_STOP, once=_LOOK_UP_OR_STOP
    ),
    # "Already exists", "already voided" and a 404 to a delete can be effects of an earlier attempt of this call.
    AttemptResult.REFUSED_AFTER_DOUBT: _row(read=_STOP, lookup=_STOP, repeatable=_LOOK_UP_OR_UNKNOWN, once=_STOP),
}

_REFUSALS: Final = frozenset(
    {
        AttemptResult.THROTTLED,
        AttemptResult.EXPIRED,
        AttemptResult.INVALID,
        AttemptResult.REFUSED,
        AttemptResult.REFUSED_ON_USED_CONNECTION,
        AttemptResult.REFUSED_AFTER_DOUBT,
    }
)
"""Refusals: the request that was answered changed nothing.

A lookup after one of them finds out about an earlier attempt, about a copy that a proxy sent, or whether the integrator
id is taken.
"""

_FINAL: Final = frozenset({AttemptResult.NOT_FOUND, AttemptResult.INVALID, AttemptResult.REFUSED})
"""Refusals that are final if the gateway itself sent them, and this attempt was the only one."""

_MAY_BE_STALE: Final = frozenset({AttemptResult.INVALID, AttemptResult.REFUSED})
"""Refusals that may belong to an earlier request of the connection. A duplicate does not count: it is open anyway."""

_HONOR_RETRY_AFTER: Final = frozenset({AttemptResult.THROTTLED, AttemptResult.OVERLOADED, AttemptResult.FAILED})
"""Responses whose `Retry-After` is honored."""

_RESULT_BY_REACHED: Final[Mapping[SendStage, AttemptResult]] = {
    SendStage.NOT_CONNECTED: AttemptResult.QUEUED,
    SendStage.NOTHING_WRITTEN: AttemptResult.UNWRITTEN,
    SendStage.RESPONSE_TRUNCATED: AttemptResult.TRUNCATED,
}
_ERRORS: Final[Mapping[type[GatewayError], AttemptResult]] = {
    TerminalBusyError: AttemptResult.REFUSED,
    MismatchedReplyError: AttemptResult.MISMATCHED,
    MalformedReplyError: AttemptResult.UNREADABLE,
}
_STATUSES: Final[Mapping[int, AttemptResult]] = {
    404: AttemptResult.NOT_FOUND,
    422: AttemptResult.INVALID,
    408: AttemptResult.FAILED,
    429: AttemptResult.THROTTLED,
    **dict.fromkeys((502, 503, 504), AttemptResult.OVERLOADED),
}

_FROM_PROXY: Final[Mapping[AttemptResult, AttemptResult]] = {
    **dict.fromkeys(_FINAL, AttemptResult.NOT_FROM_GATEWAY),
    AttemptResult.THROTTLED: AttemptResult.OVERLOADED,
    AttemptResult.EXPIRED: AttemptResult.UNTRUSTED,
}
"""The results of refusals whose bodies the gateway itself did not write."""

BACK_OFF: Final = (0.2, 5.0)
"""Seconds: the maximum of the first pause, which doubles with each attempt, and the overall maximum."""


def classify(
    error: GatewayError, *, may_have_been_executed_before: bool = False, on_reused_connection: bool = False
) -> AttemptResult:
    """Classify the attempt that ended with `error`.

    Args:
        error: the error of the attempt.
        may_have_been_executed_before: whether an earlier attempt of the call may have been executed.
        on_reused_connection: whether the attempt's connection had been used for other requests.
    """
    result = _classify_alone(error)
    if result in _FINAL and may_have_been_executed_before:
        return AttemptResult.REFUSED_AFTER_DOUBT
    if result in _MAY_BE_STALE and on_reused_connection and not isinstance(error, DuplicateError):
        return AttemptResult.REFUSED_ON_USED_CONNECTION
    return result


def _classify_alone(error: GatewayError) -> AttemptResult:
    if isinstance(error, NotSentError | ConnectionLostError):
        return _RESULT_BY_REACHED.get(error.reached, AttemptResult.LOST)
    if isinstance(error, AuthenticationError) and error.is_login:
        return AttemptResult.REFUSED  # whatever its status: the call itself was not sent
    if isinstance(error, StatusError):
        result = _classify_status(error)
        return result if error.is_from_gateway else _FROM_PROXY.get(result, result)
    return next(
        (result for error_class, result in _ERRORS.items() if isinstance(error, error_class)), AttemptResult.LOST
    )


def _classify_status(error: StatusError) -> AttemptResult:
    """Classify a refusal as if the gateway itself wrote it."""
    if isinstance(error, AuthenticationError) and error.has_new_token:
        return AttemptResult.EXPIRED
    if isinstance(error, DuplicateError):
        return AttemptResult.REFUSED  # a lookup would find the record that has the id
    is_refusal = HTTPStatus.BAD_REQUEST <= error.status_code < HTTPStatus.INTERNAL_SERVER_ERROR
    return _STATUSES.get(error.status_code, AttemptResult.REFUSED if is_refusal else AttemptResult.FAILED)


def says_absent(error: GatewayError) -> bool:
    """Whether the gateway itself says that the record does not exist."""
    return classify(error) is AttemptResult.NOT_FOUND


def is_final_refusal(error: GatewayError) -> bool:
    """Whether the gateway itself rejects the request, finally."""
    return classify(error) in _FINAL


def is_definite(effect: RepeatEffect, error: GatewayError, *, may_have_been_executed_before: bool = False) -> bool:
    """Whether `error` proves that its attempt changed nothing. The arguments are as in `classify`."""
    result = classify(error, may_have_been_executed_before=may_have_been_executed_before)
    if result is AttemptResult.NOT_FOUND:  # it may be a late response to another request
        return effect.is_read or effect is RepeatEffect.UNNAMED
    return result in _REFUSALS or TABLE[result][effect].step is not NextStep.LOOK_UP


def decide(
    effect: RepeatEffect,
    error: GatewayError,
    *,
    may_have_been_executed_before: bool = False,
    on_reused_connection: bool = False,
) -> Decision:
    """The decision after `error`. The arguments are as in `classify`."""
    if isinstance(error, NotSentError) and error.ends_call:
        return _STOP  # the client is closed, or the lease of the terminal is lost
    result = classify(
        error, may_have_been_executed_before=may_have_been_executed_before, on_reused_connection=on_reused_connection
    )
    return TABLE[result][effect]


def retry_after(error: GatewayError) -> float:
    """The seconds of the error's `Retry-After` that are honored; 0 without one.

    A random time is added, so that clients do not retry at the same moment.
    """
    if isinstance(error, StatusError) and classify(error) in _HONOR_RETRY_AFTER:
        return error.retry_after or 0.0
    return 0.0


def renews_token(error: GatewayError) -> bool:
    """Whether a repetition begins with a login."""
    return classify(error) in (AttemptResult.EXPIRED, AttemptResult.UNTRUSTED)


def format_table() -> str:
    """Format the decision table as Markdown."""
    effects = [effect.value for effect in RepeatEffect]
    head = ["how far it got", "what came back", *effects, "pause before a retry"]
    rows = [
        [
            result.reached.value,
            result.response,
            *(str(TABLE[result][effect]) for effect in RepeatEffect),
            _pauses(result),
        ]
        for result in AttemptResult
    ]
    lines = ["| " + " | ".join(line) + " |" for line in (head, *rows)]
    return "\n".join([lines[0], "|---" * len(head) + "|", *lines[1:]])


def _pauses(result: AttemptResult) -> str:
    decisions = TABLE[result].values()
    if not any(NextStep.AGAIN in (each.step, each.if_not_found) for each in decisions):
        return "–"  # a login takes its time
    return "`Retry-After` plus backoff" if result in _HONOR_RETRY_AFTER else "backoff"
