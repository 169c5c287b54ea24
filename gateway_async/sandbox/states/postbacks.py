"""The life of a postback, from the contract's "Events"."""

from __future__ import annotations

from enum import StrEnum

from gateway_async.sandbox.states.machine import Machine


class State(StrEnum):
    """Where a postback stands."""

    WAITING = "waiting"
    DELIVERED = "delivered"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Trigger(StrEnum):
    """What can happen to a postback."""

    ACKNOWLEDGE = "an attempt is answered with a 2xx"
    FAIL = "an attempt fails, and others are left"
    FAIL_AT_LAST = "the last attempt fails"
    CANCEL = "its config is deleted or no longer active"
    REPLAY = "replay"


LIFE = Machine(
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
"""An attempt that is under way when its config goes may still arrive."""
