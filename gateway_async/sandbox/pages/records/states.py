"""The state of a record in words, and what can happen to it next; both come from the state machines."""

from collections.abc import Callable
from enum import Enum
from typing import Any, Literal

import attrs

from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema import (
    PAYLINK,
    POSTBACK,
    QUICK_INVOICE,
    RECURRING,
    TOKEN,
    TRANSACTION,
    TRANSACTION_BATCH,
)
from gateway_async.sandbox.schema.codes import REASONS, ReasonCode
from gateway_async.sandbox.schema.fields import Row, Table
from gateway_async.sandbox.state_machines import (
    paylinks,
    postbacks,
    quick_invoices,
    recurrings,
    tokens,
    transaction_batches,
    transactions,
)
from gateway_async.sandbox.state_machines.machine import NumericState, StateMachine

Tone = Literal["good", "bad", "open", "plain"]


@attrs.frozen
class Status:
    """The state of a record in words, and how it is colored.

    Attributes:
        codes: The fields of the record that say so, with their values; "" if the state is not a code.
    """

    text: str
    tone: Tone
    codes: str = ""


@attrs.frozen
class Transition:
    """One thing that can happen to a record, and its state afterwards."""

    trigger: str
    status: Status


@attrs.frozen
class _States:
    """The states of one family, and the field that has the code of a state, if one has."""

    machine: StateMachine[Any, Any]
    find: Callable[[Gateway, Row], Enum]
    field: str = ""
    good: frozenset[Any] = frozenset()
    bad: frozenset[Any] = frozenset()
    open: frozenset[Any] = frozenset()

    def describe(self, state: Enum) -> Status:
        text = state.name.replace("_", " ") if isinstance(state, NumericState) else str(state)
        codes = f"{self.field} {state.value}" if self.field else ""
        return Status(text.capitalize(), self._tone_of(state), codes)

    def _tone_of(self, state: Enum) -> Tone:
        if state in self.good:
            return "good"
        if state in self.bad:
            return "bad"
        return "open" if state in self.open else "plain"


_Payment = transactions.TransactionState
_Batch = transaction_batches.BatchState
_Invoice = quick_invoices.InvoiceState

_STATES: dict[str, _States] = {
    TRANSACTION.plural: _States(
        transactions.TRANSACTION_MACHINE,
        lambda _, row: _Payment(row["status_id"]),
        "status_id",
        good=frozenset({_Payment.APPROVED, _Payment.REFUNDED, _Payment.ADDRESS_CHECKED, _Payment.SETTLED}),
        bad=frozenset({_Payment.DECLINED, _Payment.CHARGED_BACK}),
        open=frozenset({_Payment.AUTHORIZED, _Payment.PENDING_ORIGINATION, _Payment.ORIGINATING, _Payment.ORIGINATED}),
    ),
    TRANSACTION_BATCH.plural: _States(
        transaction_batches.BATCH_MACHINE,
        lambda _, row: _Batch(row["processing_status_id"]),
        "processing_status_id",
        good=frozenset({_Batch.SETTLED}),
        bad=frozenset({_Batch.ERROR, _Batch.FORCED_CLOSED}),
        open=frozenset({_Batch.TO_SETTLE, _Batch.REPROCESS, _Batch.PROCESSING}),
    ),
    QUICK_INVOICE.plural: _States(
        quick_invoices.INVOICE_MACHINE,
        lambda _, row: quick_invoices.invoice_state_of(row),
        good=frozenset({_Invoice.CLOSED_PAID, _Invoice.OPEN_PAID}),
        open=frozenset({_Invoice.OPEN_UNPAID, _Invoice.OPEN_IN_PART}),
    ),
    PAYLINK.plural: _States(
        paylinks.PAYLINK_MACHINE,
        lambda _, row: paylinks.PaylinkState(row["status_id"]),
        "status_id",
        good=frozenset({paylinks.PaylinkState.PAID}),
        open=frozenset({paylinks.PaylinkState.UNPAID}),
    ),
    RECURRING.plural: _States(
        recurrings.RECURRING_MACHINE,
        lambda _, row: recurrings.RecurringState(row["status"]),
        good=frozenset({recurrings.RecurringState.ACTIVE}),
        open=frozenset({recurrings.RecurringState.ON_HOLD}),
    ),
    POSTBACK.plural: _States(
        postbacks.DELIVERY_MACHINE,
        lambda _, row: postbacks.DeliveryState(row["state"]),
        good=frozenset({postbacks.DeliveryState.DELIVERED}),
        bad=frozenset({postbacks.DeliveryState.FAILED}),
        open=frozenset({postbacks.DeliveryState.WAITING}),
    ),
    TOKEN.plural: _States(
        tokens.TOKEN_MACHINE,
        lambda gateway, row: tokens.token_state_of(row, gateway.clock.now()),
        good=frozenset({tokens.TokenState.VALID}),
        bad=frozenset({tokens.TokenState.EXPIRED, tokens.TokenState.REVOKED}),
    ),
}


def find_status(gateway: Gateway, table: Table, row: Row) -> Status | None:
    """Find the state of a record; None if its family has no states."""
    if row.get("deleted_ts") is not None:
        return Status("Deleted", "bad")
    if (states := _STATES.get(table.plural)) is None:
        return None
    status = states.describe(states.find(gateway, row))
    return _add_reason(status, row["reason_code_id"]) if table is TRANSACTION else status


def describe_payments(status_id: int, reason_code_id: int | None) -> Status:
    """Describe the state of payments with these codes."""
    return _add_reason(_STATES[TRANSACTION.plural].describe(_Payment(status_id)), reason_code_id)


def _add_reason(status: Status, reason_code_id: int | None) -> Status:
    """Add the reason of a decline to its status."""
    reason = REASONS.get(reason_code_id or 0, "").removeprefix("Declined: ")
    if status.text != "Declined" or not reason:
        return status
    return Status(f"{status.text}: {reason}", status.tone, f"{status.codes}, reason_code_id {reason_code_id}")


def find_transitions(gateway: Gateway, table: Table, row: Row) -> list[Transition]:
    """Find what can happen to a record that is not deleted."""
    states = _STATES.get(table.plural)
    if states is None or row["deleted_ts"] is not None:
        return []
    state = states.find(gateway, row)
    return [
        Transition(trigger, states.describe(after))
        for (before, trigger), after in states.machine.transitions.items()
        if before == state and not _is_excluded(table, row, trigger)
    ]


def _is_excluded(table: Table, row: Row, trigger: Any) -> bool:
    """Whether the record itself excludes a transition of its state."""
    if table is not TRANSACTION:
        return False
    condition = _CONDITIONS.get(trigger)
    return transactions.next_state(trigger, row) is None or (condition is not None and not condition(row))


_CONDITIONS: dict[transactions.TransactionTrigger, Callable[[Row], bool]] = {
    transactions.TransactionTrigger.RETURN: lambda row: row["payment_method"] == "ach",
    transactions.TransactionTrigger.OVERRIDE: lambda row: row["reason_code_id"] == ReasonCode.MANAGER_NEEDED,
    transactions.TransactionTrigger.CORRECT: lambda row: row["ach_sec_code"] in ("POP", "C21"),
}
"""The conditions of some events, besides the state."""
