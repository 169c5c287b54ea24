"""The state machine of a paylink (contract, "States: Paylink").

Expiry depends on the clock and is not a state. An expired paylink accepts no payment until a PUT sets a later
`expire_date`.
"""

from enum import StrEnum

from gateway_async.sandbox.state_machines.machine import NumericState, StateMachine

__all__ = ["MACHINE", "State", "Trigger"]


class State(NumericState):
    """`status_id` of a paylink."""

    UNPAID = 0
    PAID = 1


class Trigger(StrEnum):
    """The events that can change a paylink."""

    PAY = "a payment is approved"
    DECLINE = "a payment is declined"
    CHANGE = "PUT"


MACHINE = StateMachine(
    "Paylink",
    {
        (State.UNPAID, Trigger.CHANGE): State.UNPAID,
        (State.UNPAID, Trigger.DECLINE): State.UNPAID,
        (State.UNPAID, Trigger.PAY): State.PAID,
    },
)
