"""The retry policy: a decision table for what to do after a failed attempt.

The table maps how far the request got and what came back (`AttemptResult`), and what a repeated call could change
(`Kind`), to a `Decision`. `format_table()` returns the table for the documentation.

The table says what is safe. `CallExecutor` then checks whether attempts, time and retry budget are left.
"""

import enum
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

import attrs

from gateway_async._wire.call import Kind
from gateway_async.errors import (
    AuthenticationError,
    ConnectionLostError,
    DuplicateError,
    GatewayError,
    MalformedReplyError,
    MismatchedReplyError,
    NotSentError,
    Reached,
    StatusError,
    TerminalBusyError,
)
from gateway_async.observe import NextStep


class AttemptResult(enum.Enum):
    """The result of one failed attempt: how far it got, and what came back."""

    QUEUED = Reached.NOT_CONNECTED, "–"
    UNWRITTEN = Reached.NOTHING_WRITTEN, "–"
    LOST = Reached.SENT, "–"
    CUT = Reached.RESPONSE_CUT, "–"
    UNREADABLE = Reached.RESPONDED, "2xx that does not parse"
    MISMATCHED = Reached.RESPONDED, "response to another request"
    THROTTLED = Reached.RESPONDED, "429"
    EXPIRED = Reached.RESPONDED, "401 to a token that a login replaces"
    UNTRUSTED = Reached.RESPONDED, "401 to such a token, not the gateway's JSON"
    OVERLOADED = Reached.RESPONDED, "502, 503, 504, or 429 that is not the gateway's JSON"
    FAILED = Reached.RESPONDED, "other 5xx, 3xx, 408"
    ABSENT = Reached.RESPONDED, "404"
    BLOCKED = Reached.RESPONDED, "404 or other 4xx, not the gateway's JSON"
    INVALID = Reached.RESPONDED, "422"
    REFUSED = Reached.RESPONDED, "other 4xx"
    REFUSED_REUSED = Reached.RESPONDED, "422 or other 4xx, on a connection that was used before"
    REFUSED_LATER = Reached.RESPONDED, "404 or other 4xx, after an attempt that may have arrived"

    def __init__(self, reached: Reached, response: str) -> None:
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


_AGAIN: Final = Decision(NextStep.AGAIN)
_STOP: Final = Decision(NextStep.STOP)
_RENEW_TOKEN: Final = Decision(NextStep.RENEW_TOKEN)
_ELSE_AGAIN: Final = Decision(NextStep.LOOK_UP, NextStep.AGAIN)
_ELSE_RENEW_TOKEN: Final = Decision(NextStep.LOOK_UP, NextStep.RENEW_TOKEN)
_ELSE_STOP: Final = Decision(NextStep.LOOK_UP, NextStep.STOP)
_ELSE_UNKNOWN: Final = Decision(NextStep.LOOK_UP, NextStep.UNKNOWN)


def _row(
    *,
    read: Decision,
    lookup: Decision,
    named: Decision,
    idempotent: Decision,
    unnamed: Decision,
    terminal: Decision,
) -> Mapping[Kind, Decision]:
    return {
        Kind.READ: read,
        Kind.LOOKUP: lookup,
        Kind.NAMED: named,
        Kind.IDEMPOTENT: idempotent,
        Kind.UNNAMED: unnamed,
        Kind.TERMINAL: terminal,
    }


def _in_doubt(read: Decision, write: Decision = _ELSE_AGAIN) -> Mapping[Kind, Decision]:
    """Return the row of an attempt whose outcome is unknown."""
    return _row(read=read, lookup=_AGAIN, named=write, idempotent=write, unnamed=_ELSE_UNKNOWN, terminal=_ELSE_UNKNOWN)


