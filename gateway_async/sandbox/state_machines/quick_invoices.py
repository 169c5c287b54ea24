"""The state machine of quick invoices.

Expiry depends on the clock and is not a state. An expired invoice accepts no payment until a PUT sets a later
`expire_date`.
"""

from enum import StrEnum

from gateway_async.sandbox.schema.codes import InvoiceStatus, PaymentStatus
from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.state_machines.machine import StateMachine


class InvoiceState(StrEnum):
    """The state of an invoice: its `status_id` and `payment_status_id`, in words."""

    OPEN_UNPAID = "open, unpaid"
    OPEN_IN_PART = "open, partially paid"
    OPEN_PAID = "open, paid"
    CLOSED_UNPAID = "closed, unpaid"
    CLOSED_IN_PART = "closed, partially paid"
    CLOSED_PAID = "closed, paid"


class InvoiceTrigger(StrEnum):
    """The events that can change an invoice.

    A transaction counts as a payment when it is added, and no longer when it is removed, voided or returned by a bank;
    a corrected one counts again. New items are compared with the paid amount, with the same effect.
    """

    PAY_PART = "paid in part"
    PAY_ALL = "paid in full"
    PAY_MORE = "paid in full or over, with allow_overpayment"
    GROW = "a payment grows to the full amount"
    GROW_PART = "a payment grows to a part of the amount"
    LEAVE_PART = "a payment taken back, others remain"
    LEAVE_NONE = "the last payment taken back"
    CHANGE = "PUT"
    CLOSE = "PUT with status_id 0 or 2"
    REOPEN = "reopen"
    REOPEN_OVERPAYABLE = "reopen, with allow_overpayment"


INVOICE_MACHINE = StateMachine(
    "Quick invoice",
    {
        (InvoiceState.OPEN_UNPAID, InvoiceTrigger.PAY_PART): InvoiceState.OPEN_IN_PART,
        (InvoiceState.OPEN_UNPAID, InvoiceTrigger.PAY_ALL): InvoiceState.CLOSED_PAID,
        (InvoiceState.OPEN_UNPAID, InvoiceTrigger.PAY_MORE): InvoiceState.OPEN_PAID,
        (InvoiceState.OPEN_UNPAID, InvoiceTrigger.CHANGE): InvoiceState.OPEN_UNPAID,
        (InvoiceState.OPEN_UNPAID, InvoiceTrigger.CLOSE): InvoiceState.CLOSED_UNPAID,
        (InvoiceState.OPEN_IN_PART, InvoiceTrigger.PAY_PART): InvoiceState.OPEN_IN_PART,
        (InvoiceState.OPEN_IN_PART, InvoiceTrigger.PAY_ALL): InvoiceState.CLOSED_PAID,
        (InvoiceState.OPEN_IN_PART, InvoiceTrigger.PAY_MORE): InvoiceState.OPEN_PAID,
        (InvoiceState.OPEN_IN_PART, InvoiceTrigger.LEAVE_PART): InvoiceState.OPEN_IN_PART,
        (InvoiceState.OPEN_IN_PART, InvoiceTrigger.LEAVE_NONE): InvoiceState.OPEN_UNPAID,
        (InvoiceState.OPEN_IN_PART, InvoiceTrigger.CHANGE): InvoiceState.OPEN_IN_PART,
        (InvoiceState.OPEN_IN_PART, InvoiceTrigger.CLOSE): InvoiceState.CLOSED_IN_PART,
        (InvoiceState.OPEN_PAID, InvoiceTrigger.PAY_MORE): InvoiceState.OPEN_PAID,
        (InvoiceState.OPEN_PAID, InvoiceTrigger.LEAVE_PART): InvoiceState.OPEN_IN_PART,
        (InvoiceState.OPEN_PAID, InvoiceTrigger.LEAVE_NONE): InvoiceState.OPEN_UNPAID,
        (InvoiceState.OPEN_PAID, InvoiceTrigger.CHANGE): InvoiceState.OPEN_PAID,
        (InvoiceState.OPEN_PAID, InvoiceTrigger.CLOSE): InvoiceState.CLOSED_PAID,
        (InvoiceState.CLOSED_UNPAID, InvoiceTrigger.GROW): InvoiceState.CLOSED_PAID,
        (InvoiceState.CLOSED_UNPAID, InvoiceTrigger.GROW_PART): InvoiceState.CLOSED_IN_PART,
        (InvoiceState.CLOSED_UNPAID, InvoiceTrigger.REOPEN): InvoiceState.OPEN_UNPAID,
        (InvoiceState.CLOSED_UNPAID, InvoiceTrigger.REOPEN_OVERPAYABLE): InvoiceState.OPEN_UNPAID,
        (InvoiceState.CLOSED_IN_PART, InvoiceTrigger.GROW): InvoiceState.CLOSED_PAID,
        (InvoiceState.CLOSED_IN_PART, InvoiceTrigger.LEAVE_PART): InvoiceState.CLOSED_IN_PART,
        (InvoiceState.CLOSED_IN_PART, InvoiceTrigger.LEAVE_NONE): InvoiceState.CLOSED_UNPAID,
        (InvoiceState.CLOSED_IN_PART, InvoiceTrigger.REOPEN): InvoiceState.OPEN_IN_PART,
        (InvoiceState.CLOSED_IN_PART, InvoiceTrigger.REOPEN_OVERPAYABLE): InvoiceState.OPEN_IN_PART,
        (InvoiceState.CLOSED_PAID, InvoiceTrigger.LEAVE_PART): InvoiceState.CLOSED_IN_PART,
        (InvoiceState.CLOSED_PAID, InvoiceTrigger.LEAVE_NONE): InvoiceState.CLOSED_UNPAID,
        (InvoiceState.CLOSED_PAID, InvoiceTrigger.REOPEN_OVERPAYABLE): InvoiceState.OPEN_PAID,
    },
)

