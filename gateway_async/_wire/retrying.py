"""What to do after an attempt that did not end well: the decision table of money.

What became of the attempt (`Fate`) × what repeating the call could do (`Kind`) → `Verdict`. `print_table()` is what the
documentation shows.
"""

import enum
from collections.abc import Mapping
from typing import Final

from gateway_async._wire.call import Kind
from gateway_async.errors import (
    AuthenticationError,
    ClientClosedError,
    GatewayError,
    MalformedReplyError,
    MismatchedReplyError,
    NotSentError,
    StatusError,
)

__all__ = ["TABLE", "Fate", "Verdict", "fate_of", "is_definite", "pause", "print_table", "verdict"]


class Fate(enum.Enum):
    """What became of one attempt."""

    NOT_SENT = "provably not sent"
    LOST = "sent, no whole answer"
    UNREADABLE = "2xx that does not parse"
    MISMATCHED = "another question's answer"
    THROTTLED = "429"
    OVERLOADED = "502, 503, 504"
    FAILED = "other 5xx, 3xx, 408"
    REFUSED = "other 4xx"


class Verdict(enum.Enum):
    """What to do next."""

    AGAIN = "again"
    LOOK_UP = "look up"
    STOP = "stop"


_AGAIN, _LOOK_UP, _STOP = Verdict.AGAIN, Verdict.LOOK_UP, Verdict.STOP
_WRITES_LOOK_UP: Final = dict.fromkeys((Kind.NAMED, Kind.IDEMPOTENT, Kind.UNNAMED, Kind.TERMINAL), _LOOK_UP)

TABLE: Final[Mapping[Fate, Mapping[Kind, Verdict]]] = {
    Fate.NOT_SENT: dict.fromkeys(Kind, _AGAIN),
    Fate.LOST: {Kind.READ: _AGAIN, **_WRITES_LOOK_UP},
    Fate.UNREADABLE: {Kind.READ: _STOP, **_WRITES_LOOK_UP},
    Fate.MISMATCHED: {Kind.READ: _AGAIN, **_WRITES_LOOK_UP},
    Fate.THROTTLED: {
        Kind.READ: _AGAIN,
        Kind.NAMED: _LOOK_UP,
        Kind.IDEMPOTENT: _LOOK_UP,
        Kind.UNNAMED: _STOP,
        Kind.TERMINAL: _STOP,
    },
    Fate.OVERLOADED: {Kind.READ: _AGAIN, **_WRITES_LOOK_UP},
    Fate.FAILED: {Kind.READ: _STOP, **_WRITES_LOOK_UP},
    Fate.REFUSED: dict.fromkeys(Kind, _STOP),
}

_DEFINITE: Final = frozenset({Fate.NOT_SENT, Fate.THROTTLED, Fate.REFUSED})
_OVERLOADED: Final = frozenset({502, 503, 504})
_THROTTLED: Final = 429
_REQUEST_TIMEOUT: Final = 408


def fate_of(error: GatewayError) -> Fate:
    """What became of the attempt that ended with `error`."""
    match error:
        case NotSentError():
            return Fate.NOT_SENT
        case AuthenticationError():
            return Fate.REFUSED  # also a login that was refused with a status of another kind
        case StatusError(status_code=status):
            return _fate_of_status(status)
        case MismatchedReplyError():
            return Fate.MISMATCHED
        case MalformedReplyError():
            return Fate.UNREADABLE
        case _:
            return Fate.LOST


def _fate_of_status(status: int) -> Fate:
    if status == _THROTTLED:
        return Fate.THROTTLED
    if status in _OVERLOADED:
        return Fate.OVERLOADED
    definite = 400 <= status < 500 and status != _REQUEST_TIMEOUT  # noqa: PLR2004
    return Fate.REFUSED if definite else Fate.FAILED


def is_definite(error: GatewayError) -> bool:
    """Whether `error` says for certain that its attempt changed nothing."""
    return fate_of(error) in _DEFINITE


def verdict(kind: Kind, error: GatewayError, *, may_have_left_before: bool = False) -> Verdict:
    """What to do after `error`.

    A refusal of a write that an earlier attempt may have carried out ("already exists", "already voided", 404 to a
    delete) can be that attempt's doing, so it is looked up.
    """
    if isinstance(error, ClientClosedError):
        return _STOP
    fate = fate_of(error)
    if fate is Fate.REFUSED and may_have_left_before and kind in (Kind.NAMED, Kind.IDEMPOTENT):
        return _LOOK_UP
    return TABLE[fate][kind]


def pause(error: GatewayError, attempt: int, jitter: float) -> float:
    """Seconds to wait before the attempt after `attempt`: what the gateway asks for, or longer each time.

    Args:
        error: what the last attempt ended with.
        attempt: its number, from 1.
        jitter: a random number from 0 to 1, so that clients do not come back together.
    """
    asked = error.retry_after if isinstance(error, StatusError) else None
    backoff = min(0.1 * 2.0 ** min(attempt - 1, 10), 5.0) * (0.5 + jitter / 2)
    return backoff if asked is None else asked + backoff * jitter


def print_table() -> str:
    """The decision table as Markdown."""
    head = [
        "| what became of it | " + " | ".join(kind.value for kind in Kind) + " |",
        "|---" * (len(Kind) + 1) + "|",
    ]
    rows = [f"| {fate.value} | " + " | ".join(TABLE[fate][kind].value for kind in Kind) + " |" for fate in Fate]
    return "\n".join([*head, *rows])
