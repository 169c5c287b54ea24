"""Transaction batches (contract, "Transaction batches").

A batch holds a merchant account's card payments between two settlements. A batch starts with its first payment that has
money to settle, so no batch is ever empty. It holds sales, forces, refunds, and authorizations once they are
completed. Bank payments are not part of a batch. A bank payment advances one status each midnight from its effective
date on: originating, originated, settled.
"""

from collections.abc import Iterator
from datetime import date, datetime

from starlette.responses import Response

from gateway_async.sandbox.handlers.payments.invoice_balance import update_invoice_of
from gateway_async.sandbox.http.responses import RefusedFieldsError
from gateway_async.sandbox.request.context import RequestContext
from gateway_async.sandbox.request.records import find_record, respond
from gateway_async.sandbox.request.transaction_relations import log_change
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema import CHANGELOG, TRANSACTION, TRANSACTION_BATCH
from gateway_async.sandbox.schema.codes import TransactionType
from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.simulators.vendor_tables import BANK_CODES, BATCH_ERRORS, REJECTED_BATCH_CENTS
from gateway_async.sandbox.state_machines import transactions as states
from gateway_async.sandbox.state_machines.transaction_batches import (
    BATCH_MACHINE,
    BY_PROCESSOR,
    OPEN,
    BatchState,
    BatchTrigger,
)

_NO_USER: Row = {}
_REJECTED_BATCH = "REJECTED_BATCH"
_PARTIAL_REFUND_CODE = "R19"
"""The return code for a wrong amount."""

_ADVANCING_STATES = (
    states.TransactionState.PENDING_ORIGINATION,
    states.TransactionState.ORIGINATING,
    states.TransactionState.ORIGINATED,
)


async def settle(context: RequestContext) -> Response:
    """Handle POST /v2/transactionbatches/{id}/settle; a settled batch is returned."""
    batch = find_record(context, TRANSACTION_BATCH)
    if batch["processing_status_id"] == BatchState.SETTLED:
        return respond(context, TRANSACTION_BATCH, batch)
    try:
        settled = settle_batch(context.gateway, batch, context.user)
    except ValueError as problem:
        raise RefusedFieldsError({"processing_status_id": [str(problem)]}) from None
    return respond(context, TRANSACTION_BATCH, settled)


def settle_batch(gateway: Gateway, batch: Row, user: Row = _NO_USER) -> Row:
    """Settle a batch by hand, and return it.

    Raises:
        ValueError: The batch is closed.
    """
    settled = _settle(gateway, batch, user)
    if settled is None:
        raise ValueError(f"Settle is not allowed when processing_status_id is {batch['processing_status_id']}.")
    return settled


def count_settling_requests(gateway: Gateway) -> dict[str, int]:
    """Count how often users settled each batch: only they are named in the change log."""
    where = "user_id IS NOT NULL AND action = 'UPDATE' GROUP BY model_id"
    return dict(gateway.store.query(CHANGELOG, ("model_id", "count(*)"), where))


def settle_open_batches(gateway: Gateway, _day: date) -> None:
    """Settle the open batches at midnight, as a settle request does."""
    for batch in gateway.store.select(TRANSACTION_BATCH, "is_open"):
        _settle(gateway, batch, _NO_USER)


def process(gateway: Gateway, batch: Row, status_id: int) -> Row:
    """Set the status of a batch as its processor does.

    The status is the `processing_status_id`. The result is the changed batch.

    Raises:
        ValueError: A processor does not set this status, or not from the current one.
    """
    trigger = BY_PROCESSOR.get(status_id)
    if trigger is None:
        raise ValueError(f"processing_status_id: must be one of {', '.join(map(str, BY_PROCESSOR))}.")
    processed = _change_state(gateway, batch, trigger, _NO_USER)
    if processed is None:
        raise ValueError(f"processing_status_id: {status_id} cannot follow {batch['processing_status_id']}.")
    return processed


def isolate(gateway: Gateway, payment: Row) -> Row:
    """Find the open batch of a payment. If it holds other payments, move the payment to a new batch.

    Raises:
        ValueError: The payment is in no open batch.
    """
    batch = gateway.store.find(TRANSACTION_BATCH, id=payment["transaction_batch_id"])
    if batch is None or not batch["is_open"]:
        raise ValueError(f"transaction {payment['id']}: is in no open batch.")
    if gateway.store.total(TRANSACTION, "count(*)", "transaction_batch_id = ?", (batch["id"],)) == 1:
        return batch
    user = {"id": payment["created_user_id"], "location_id": payment["location_id"]}
    with gateway.store.transaction():
        batch = _create_batch(gateway, user, payment)
        changes = {"transaction_batch_id": batch["id"], "batch": str(batch["batch_num"])}
        gateway.store.update(TRANSACTION, payment["id"], changes)
    return batch


def batch_for(gateway: Gateway, user: Row, payment: Row) -> Row:
    """The fields that assign a payment to an open batch.

    The batch belongs to its merchant account. The result is empty if the payment has no money to settle.
    """
    if payment["status_id"] not in states.SETTLEABLE or payment["transaction_batch_id"]:
        return {}
    batch = _open_batch(gateway, payment["product_transaction_id"]) or _create_batch(gateway, user, payment)
    return {"transaction_batch_id": batch["id"], "batch": str(batch["batch_num"])}


def _open_batch(gateway: Gateway, product_id: str) -> Row | None:
    where = "product_transaction_id = ? AND is_open ORDER BY batch_num LIMIT 1"
    return next(iter(gateway.store.select(TRANSACTION_BATCH, where, (product_id,))), None)


