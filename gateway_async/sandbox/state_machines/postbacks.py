"""The state machine of a postback, from the contract's "Events"."""

from enum import StrEnum

from gateway_async.sandbox.state_machines.machine import StateMachine

__all__ = ["MACHINE", "State", "Trigger"]


class State(StrEnum):
    """The state of a postback."""

    WAITING = "waiting"
    DELIVERED = "delivered"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Trigger(StrEnum):
    """The events that can change a postback."""

    ACKNOWLEDGE = "an attempt gets a 2xx"
    FAIL = "an attempt fails, and others remain"
    FAIL_AT_LAST = "the last attempt fails"
    CANCEL = "its config is deleted or no longer active"
    REPLAY = "replay"


MACHINE = StateMachine(
    "Postback",
    {
        (State.WAITING, Trigger.ACKNOWLEDGE): State.DELIVERED,
        (State.WAITING, Trigger.FAIL): State.WAITING,
        (State.WAITING, Trigger.FAIL_AT_LAST): State.FAILED,
        (State.WAITING, Trigger.CANCEL): State.CANCELLED,
        (State.WAITING, Trigger.REPLAY): State.WAITING,
        (State.DELIVERED, Trigger.REPLAY): State.WAITING,
        (State.FAILED, Trigger.REPLAY): State.WAITING,
        (State.CANCELLED, Trigger.REPLAY): State.WAITING,
        (State.CANCELLED, Trigger.ACKNOWLEDGE): State.DELIVERED,
    },
)
"""An attempt in progress may still succeed after its config was deleted or became inactive."""