_CODES = {
    InvoiceState.OPEN_UNPAID: (InvoiceStatus.OPEN, PaymentStatus.UNPAID),
    InvoiceState.OPEN_PAID: (InvoiceStatus.OPEN, PaymentStatus.PAID),
    InvoiceState.OPEN_IN_PART: (InvoiceStatus.OPEN, PaymentStatus.PARTIALLY_PAID),
    InvoiceState.CLOSED_UNPAID: (InvoiceStatus.CLOSED, PaymentStatus.UNPAID),
    InvoiceState.CLOSED_PAID: (InvoiceStatus.CLOSED, PaymentStatus.PAID),
    InvoiceState.CLOSED_IN_PART: (InvoiceStatus.CLOSED, PaymentStatus.PARTIALLY_PAID),
}
"""`status_id` and `payment_status_id` of each state, as responses show them."""

_STATES = {codes: state for state, codes in _CODES.items()}


def invoice_state_of(row: Row) -> InvoiceState:
    """The state of a stored invoice."""
    return _STATES[row["status_id"], row["payment_status_id"]]


def codes_of(state: InvoiceState) -> Row:
    """The stored codes of a state."""
    return dict(zip(("status_id", "payment_status_id"), _CODES[state], strict=True))


def trigger_of(row: Row, paid: int, *, more: bool) -> InvoiceTrigger:
    """The event that follows from the paid amount in cents. `more` says whether more is paid than before."""
    state = invoice_state_of(row)
    if paid and paid >= row["amount_due"]:
        if not more and state in {InvoiceState.CLOSED_UNPAID, InvoiceState.CLOSED_IN_PART}:
            return InvoiceTrigger.GROW
        return InvoiceTrigger.PAY_MORE if row["allow_overpayment"] else InvoiceTrigger.PAY_ALL
    if more:
        return InvoiceTrigger.PAY_PART
    if paid:
        return InvoiceTrigger.GROW_PART if state is InvoiceState.CLOSED_UNPAID else InvoiceTrigger.LEAVE_PART
    return InvoiceTrigger.LEAVE_NONE
