"""Payments of quick invoices.

They are made on the payment page, or by adding and removing transactions. The paid amount is always recomputed from the
transactions of the invoice that took money. Therefore a void makes the amount due again. A refund does not: money that
was given back is not due again.
"""

import attrs
from starlette.responses import Response

from gateway_async.sandbox.handlers.payment_pages import (
    AmountInput,
    BillState,
    NotPayableError,
    PaymentPage,
    is_expired,
)
from gateway_async.sandbox.handlers.payments.rules import amount_charged
from gateway_async.sandbox.http.responses import Problems, json_response
from gateway_async.sandbox.notifications import notify_about_invoice
from gateway_async.sandbox.request.context import RequestContext
from gateway_async.sandbox.request.records import check_values, find_record, show_record, update_record
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema import INVOICED_TRANSACTION, QUICK_INVOICE, TRANSACTION
from gateway_async.sandbox.schema.codes import InvoiceStatus, PaymentStatus, TransactionSource
from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.schema.kinds import MONEY, show_money
from gateway_async.sandbox.state_machines.bills import INVOICE_MACHINE, codes_of, invoice_state_of, trigger_of
from gateway_async.sandbox.state_machines.transactions import took_money


async def add_transaction(context: RequestContext) -> Response:
    """Handle PUT /v2/quickinvoices/{id}/addTransaction, for a payment made through another channel."""
    invoice, transaction, problems = await _read_transaction(context)
    if problem := _find_problem(context.gateway, invoice, transaction):
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


def check_invoice(gateway: Gateway, transaction: Row, values: Row, problems: Problems) -> None:
    """Check that the invoice that a PUT names accepts the transaction.

    A transaction keeps the invoice that it has, because only `removeTransaction` takes it off.
    """
    invoice_id = values.get("quick_invoice_id")
    if invoice_id is None or invoice_id == transaction["quick_invoice_id"] or "quick_invoice_id" in problems:
        values.pop("quick_invoice_id", None)
        return
    invoice = gateway.store.find(QUICK_INVOICE, id=invoice_id)
    if invoice and (objection := _find_problem(gateway, invoice, transaction)):
        problems.add("quick_invoice_id", objection)


def _find_problem(gateway: Gateway, invoice: Row, transaction: Row) -> str | None:
    """Return why a transaction cannot become a payment of an invoice; None if it can."""
    if transaction["quick_invoice_id"] is not None:
        return "The transaction belongs to an invoice already."
    if not took_money(transaction):
        return "The transaction took no money."
    objection = _find_objection(gateway, invoice, amount_charged(transaction))
    return objection and f"The invoice {objection}"


def update_invoice_of(gateway: Gateway, transaction: Row, *, more: bool = False) -> None:
    """Update the invoice of a changed transaction, if it belongs to one.

    `more` says whether the transaction is a new payment of the invoice.
    """
    invoice_id = transaction["quick_invoice_id"]
    if invoice := invoice_id and gateway.store.find(QUICK_INVOICE, id=invoice_id):
        gateway.change(QUICK_INVOICE, invoice, compute_balance(gateway, invoice, more=more))


def compute_balance(gateway: Gateway, invoice: Row, *, more: bool = False) -> Row:
    """Return the balance and state of an invoice, computed from its payments.

    `more` says whether more is paid than before.
    """
    paid, state = _sum_payments(gateway, invoice), invoice_state_of(invoice)
    after = INVOICE_MACHINE.next_state(state, trigger_of(invoice, paid, more=more)) or state
    return {"remaining_balance": _remaining_balance(invoice, paid)} | codes_of(after)


def _transactions_of(gateway: Gateway, invoice: Row) -> list[Row]:
    """Return the transactions of an invoice, including declined ones, oldest first."""
    return gateway.store.filter(TRANSACTION, quick_invoice_id=invoice["id"])


def _check_payment(gateway: Gateway, invoice: Row, amount: AmountInput | None) -> int:
    cents: int = invoice["remaining_balance"] if amount is None else _read_amount(amount)
    if objection := _find_objection(gateway, invoice, cents):
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
        "transactions": [show_record(plain, TRANSACTION, row) for row in _transactions_of(context.gateway, invoice)]
    }


def _find_objection(gateway: Gateway, invoice: Row, cents: int) -> str | None:
    """Return why an invoice rejects a payment of `cents`, as a predicate; None if it accepts it."""
    paid = _sum_payments(gateway, invoice)
    remaining = _remaining_balance(invoice, paid)
    after = INVOICE_MACHINE.next_state(invoice_state_of(invoice), trigger_of(invoice, paid + cents, more=True))
    least, most = invoice["single_payment_min_amount"], invoice["single_payment_max_amount"]
    objections = {
        "is closed.": after is None,
        "has expired.": is_expired(gateway, invoice),
        f"takes no less than {show_money(remaining)}.": not invoice["allow_partial_pay"] and cents < remaining,
        f"takes no more than {show_money(remaining)}.": not invoice["allow_overpayment"] and cents > remaining,
        f"takes no single payment below {show_money(least)}.": cents < least and cents != remaining,
        f"takes no single payment above {show_money(most)}.": cents > most,
    }
    return next((objection for objection, holds in objections.items() if holds), None)


def _sum_payments(gateway: Gateway, invoice: Row) -> int:
    return sum(amount_charged(row) for row in _transactions_of(gateway, invoice) if took_money(row))


def _remaining_balance(invoice: Row, paid: int) -> int:
    return max(0, int(invoice["amount_due"]) - paid)


def _find_state(gateway: Gateway, invoice: Row) -> BillState:
    if invoice["status_id"] == InvoiceStatus.CLOSED:
        return BillState.PAID if invoice["payment_status_id"] == PaymentStatus.PAID else BillState.CLOSED
    if is_expired(gateway, invoice):
        return BillState.EXPIRED
    return BillState.OPEN if invoice["remaining_balance"] or invoice["allow_overpayment"] else BillState.PAID


def _find_limits(invoice: Row) -> tuple[int, int]:
    """Return the smallest and the largest payment; the remaining balance can be paid even if it is smaller."""
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
