"""What to do after an attempt that did not end well: the decision table of money.

How far the request got and what came back (`Fate`) × what repeating the call could do (`Kind`) → `Decision`.
`print_table()` is what the documentation shows; nothing that decides stands outside the table.
"""

import enum
from collections.abc import Mapping
from typing import Final

import attrs

from gateway_async._wire.call import Kind
from gateway_async.errors import (
    AuthenticationError,
    ClientClosedError,
    ConnectionLostError,
    GatewayError,
    MalformedReplyError,
    MismatchedReplyError,
    NotSentError,
    Reached,
    StatusError,
    TerminalBusyError,
)

__all__ = [
    "BACK_OFF",
    "TABLE",
    "Decision",
    "Fate",
    "Verdict",
    "decide",
    "fate_of",
    "is_definite",
    "pause",
    "print_table",
]


class Fate(enum.Enum):
    """What became of one attempt: how far it got, and what came back."""

    QUEUED = Reached.NOT_CONNECTED, "–"
    UNWRITTEN = Reached.NOTHING_WRITTEN, "–"
    LOST = Reached.SENT, "–"
    CUT = Reached.ANSWER_CUT, "–"
    UNREADABLE = Reached.ANSWERED, "2xx that does not parse"
    MISMATCHED = Reached.ANSWERED, "another question's answer"
    THROTTLED = Reached.ANSWERED, "429"
    OVERLOADED = Reached.ANSWERED, "502, 503, 504"
    FAILED = Reached.ANSWERED, "other 5xx, 3xx, 408"
    ABSENT = Reached.ANSWERED, "404"
    REFUSED = Reached.ANSWERED, "other 4xx"
    REFUSED_LATER = Reached.ANSWERED, "404 or other 4xx, after a try that may have arrived"

    def __init__(self, reached: Reached, answer: str) -> None:
        self.reached = reached
        self.answer = answer


class Verdict(enum.Enum):
    """What to do next."""

    AGAIN = "again"
    LOOK_UP = "look up"
    STOP = "stop"
    UNKNOWN = "unknown"
    """It ends as `OutcomeUnknownError`."""


@attrs.frozen
class Decision:
    """What to do after an attempt.

    Attributes:
        step: the next step.
        otherwise: of a lookup: what to do when it finds nothing.
    """

    step: Verdict
    otherwise: Verdict = Verdict.STOP

    def __str__(self) -> str:
        return f"look up, else {self.otherwise.value}" if self.step is Verdict.LOOK_UP else self.step.value


_AGAIN: Final = Decision(Verdict.AGAIN)
_STOP: Final = Decision(Verdict.STOP)
_ELSE_AGAIN: Final = Decision(Verdict.LOOK_UP, Verdict.AGAIN)
_ELSE_STOP: Final = Decision(Verdict.LOOK_UP, Verdict.STOP)
_ELSE_UNKNOWN: Final = Decision(Verdict.LOOK_UP, Verdict.UNKNOWN)


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
    """The row of an attempt whose outcome nobody knows."""
    return _row(read=read, lookup=_AGAIN, named=write, idempotent=write, unnamed=_ELSE_UNKNOWN, terminal=_ELSE_UNKNOWN)


TABLE: Final[Mapping[Fate, Mapping[Kind, Decision]]] = {
    Fate.QUEUED: dict.fromkeys(Kind, _AGAIN),
    Fate.UNWRITTEN: dict.fromkeys(Kind, _AGAIN),
    Fate.LOST: _in_doubt(_AGAIN),
    Fate.CUT: _in_doubt(_AGAIN),
    Fate.UNREADABLE: _in_doubt(_STOP),
    Fate.MISMATCHED: _in_doubt(_AGAIN, _ELSE_UNKNOWN),
    Fate.THROTTLED: _row(
        read=_AGAIN, lookup=_AGAIN, named=_ELSE_AGAIN, idempotent=_ELSE_AGAIN, unnamed=_STOP, terminal=_STOP
    ),
    Fate.OVERLOADED: _in_doubt(_AGAIN),
    Fate.FAILED: _in_doubt(_STOP),
    # What makes a record has none yet that could be missing: a 404 may be another request's answer.
    # A lookup's own 404 is an answer, and does not come here: this one is a proxy's.
    Fate.ABSENT: _row(
        read=_STOP, lookup=_AGAIN, named=_ELSE_STOP, idempotent=_STOP, unnamed=_STOP, terminal=_ELSE_STOP
    ),
    Fate.REFUSED: dict.fromkeys(Kind, _STOP),
    # "Already exists", "already voided", 404 to a delete: that can be the earlier try's doing, done or still to come.
    Fate.REFUSED_LATER: _row(
        read=_STOP, lookup=_STOP, named=_ELSE_UNKNOWN, idempotent=_ELSE_UNKNOWN, unnamed=_STOP, terminal=_STOP
    ),
}

