"""The life of a paylink, the contract's "States: Paylink".

Whether it has expired is a matter of the clock and no state of its own: an expired paylink takes no
payment until a PUT gives it a later `expire_date`.
"""

from __future__ import annotations

from enum import StrEnum

from gateway_async.sandbox.states.machine import Coded, Machine


class State(Coded):
    """`status_id` of a paylink."""

    UNPAID = 0
    PAID = 1


class Trigger(StrEnum):
    """What can happen to a paylink."""

    PAY = "a payment is approved"
    DECLINE = "a payment is declined"
    CHANGE = "PUT"


LIFE = Machine(
    "Paylink",
    {
        (State.UNPAID, Trigger.CHANGE): State.UNPAID,
        (State.UNPAID, Trigger.DECLINE): State.UNPAID,
        (State.UNPAID, Trigger.PAY): State.PAID,
    },
)