def _create_batch(gateway: Gateway, user: Row, payment: Row) -> Row:
    product_id = payment["product_transaction_id"]
    number = gateway.store.total(
        TRANSACTION_BATCH, "coalesce(max(batch_num), 0) + 1", "product_transaction_id = ?", (product_id,)
    )
    batch = gateway.new_row(TRANSACTION_BATCH, user, {"product_transaction_id": product_id, "batch_num": number})
    log_change(gateway, batch, user, {})
    gateway.store.insert(TRANSACTION_BATCH, batch)
    return batch


def _settle(gateway: Gateway, batch: Row, user: Row) -> Row | None:
    message = _find_error(gateway, batch)
    trigger = BatchTrigger.SETTLE_WITH_ERROR if message else BatchTrigger.SETTLE
    return _change_state(gateway, batch, trigger, user, message)


def _find_error(gateway: Gateway, batch: Row) -> str | None:
    """Find why the settlement of a batch fails; None if it does not."""
    amounts = [row["transaction_amount"] for row in _open_payments(gateway, batch)]
    if amounts and (message := BATCH_ERRORS.get(amounts[-1])):
        return message
    return _REJECTED_BATCH if REJECTED_BATCH_CENTS in amounts else None


def _change_state(
    gateway: Gateway, batch: Row, trigger: BatchTrigger, user: Row, message: str | None = None
) -> Row | None:
    state = BATCH_MACHINE.next_state(BatchState(batch["processing_status_id"]), trigger)
    if state is None:
        return None
    changes = _changes(batch, state, gateway.clock.utc_now())
    changes["status_message"] = message if state is BatchState.ERROR else None
    with gateway.store.transaction():
        log_change(gateway, batch, user, changes)
        gateway.store.update(TRANSACTION_BATCH, batch["id"], changes)
        if state is BatchState.SETTLED:
            for row in _open_payments(gateway, batch):
                _advance(gateway, row, states.TransactionTrigger.SETTLE)
    return batch | changes


def _changes(batch: Row, state: BatchState, now: datetime) -> Row:
    closed_ts = batch["batch_close_ts"] or int(now.timestamp())
    file_name = f"settlement-{now:%Y%m%d}-{batch['batch_num']}.txt"
    return {
        "processing_status_id": state,
        "is_open": int(state in OPEN),
        "batch_close_ts": None if state in OPEN else closed_ts,
        "settlement_file_name": file_name if state is BatchState.SETTLED else None,
    }


def _open_payments(gateway: Gateway, batch: Row) -> Iterator[Row]:
    """Yield the payments that a settlement of the batch settles, oldest first."""
    rows = gateway.store.select(TRANSACTION, "transaction_batch_id = ? ORDER BY id", (batch["id"],))
    return (row for row in rows if row["status_id"] in states.SETTLEABLE)


def advance_bank_payments(gateway: Gateway, day: date) -> None:
    """Advance the bank payments at the midnight that begins a day."""
    where = "status_id IN (?, ?, ?) AND coalesce(effective_date, '') <= ?"
    with gateway.store.transaction():
        for row in gateway.store.select(TRANSACTION, where, (*_ADVANCING_STATES, day.isoformat())):
            if row["status_id"] == states.TransactionState.ORIGINATED and _is_partial_refund(gateway, row):
                return_payment(gateway, row, _PARTIAL_REFUND_CODE)
            else:
                _advance(gateway, row, states.TransactionTrigger.ORIGINATE)


def _is_partial_refund(gateway: Gateway, row: Row) -> bool:
    """Whether a bank payment refunds only a part of another."""
    if row["type_id"] != TransactionType.REFUND or row["previous_transaction_id"] is None:
        return False
    previous = gateway.store.find(TRANSACTION, id=row["previous_transaction_id"])
    return previous is not None and bool(row["transaction_amount"] < previous["transaction_amount"])


def _advance(gateway: Gateway, row: Row, trigger: states.TransactionTrigger) -> None:
    """Apply a trigger to a payment; a settled one gets its settlement date."""
    state = states.next_state(trigger, row)
    changes: Row = {"status_id": state}
    if state is states.TransactionState.SETTLED:
        changes |= {"settle_date": gateway.clock.today().isoformat(), "transaction_settlement_status": "SETTLED"}
    gateway.change(TRANSACTION, row, changes)


def return_payment(gateway: Gateway, payment: Row, code: str) -> Row:
    """Return or correct a bank payment by the code of a bank.

    The result is the changed payment.

    Raises:
        ValueError: The code is unknown, or the bank does not have the payment.
    """
    reason = BANK_CODES.get(code)
    if reason is None:
        raise ValueError(f"code: {code[:10]!r} is not a code of a bank (expected R01, C01, X01, …).")
    state = states.next_state(states.TransactionTrigger.RETURN, payment) if payment["payment_method"] == "ach" else None
    if state is None:
        raise ValueError(f"transaction {payment['id']}: it is not with a bank (status_id {payment['status_id']}).")
    changes: Row = {"reason_code_id": reason.reason_code, "verbiage": reason.verbiage}
    if reason.takes_back:
        changes |= {"status_id": state, "return_date": gateway.clock.today().isoformat()}
    with gateway.store.transaction():
        returned = gateway.change(TRANSACTION, payment, changes)
        update_invoice_of(gateway, returned)
    return returned
