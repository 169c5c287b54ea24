"""Payments of quick invoices, which are made on the payment page, or by adding and removing transactions."""

import attrs
from starlette.responses import Response

from gateway_async.sandbox.handlers.payment_pages import AmountInput, BillState, NotPayableError, PaymentPage
from gateway_async.sandbox.handlers.payments.invoice_balance import (
    compute_balance,
    find_objection_to_amount,
    find_objection_to_transaction,
    is_expired,
    transactions_of,
)
from gateway_async.sandbox.http.responses import Problems, json_response
from gateway_async.sandbox.notifications import notify_about_invoice
from gateway_async.sandbox.request.context import RequestContext
from gateway_async.sandbox.request.records import check_values, find_record, show_record, update_record
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema import INVOICED_TRANSACTION, QUICK_INVOICE, TRANSACTION
from gateway_async.sandbox.schema.codes import InvoiceStatus, PaymentStatus, TransactionSource
from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.schema.kinds import MONEY


async def add_transaction(context: RequestContext) -> Response:
    """Handle PUT /v2/quickinvoices/{id}/addTransaction, for a payment made through another channel."""
    invoice, transaction, problems = await _read_transaction(context)
    if problem := find_objection_to_transaction(context.gateway, invoice, transaction):
        problems.add("transaction_id", problem)
    problems.raise_if_any()
    return _assign(context, invoice, transaction, to=invoice["id"])


async def remove_transaction(context: RequestContext) -> Response:
    """Handle PUT /v2/quickinvoices/{id}/removeTransaction; a closed invoice stays closed."""
    invoice, transaction, problems = await _read_transaction(context)
    if transaction["quick_invoice_id"] != invoice["id"]:
        problems.add("transaction_id", "The transaction does not belong to the invoice.")
    problems.raise_if_any()
    return _assign(context, invoice, transaction, to=None)


def _check_payment(gateway: Gateway, invoice: Row, amount: AmountInput | None) -> int:
    cents: int = invoice["remaining_balance"] if amount is None else _read_amount(amount)
    if objection := find_objection_to_amount(gateway, invoice, cents):
        raise NotPayableError(QUICK_INVOICE, invoice["id"], objection)
    if not cents:
        raise ValueError("amount: must be greater than 0.00.")
    return cents


def _read_amount(amount: AmountInput) -> int:
    try:
        return int(MONEY.read(amount))
    except ValueError as reason:
        raise ValueError(f"amount: {reason}") from None


async def _read_transaction(context: RequestContext) -> tuple[Row, Row, Problems]:
    body = await context.read_record("quickinvoice")
    invoice, problems = find_record(context, QUICK_INVOICE), Problems()
    values = check_values(context, INVOICED_TRANSACTION, body, problems)
    problems.raise_if_any()
    return invoice, problems.require(context.gateway.store.find(TRANSACTION, id=values["transaction_id"])), problems


def _assign(context: RequestContext, invoice: Row, transaction: Row, *, to: str | None) -> Response:
    with context.gateway.store.transaction():
        update_record(context, TRANSACTION, transaction, {"quick_invoice_id": to})
        balance = compute_balance(context.gateway, invoice, more=to is not None)
        invoice = update_record(context, QUICK_INVOICE, invoice, balance)
    return json_response({"quickinvoice": _show_with_transactions(context, invoice)})


def _show_with_transactions(context: RequestContext, invoice: Row) -> Row:
    renamed = {"is_active": "active"}
    record = {renamed.get(name, name): value for name, value in show_record(context, QUICK_INVOICE, invoice).items()}
    plain = attrs.evolve(context, expands={})
    return record | {
        "transactions": [show_record(plain, TRANSACTION, row) for row in transactions_of(context.gateway, invoice)]
    }


def _find_state(gateway: Gateway, invoice: Row) -> BillState:
    if invoice["status_id"] == InvoiceStatus.CLOSED:
        return BillState.PAID if invoice["payment_status_id"] == PaymentStatus.PAID else BillState.CLOSED
    if is_expired(gateway, invoice):
        return BillState.EXPIRED
    return BillState.OPEN if invoice["remaining_balance"] or invoice["allow_overpayment"] else BillState.PAID


def _find_limits(invoice: Row) -> tuple[int, int]:
    """Find the smallest and the largest payment; the remaining balance can be paid even if it is smaller."""
    remaining, largest = invoice["remaining_balance"], invoice["single_payment_max_amount"]
    smallest = invoice["single_payment_min_amount"]
    if remaining:
        smallest = min(smallest, remaining) if invoice["allow_partial_pay"] else remaining
    return max(1, smallest), largest if invoice["allow_overpayment"] else min(largest, remaining)


def _describe_payment(invoice: Row) -> Row:
    return {"trx_source_id": TransactionSource.QUICK_INVOICE, "quick_invoice_id": invoice["id"]}


def _update_after_payment(gateway: Gateway, invoice: Row, approved: bool) -> Row:
    if approved:
        invoice = gateway.change(QUICK_INVOICE, invoice, compute_balance(gateway, invoice, more=True))
        notify_about_invoice(gateway, invoice, "paid")
    return invoice


INVOICE_PAGE = PaymentPage(
    QUICK_INVOICE, _check_payment, _find_state, _find_limits, _describe_payment, _update_after_payment
)
"""The page charges the remaining balance, or an amount that the invoice allows."""