_REFUSALS: Final = frozenset({Fate.THROTTLED, Fate.REFUSED, Fate.REFUSED_LATER})
"""What is looked up after these is an earlier attempt, or whether the name is taken."""

_MAY_ASK: Final = frozenset({Fate.THROTTLED, Fate.OVERLOADED, Fate.FAILED})
"""Answers whose `Retry-After` is kept."""

_BROKEN_OFF: Final[Mapping[Reached, Fate]] = {
    Reached.NOT_CONNECTED: Fate.QUEUED,
    Reached.NOTHING_WRITTEN: Fate.UNWRITTEN,
    Reached.ANSWER_CUT: Fate.CUT,
}
_ERRORS: Final[Mapping[type[GatewayError], Fate]] = {
    AuthenticationError: Fate.REFUSED,  # a failed login, whatever its status
    TerminalBusyError: Fate.REFUSED,
    MismatchedReplyError: Fate.MISMATCHED,
    MalformedReplyError: Fate.UNREADABLE,
}
_STATUSES: Final[Mapping[int, Fate]] = {
    404: Fate.ABSENT,
    408: Fate.FAILED,
    429: Fate.THROTTLED,
    **dict.fromkeys((502, 503, 504), Fate.OVERLOADED),
}

BACK_OFF: Final = (0.2, 5.0)
"""Seconds: the longest first pause, doubled from try to try up to the second number."""


def fate_of(error: GatewayError, *, may_have_left_before: bool = False) -> Fate:
    """What became of the attempt that ended with `error`.

    Args:
        error: what it ended with.
        may_have_left_before: whether an earlier attempt of the call may have been carried out.
    """
    fate = _fate_alone(error)
    refused = fate in (Fate.ABSENT, Fate.REFUSED)
    return Fate.REFUSED_LATER if refused and may_have_left_before else fate


def _fate_alone(error: GatewayError) -> Fate:
    if isinstance(error, NotSentError | ConnectionLostError):
        return _BROKEN_OFF.get(error.reached, Fate.LOST)
    if isinstance(error, StatusError) and not isinstance(error, AuthenticationError):
        return _STATUSES.get(error.status_code, Fate.REFUSED if 400 <= error.status_code < 500 else Fate.FAILED)  # noqa: PLR2004
    return next((fate for kind, fate in _ERRORS.items() if isinstance(error, kind)), Fate.LOST)


def is_definite(kind: Kind, error: GatewayError, *, may_have_left_before: bool = False) -> bool:
    """Whether `error` says for certain that its attempt changed nothing; `may_have_left_before` as in `fate_of`."""
    fate = fate_of(error, may_have_left_before=may_have_left_before)
    return fate in _REFUSALS or TABLE[fate][kind].step is not Verdict.LOOK_UP


def decide(kind: Kind, error: GatewayError, *, may_have_left_before: bool = False) -> Decision:
    """What to do after `error`; `may_have_left_before` as in `fate_of`."""
    if isinstance(error, ClientClosedError):
        return _STOP  # trying again would not open it
    return TABLE[fate_of(error, may_have_left_before=may_have_left_before)][kind]


def pause(error: GatewayError, attempt: int, chance: float) -> float:
    """Seconds to wait before the attempt after `attempt`: what the gateway asks for, and a back-off of pure chance.

    Args:
        error: what the last attempt ended with.
        attempt: its number, from 1.
        chance: a random number from 0 to 1, so that clients do not come back together.
    """
    first, longest = BACK_OFF
    back_off = min(first * 2.0 ** min(attempt - 1, 10), longest) * chance
    asked = error.retry_after if isinstance(error, StatusError) and fate_of(error) in _MAY_ASK else None
    return (asked or 0.0) + back_off


def print_table() -> str:
    """The decision table as Markdown."""
    kinds = [kind.value for kind in Kind]
    head = ["how far it got", "what came back", *kinds, "pause before another try"]
    rows = [
        [fate.reached.value, fate.answer, *(str(TABLE[fate][kind]) for kind in Kind), _pauses(fate)] for fate in Fate
    ]
    lines = ["| " + " | ".join(line) + " |" for line in (head, *rows)]
    return "\n".join([lines[0], "|---" * len(head) + "|", *lines[1:]])


def _pauses(fate: Fate) -> str:
    decisions = TABLE[fate].values()
    if not any(Verdict.AGAIN in (each.step, each.otherwise) for each in decisions):
        return "–"
    return "as asked, and back-off" if fate in _MAY_ASK else "back-off"
