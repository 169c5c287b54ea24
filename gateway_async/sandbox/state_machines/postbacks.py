"""The state machine of postbacks (contract, "Events")."""

from enum import StrEnum

from gateway_async.sandbox.state_machines.machine import StateMachine


class DeliveryState(StrEnum):
    """The state of a postback."""

    WAITING = "waiting"
    DELIVERED = "delivered"
    FAILED = "failed"
    CANCELLED = "cancelled"


class DeliveryTrigger(StrEnum):
    """The events that can change a postback."""

    ACKNOWLEDGE = "an attempt gets a 2xx"
    FAIL = "an attempt fails, and others remain"
    FAIL_AT_LAST = "the last attempt fails"
    CANCEL = "its config is deleted or no longer active"
    REPLAY = "replay"


DELIVERY_MACHINE = StateMachine(
    "Postback",
    {
        (DeliveryState.WAITING, DeliveryTrigger.ACKNOWLEDGE): DeliveryState.DELIVERED,
        (DeliveryState.WAITING, DeliveryTrigger.FAIL): DeliveryState.WAITING,
        (DeliveryState.WAITING, DeliveryTrigger.FAIL_AT_LAST): DeliveryState.FAILED,
        (DeliveryState.WAITING, DeliveryTrigger.CANCEL): DeliveryState.CANCELLED,
        (DeliveryState.WAITING, DeliveryTrigger.REPLAY): DeliveryState.WAITING,
        (DeliveryState.DELIVERED, DeliveryTrigger.REPLAY): DeliveryState.WAITING,
        (DeliveryState.FAILED, DeliveryTrigger.REPLAY): DeliveryState.WAITING,
        (DeliveryState.CANCELLED, DeliveryTrigger.REPLAY): DeliveryState.WAITING,
        (DeliveryState.CANCELLED, DeliveryTrigger.ACKNOWLEDGE): DeliveryState.DELIVERED,
    },
)
"""An attempt in progress may still succeed after its config was deleted or became inactive."""
