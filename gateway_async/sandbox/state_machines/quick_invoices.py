"""The state machine of a quick invoice (contract, "States: Quick invoice").

Expiry depends on the clock and is not a state. An expired invoice accepts no payment and cannot be reopened. It can
still be changed, including its `expire_date`.
"""

from enum import StrEnum

from gateway_async.sandbox.schema.codes import InvoiceStatus, PaymentStatus
from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.state_machines.machine import StateMachine

__all__ = ["MACHINE", "State", "Trigger", "codes_of", "state_of", "trigger_of"]


class State(StrEnum):
    """The state of an invoice: its `status_id` and `payment_status_id`, in words."""

    OPEN_UNPAID = "open, unpaid"
    OPEN_IN_PART = "open, partially paid"
    OPEN_PAID = "open, paid"
    CLOSED_UNPAID = "closed, unpaid"
    CLOSED_IN_PART = "closed, partially paid"
    CLOSED_PAID = "closed, paid"


class Trigger(StrEnum):
    """The events that can change an invoice.

    A transaction counts as a payment when it is added, and no longer when it is removed or voided. New items are
    compared with the paid amount, with the same effect.
    """

    PAY_PART = "paid in part"
    PAY_ALL = "paid in full"
    PAY_MORE = "paid in full or over, with allow_overpayment"
    GROW = "a payment grows to the full amount"
    LEAVE_PART = "a payment taken back, others remain"
    LEAVE_NONE = "the last payment taken back"
    CHANGE = "PUT"
    CLOSE = "PUT with status_id 0 or 2"
    REOPEN = "reopen"
    REOPEN_OVERPAYABLE = "reopen, with allow_overpayment"


MACHINE = StateMachine(
    "Quick invoice",
    {
        (State.OPEN_UNPAID, Trigger.PAY_PART): State.OPEN_IN_PART,
        (State.OPEN_UNPAID, Trigger.PAY_ALL): State.CLOSED_PAID,
        (State.OPEN_UNPAID, Trigger.PAY_MORE): State.OPEN_PAID,
        (State.OPEN_UNPAID, Trigger.CHANGE): State.OPEN_UNPAID,
        (State.OPEN_UNPAID, Trigger.CLOSE): State.CLOSED_UNPAID,
        (State.OPEN_IN_PART, Trigger.PAY_PART): State.OPEN_IN_PART,
        (State.OPEN_IN_PART, Trigger.PAY_ALL): State.CLOSED_PAID,
        (State.OPEN_IN_PART, Trigger.PAY_MORE): State.OPEN_PAID,
        (State.OPEN_IN_PART, Trigger.LEAVE_PART): State.OPEN_IN_PART,
        (State.OPEN_IN_PART, Trigger.LEAVE_NONE): State.OPEN_UNPAID,
        (State.OPEN_IN_PART, Trigger.CHANGE): State.OPEN_IN_PART,
        (State.OPEN_IN_PART, Trigger.CLOSE): State.CLOSED_IN_PART,
        (State.OPEN_PAID, Trigger.PAY_MORE): State.OPEN_PAID,
        (State.OPEN_PAID, Trigger.LEAVE_PART): State.OPEN_IN_PART,
        (State.OPEN_PAID, Trigger.LEAVE_NONE): State.OPEN_UNPAID,
        (State.OPEN_PAID, Trigger.CHANGE): State.OPEN_PAID,
        (State.OPEN_PAID, Trigger.CLOSE): State.CLOSED_PAID,
        (State.CLOSED_UNPAID, Trigger.REOPEN): State.OPEN_UNPAID,
        (State.CLOSED_UNPAID, Trigger.REOPEN_OVERPAYABLE): State.OPEN_UNPAID,
        (State.CLOSED_IN_PART, Trigger.GROW): State.CLOSED_PAID,
        (State.CLOSED_IN_PART, Trigger.LEAVE_PART): State.CLOSED_IN_PART,
        (State.CLOSED_IN_PART, Trigger.LEAVE_NONE): State.CLOSED_UNPAID,
        (State.CLOSED_IN_PART, Trigger.REOPEN): State.OPEN_IN_PART,
        (State.CLOSED_IN_PART, Trigger.REOPEN_OVERPAYABLE): State.OPEN_IN_PART,
        (State.CLOSED_PAID, Trigger.LEAVE_PART): State.CLOSED_IN_PART,
        (State.CLOSED_PAID, Trigger.LEAVE_NONE): State.CLOSED_UNPAID,
        (State.CLOSED_PAID, Trigger.REOPEN_OVERPAYABLE): State.OPEN_PAID,
    },
)

_CODES = {
    State.OPEN_UNPAID: (InvoiceStatus.OPEN, PaymentStatus.UNPAID),
    State.OPEN_PAID: (InvoiceStatus.OPEN, PaymentStatus.PAID),
    State.OPEN_IN_PART: (InvoiceStatus.OPEN, PaymentStatus.PARTIALLY_PAID),
    State.CLOSED_UNPAID: (InvoiceStatus.CLOSED, PaymentStatus.UNPAID),
    State.CLOSED_PAID: (InvoiceStatus.CLOSED, PaymentStatus.PAID),
    State.CLOSED_IN_PART: (InvoiceStatus.CLOSED, PaymentStatus.PARTIALLY_PAID),
}
"""`status_id` and `payment_status_id` of each state, as responses show them."""

_STATES = {codes: state for state, codes in _CODES.items()}


def state_of(row: Row) -> State:
    """Return the state of a stored invoice."""
    return _STATES[row["status_id"], row["payment_status_id"]]


def codes_of(state: State) -> Row:
    """Return the stored codes of a state."""
    return dict(zip(("status_id", "payment_status_id"), _CODES[state], strict=True))


def trigger_of(row: Row, paid: int, *, more: bool) -> Trigger:
    """Return the event that follows from the paid amount in cents.

    `more` says whether more is paid than before.
    """
    if paid and paid >= row["amount_due"]:
        if not more and state_of(row) is State.CLOSED_IN_PART:
            return Trigger.GROW
        return Trigger.PAY_MORE if row["allow_overpayment"] else Trigger.PAY_ALL
    if more:
        return Trigger.PAY_PART
    return Trigger.LEAVE_PART if paid else Trigger.LEAVE_NONE
