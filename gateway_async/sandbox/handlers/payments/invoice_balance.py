"""The balance of a quick invoice: whether it accepts a payment, and what remains due afterwards.

The paid amount is always recomputed from the transactions of the invoice that took money. Therefore a void, or a return
by a bank, makes the amount due again. A refund does not: money that was given back is not due again.
"""

from gateway_async.sandbox.http.responses import Problems
from gateway_async.sandbox.request.transaction_relations import amount_charged
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema import QUICK_INVOICE, TRANSACTION
from gateway_async.sandbox.schema.codes import InvoiceStatus
from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.schema.kinds import show_money
from gateway_async.sandbox.state_machines.quick_invoices import INVOICE_MACHINE, codes_of, invoice_state_of, trigger_of
from gateway_async.sandbox.state_machines.transactions import took_money


def check_invoice(gateway: Gateway, transaction: Row, values: Row, problems: Problems) -> None:
    """Check that the invoice that a PUT names accepts the transaction.

    A transaction keeps the invoice that it has, because only `removeTransaction` takes it off.
    """
    invoice_id = values.get("quick_invoice_id")
    if invoice_id is None or invoice_id == transaction["quick_invoice_id"] or "quick_invoice_id" in problems:
        values.pop("quick_invoice_id", None)
        return
    invoice = gateway.store.find(QUICK_INVOICE, id=invoice_id)
    if invoice and (objection := find_objection_to_transaction(gateway, invoice, transaction)):
        problems.add("quick_invoice_id", objection)


def find_objection_to_transaction(gateway: Gateway, invoice: Row, transaction: Row) -> str | None:
    """Find why a transaction cannot become a payment of an invoice; None if it can."""
    if transaction["quick_invoice_id"] is not None:
        return "The transaction belongs to an invoice already."
    if not took_money(transaction):
        return "The transaction took no money."
    objection = find_objection_to_amount(gateway, invoice, amount_charged(transaction))
    return objection and f"The invoice {objection}"


def update_invoice_of(gateway: Gateway, transaction: Row, *, more: bool = False) -> None:
    """Update the invoice of a changed transaction, if it belongs to one.

    `more` says whether the transaction is a new payment of the invoice, or counts again.
    """
    invoice_id = transaction["quick_invoice_id"]
    if invoice := invoice_id and gateway.store.find(QUICK_INVOICE, id=invoice_id):
        gateway.change(QUICK_INVOICE, invoice, compute_balance(gateway, invoice, more=more))


def compute_balance(gateway: Gateway, invoice: Row, *, more: bool = False) -> Row:
    """Compute the balance and state of an invoice, computed from its payments.

    `more` says whether more is paid than before. A closed invoice stays closed.
    """
    paid, state = _sum_payments(gateway, invoice), invoice_state_of(invoice)
    more = more and invoice["status_id"] == InvoiceStatus.OPEN
    after = INVOICE_MACHINE.next_state(state, trigger_of(invoice, paid, more=more)) or state
    return {"remaining_balance": _remaining_balance(invoice, paid)} | codes_of(after)


def transactions_of(gateway: Gateway, invoice: Row) -> list[Row]:
    """The transactions of an invoice, including declined ones, oldest first."""
    return gateway.store.filter(TRANSACTION, quick_invoice_id=invoice["id"])


def find_objection_to_amount(gateway: Gateway, invoice: Row, cents: int) -> str | None:
    """Find why an invoice rejects a payment of `cents`, as a predicate; None if it accepts it."""
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
    return sum(amount_charged(row) for row in transactions_of(gateway, invoice) if took_money(row))


def _remaining_balance(invoice: Row, paid: int) -> int:
    return max(0, int(invoice["amount_due"]) - paid)


def is_expired(gateway: Gateway, bill: Row) -> bool:
    """Whether the `expire_date` has passed; days end at midnight UTC."""
    return bill["expire_date"] is not None and bill["expire_date"] < gateway.clock.today().isoformat()
