"""The life of a request at a terminal, from its arrival to its end.

The law of this file: what has ended stays as it ended; no move leads away from there. What the issuer
says to a card that was read is the beginning of a transaction's life.
"""

from __future__ import annotations

from enum import StrEnum

from gateway_async.sandbox.states.machine import Machine


class State(StrEnum):
    """Where a request stands."""

    IN_LINE = "in line"
    WAITING = "waiting for a card"
    CARD_READ = "card read"
    DECLINED = "declined"
    CANCELLED = "cancelled"
    STOPPED = "stopped by the terminal"
    TIMED_OUT = "timed out"
    CUT_OFF = "cut off"


class Trigger(StrEnum):
    """What can happen to a request."""

    TURN = "its turn comes"
    CARD = "a card is presented"
    DECLINE = "the card is declined"
    CANCEL = "the red key is pressed"
    STOP = "the terminal fails, or has waited too long for a step"
    TIME_OUT = "300 seconds have passed"
    CUT_OFF = "the sandbox stops or begins anew"


LIFE = Machine(
    "Request at a terminal",
    {
        (State.IN_LINE, Trigger.TURN): State.WAITING,
        (State.IN_LINE, Trigger.TIME_OUT): State.TIMED_OUT,
        (State.IN_LINE, Trigger.CUT_OFF): State.CUT_OFF,
        (State.WAITING, Trigger.CARD): State.CARD_READ,
        (State.WAITING, Trigger.DECLINE): State.DECLINED,
        (State.WAITING, Trigger.CANCEL): State.CANCELLED,
        (State.WAITING, Trigger.STOP): State.STOPPED,
        (State.WAITING, Trigger.TIME_OUT): State.TIMED_OUT,
        (State.WAITING, Trigger.CUT_OFF): State.CUT_OFF,
    },
)
