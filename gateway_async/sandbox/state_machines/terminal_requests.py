"""The state machine of a request at a terminal.

An ended request never changes again. After a card was read, the transaction has its own states.
"""

from enum import StrEnum

from gateway_async.sandbox.state_machines.machine import StateMachine

__all__ = ["MACHINE", "State", "Trigger"]


class State(StrEnum):
    """The state of a request."""

    QUEUED = "queued"
    WAITING = "waiting for a card"
    TERMS_SHOWN = "showing device terms"
    CARD_READ = "card read"
    ACCEPTED = "terms accepted"
    DECLINED = "declined"
    CANCELLED = "cancelled"
    STOPPED = "stopped by the terminal"
    TIMED_OUT = "timed out"
    ABORTED = "aborted"


class Trigger(StrEnum):
    """The events that can change a request."""

    ACTIVATE = "it becomes the first in the queue"
    SHOW_TERMS = "it becomes the first in the queue, with device terms"
    CARD = "a card is presented"
    ACCEPT = "the customer accepts the terms"
    DECLINE = "the card or the terms are declined"
    REJECT_PIN = "the PIN is wrong"
    CANCEL = "the cancel key is pressed"
    STOP = "the terminal fails, or has waited too long for a step"
    TIME_OUT = "300 seconds have passed"
    ABORT = "the sandbox stops or is reset"


MACHINE = StateMachine(
    "Request at a terminal",
    {
        (State.QUEUED, Trigger.ACTIVATE): State.WAITING,
        (State.QUEUED, Trigger.SHOW_TERMS): State.TERMS_SHOWN,
        (State.QUEUED, Trigger.TIME_OUT): State.TIMED_OUT,
        (State.QUEUED, Trigger.ABORT): State.ABORTED,
        (State.WAITING, Trigger.CARD): State.CARD_READ,
        (State.WAITING, Trigger.DECLINE): State.DECLINED,
        (State.WAITING, Trigger.REJECT_PIN): State.DECLINED,
        (State.WAITING, Trigger.CANCEL): State.CANCELLED,
        (State.WAITING, Trigger.STOP): State.STOPPED,
        (State.WAITING, Trigger.TIME_OUT): State.TIMED_OUT,
        (State.WAITING, Trigger.ABORT): State.ABORTED,
        (State.TERMS_SHOWN, Trigger.ACCEPT): State.ACCEPTED,
        (State.TERMS_SHOWN, Trigger.DECLINE): State.DECLINED,
        (State.TERMS_SHOWN, Trigger.CANCEL): State.CANCELLED,
        (State.TERMS_SHOWN, Trigger.STOP): State.STOPPED,
        (State.TERMS_SHOWN, Trigger.TIME_OUT): State.TIMED_OUT,
        (State.TERMS_SHOWN, Trigger.ABORT): State.ABORTED,
    },
)
