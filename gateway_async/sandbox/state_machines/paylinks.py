"""The state machine of a paylink (contract, "States: Paylink").

Expiry depends on the clock and is not a state. An expired paylink accepts no payment until a PUT sets a later
`expire_date`.
"""

from enum import StrEnum

from gateway_async.sandbox.state_machines.machine import NumericState, StateMachine

__all__ = ["PAYLINK_MACHINE", "PaylinkState", "PaylinkTrigger"]


class PaylinkState(NumericState):
    """`status_id` of a paylink."""

    UNPAID = 0
    PAID = 1


class PaylinkTrigger(StrEnum):
    """The events that can change a paylink."""

    PAY = "a payment is approved"
    DECLINE = "a payment is declined"
    CHANGE = "PUT"


PAYLINK_MACHINE = StateMachine(
    "Paylink",
    {
        (PaylinkState.UNPAID, PaylinkTrigger.CHANGE): PaylinkState.UNPAID,
        (PaylinkState.UNPAID, PaylinkTrigger.DECLINE): PaylinkState.UNPAID,
        (PaylinkState.UNPAID, PaylinkTrigger.PAY): PaylinkState.PAID,
    },
)