TABLE: Final[Mapping[AttemptResult, Mapping[Kind, Decision]]] = {
    AttemptResult.QUEUED: dict.fromkeys(Kind, _AGAIN),
    AttemptResult.UNWRITTEN: dict.fromkeys(Kind, _AGAIN),
    AttemptResult.LOST: _in_doubt(_AGAIN),
    AttemptResult.CUT: _in_doubt(_AGAIN),
    AttemptResult.UNREADABLE: _in_doubt(_STOP),
    AttemptResult.MISMATCHED: _in_doubt(_AGAIN, _ELSE_UNKNOWN),
    AttemptResult.THROTTLED: _row(
        read=_AGAIN, lookup=_AGAIN, named=_ELSE_AGAIN, idempotent=_ELSE_AGAIN, unnamed=_ELSE_STOP, terminal=_ELSE_STOP
    ),
    # The gateway checks credentials first. A proxy may have sent a copy of the request that the gateway executed.
    AttemptResult.EXPIRED: _row(
        read=_RENEW_TOKEN,
        lookup=_RENEW_TOKEN,
        named=_ELSE_RENEW_TOKEN,
        idempotent=_ELSE_RENEW_TOKEN,
        unnamed=_ELSE_STOP,
        terminal=_ELSE_STOP,
    ),
    AttemptResult.UNTRUSTED: _row(
        read=_RENEW_TOKEN,
        lookup=_RENEW_TOKEN,
        named=_ELSE_UNKNOWN,
        idempotent=_ELSE_UNKNOWN,
        unnamed=_ELSE_UNKNOWN,
        terminal=_ELSE_UNKNOWN,
    ),
    AttemptResult.OVERLOADED: _in_doubt(_AGAIN),
    AttemptResult.FAILED: _in_doubt(_STOP),
    # A 404 may be a late response to another request; a create has no record that could be missing.
    # A lookup's 404 from the gateway is a result and is not classified here; this one comes from a proxy.
    AttemptResult.ABSENT: _row(
        read=_STOP, lookup=_AGAIN, named=_ELSE_STOP, idempotent=_ELSE_STOP, unnamed=_ELSE_STOP, terminal=_ELSE_STOP
    ),
    # A proxy's page does not tell whether the proxy forwarded the write.
    AttemptResult.BLOCKED: _in_doubt(_STOP, _ELSE_UNKNOWN),
    # A proxy may send a request twice, and return the response to the second one: "already voided", "exceeds the rest".
    AttemptResult.INVALID: _row(
        read=_STOP, lookup=_STOP, named=_STOP, idempotent=_ELSE_STOP, unnamed=_ELSE_STOP, terminal=_STOP
    ),
    AttemptResult.REFUSED: dict.fromkeys(Kind, _STOP),
    # A connection that is one response behind brings the refusal of another call.
    AttemptResult.REFUSED_REUSED: _row(
        read=_STOP, lookup=_STOP, named=_ELSE_STOP, idempotent=_ELSE_STOP, unnamed=_ELSE_STOP, terminal=_ELSE_STOP
    ),
    # "Already exists", "already voided" and a 404 to a delete can be effects of an earlier attempt of this call.
    AttemptResult.REFUSED_LATER: _row(
        read=_STOP, lookup=_STOP, named=_ELSE_UNKNOWN, idempotent=_ELSE_UNKNOWN, unnamed=_STOP, terminal=_STOP
    ),
}

_REFUSALS: Final = frozenset(
    {
        AttemptResult.THROTTLED,
        AttemptResult.EXPIRED,
        AttemptResult.INVALID,
        AttemptResult.REFUSED,
        AttemptResult.REFUSED_REUSED,
        AttemptResult.REFUSED_LATER,
    }
)
"""Refusals: the request that was answered changed nothing.

A lookup after one of them finds out about an earlier attempt, about a copy that a proxy sent, or whether the integrator
id is taken.
"""

_FINAL: Final = frozenset({AttemptResult.ABSENT, AttemptResult.INVALID, AttemptResult.REFUSED})
"""Refusals that are final if the gateway itself sent them, and this attempt was the only one."""

_MAY_BE_STALE: Final = frozenset({AttemptResult.INVALID, AttemptResult.REFUSED})
"""Refusals that may belong to an earlier request of the connection. A duplicate does not count: it is open anyway."""

_HONOR_RETRY_AFTER: Final = frozenset({AttemptResult.THROTTLED, AttemptResult.OVERLOADED, AttemptResult.FAILED})
"""Responses whose `Retry-After` is honored."""

_RESULT_BY_REACHED: Final[Mapping[Reached, AttemptResult]] = {
    Reached.NOT_CONNECTED: AttemptResult.QUEUED,
    Reached.NOTHING_WRITTEN: AttemptResult.UNWRITTEN,
    Reached.RESPONSE_CUT: AttemptResult.CUT,
}
_ERRORS: Final[Mapping[type[GatewayError], AttemptResult]] = {
    TerminalBusyError: AttemptResult.REFUSED,
    MismatchedReplyError: AttemptResult.MISMATCHED,
    MalformedReplyError: AttemptResult.UNREADABLE,
}
_STATUSES: Final[Mapping[int, AttemptResult]] = {
    404: AttemptResult.ABSENT,
    422: AttemptResult.INVALID,
    408: AttemptResult.FAILED,
    429: AttemptResult.THROTTLED,
    **dict.fromkeys((502, 503, 504), AttemptResult.OVERLOADED),
}

