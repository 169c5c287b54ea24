"""The state machine of a request at a terminal.

An ended request never changes again. After a card was read, the transaction has its own states.
"""

from enum import StrEnum

from gateway_async.sandbox.state_machines.machine import StateMachine


class TerminalRequestState(StrEnum):
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


class TerminalRequestTrigger(StrEnum):
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


TERMINAL_REQUEST_MACHINE = StateMachine(
    "Request at a terminal",
    {
        (TerminalRequestState.QUEUED, TerminalRequestTrigger.ACTIVATE): TerminalRequestState.WAITING,
        (TerminalRequestState.QUEUED, TerminalRequestTrigger.SHOW_TERMS): TerminalRequestState.TERMS_SHOWN,
        (TerminalRequestState.QUEUED, TerminalRequestTrigger.TIME_OUT): TerminalRequestState.TIMED_OUT,
        (TerminalRequestState.QUEUED, TerminalRequestTrigger.ABORT): TerminalRequestState.ABORTED,
        (TerminalRequestState.WAITING, TerminalRequestTrigger.CARD): TerminalRequestState.CARD_READ,
        (TerminalRequestState.WAITING, TerminalRequestTrigger.DECLINE): TerminalRequestState.DECLINED,
        (TerminalRequestState.WAITING, TerminalRequestTrigger.REJECT_PIN): TerminalRequestState.DECLINED,
        (TerminalRequestState.WAITING, TerminalRequestTrigger.CANCEL): TerminalRequestState.CANCELLED,
        (TerminalRequestState.WAITING, TerminalRequestTrigger.STOP): TerminalRequestState.STOPPED,
        (TerminalRequestState.WAITING, TerminalRequestTrigger.TIME_OUT): TerminalRequestState.TIMED_OUT,
        (TerminalRequestState.WAITING, TerminalRequestTrigger.ABORT): TerminalRequestState.ABORTED,
        (TerminalRequestState.TERMS_SHOWN, TerminalRequestTrigger.ACCEPT): TerminalRequestState.ACCEPTED,
        (TerminalRequestState.TERMS_SHOWN, TerminalRequestTrigger.DECLINE): TerminalRequestState.DECLINED,
        (TerminalRequestState.TERMS_SHOWN, TerminalRequestTrigger.CANCEL): TerminalRequestState.CANCELLED,
        (TerminalRequestState.TERMS_SHOWN, TerminalRequestTrigger.STOP): TerminalRequestState.STOPPED,
        (TerminalRequestState.TERMS_SHOWN, TerminalRequestTrigger.TIME_OUT): TerminalRequestState.TIMED_OUT,
        (TerminalRequestState.TERMS_SHOWN, TerminalRequestTrigger.ABORT): TerminalRequestState.ABORTED,
    },
)
