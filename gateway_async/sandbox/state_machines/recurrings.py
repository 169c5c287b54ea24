"""The state machine of a recurring (contract, "Recurrings").

A recurring ends when no charge is left up to its end date, or when all installments have run.
"""

from enum import StrEnum

from gateway_async.sandbox.state_machines.machine import StateMachine

__all__ = ["MACHINE", "State", "Trigger"]


class State(StrEnum):
    """`status` of a recurring."""

    ACTIVE = "active"
    ON_HOLD = "on hold"
    ENDED = "ended"


class Trigger(StrEnum):
    """The events that can change a recurring."""

    RUN = "a charge runs, approved or not"
    SKIP = "skipPayment"
    DEFER = "deferPayment"
    HOLD = "placeOnHold"
    ACTIVATE = "activate"
    CHANGE = "PUT"
    FINISH = "no charge is left"


MACHINE = StateMachine(
    "Recurring",
    {
        (State.ACTIVE, Trigger.RUN): State.ACTIVE,
        (State.ACTIVE, Trigger.SKIP): State.ACTIVE,
        (State.ACTIVE, Trigger.DEFER): State.ACTIVE,
        (State.ACTIVE, Trigger.CHANGE): State.ACTIVE,
        (State.ACTIVE, Trigger.HOLD): State.ON_HOLD,
        (State.ACTIVE, Trigger.FINISH): State.ENDED,
        (State.ON_HOLD, Trigger.ACTIVATE): State.ACTIVE,
        (State.ON_HOLD, Trigger.CHANGE): State.ON_HOLD,
        (State.ENDED, Trigger.CHANGE): State.ENDED,
    },
)