_FROM_PROXY: Final[Mapping[AttemptResult, AttemptResult]] = {
    **dict.fromkeys(_FINAL, AttemptResult.BLOCKED),
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
        return AttemptResult.REFUSED_LATER
    if result in _MAY_BE_STALE and on_reused_connection and not isinstance(error, DuplicateError):
        return AttemptResult.REFUSED_REUSED
    return result


def _classify_alone(error: GatewayError) -> AttemptResult:
    if isinstance(error, NotSentError | ConnectionLostError):
        return _RESULT_BY_REACHED.get(error.reached, AttemptResult.LOST)
    if isinstance(error, AuthenticationError) and error.is_login:
        return AttemptResult.REFUSED  # whatever its status: the call itself was not sent
    if isinstance(error, StatusError):
        result = _classify_status(error)
        return result if error.is_from_gateway else _FROM_PROXY.get(result, result)
    return next((result for kind, result in _ERRORS.items() if isinstance(error, kind)), AttemptResult.LOST)


def _classify_status(error: StatusError) -> AttemptResult:
    """Classify a refusal as if the gateway itself wrote it."""
    if isinstance(error, AuthenticationError) and error.has_new_token:
        return AttemptResult.EXPIRED
    if isinstance(error, DuplicateError):
        return AttemptResult.REFUSED  # a lookup would find the record that has the id
    is_refusal = HTTPStatus.BAD_REQUEST <= error.status_code < HTTPStatus.INTERNAL_SERVER_ERROR
    return _STATUSES.get(error.status_code, AttemptResult.REFUSED if is_refusal else AttemptResult.FAILED)


def says_absent(error: GatewayError) -> bool:
    """Return whether the gateway itself says that the record does not exist."""
    return classify(error) is AttemptResult.ABSENT


def is_final_refusal(error: GatewayError) -> bool:
    """Return whether the gateway itself rejects the request, finally."""
    return classify(error) in _FINAL


def is_definite(kind: Kind, error: GatewayError, *, may_have_been_executed_before: bool = False) -> bool:
    """Return whether `error` proves that its attempt changed nothing. The arguments are as in `classify`."""
    result = classify(error, may_have_been_executed_before=may_have_been_executed_before)
    if result is AttemptResult.ABSENT:  # it may be a late response to another request
        return kind.is_read or kind is Kind.UNNAMED
    return result in _REFUSALS or TABLE[result][kind].step is not NextStep.LOOK_UP


def decide(
    kind: Kind, error: GatewayError, *, may_have_been_executed_before: bool = False, on_reused_connection: bool = False
) -> Decision:
    """Return the decision after `error`. The arguments are as in `classify`."""
    if isinstance(error, NotSentError) and error.ends_call:
        return _STOP  # the client is closed, or the lease of the terminal is lost
    result = classify(
        error, may_have_been_executed_before=may_have_been_executed_before, on_reused_connection=on_reused_connection
    )
    return TABLE[result][kind]


def retry_after(error: GatewayError) -> float:
    """Return the seconds of the error's `Retry-After` that are honored; 0 without one.

    A random time is added, so that clients do not retry at the same moment.
    """
    if isinstance(error, StatusError) and classify(error) in _HONOR_RETRY_AFTER:
        return error.retry_after or 0.0
    return 0.0


def renews_token(error: GatewayError) -> bool:
    """Return whether a repetition begins with a login."""
    return classify(error) in (AttemptResult.EXPIRED, AttemptResult.UNTRUSTED)


def format_table() -> str:
    """Return the decision table as Markdown."""
    kinds = [kind.value for kind in Kind]
    head = ["how far it got", "what came back", *kinds, "pause before a retry"]
    rows = [
        [result.reached.value, result.response, *(str(TABLE[result][kind]) for kind in Kind), _pauses(result)]
        for result in AttemptResult
    ]
    lines = ["| " + " | ".join(line) + " |" for line in (head, *rows)]
    return "\n".join([lines[0], "|---" * len(head) + "|", *lines[1:]])


def _pauses(result: AttemptResult) -> str:
    decisions = TABLE[result].values()
    if not any(NextStep.AGAIN in (each.step, each.if_not_found) for each in decisions):
        return "–"  # a login takes its time
    return "`Retry-After` plus backoff" if result in _HONOR_RETRY_AFTER else "backoff"
