"""The state machine of paylinks. Expiry depends on the clock and is not a state."""

from enum import StrEnum

from gateway_async.sandbox.state_machines.machine import NumericState, StateMachine


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
