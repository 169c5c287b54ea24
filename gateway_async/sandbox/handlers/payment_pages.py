"""The payment pages of invoices and paylinks.

A customer enters a card, and the gateway charges it.
"""

from decimal import Decimal

from gateway_async.sandbox.handlers.payments import record_payment
from gateway_async.sandbox.http.errors import UnknownRecordError
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema.fields import Row, Table
from gateway_async.sandbox.simulators import issuer_decisions as issuer
from gateway_async.sandbox.simulators.cards import Account
from gateway_async.sandbox.simulators.issuer_decisions import Outcome

__all__ = ["Amount", "charge", "decide", "find_payable", "is_expired"]


Amount = Decimal | int | str
"""Two-decimal money, as a number or a string."""


def find_payable(gateway: Gateway, table: Table, record_id: str) -> Row:
    """Return the invoice or paylink to pay, of any location.

    Raises:
        UnknownRecordError: The record is unknown or was deleted.
    """
    bill = gateway.store.find(table, id=record_id)
    if bill is None or bill["deleted_ts"] is not None:
        raise UnknownRecordError(table.singular, record_id)
    return bill


def is_expired(gateway: Gateway, bill: Row) -> bool:
    """Return whether the `expire_date` has passed; days end at midnight UTC."""
    return bill["expire_date"] is not None and bill["expire_date"] < gateway.clock.date().date().isoformat()


def decide(cents: int, *, allow_partial: bool) -> Outcome:
    """Return the issuer's decision on an amount.

    Without `allow_partial`, a partial approval becomes a decline.
    """
    outcome = issuer.decide(cents)
    return outcome if allow_partial or outcome.auth_amount is None else issuer.decline(outcome.verbiage)


def charge(gateway: Gateway, bill: Row, card: Account, outcome: Outcome, values: Row) -> Row:
    """Store the result of a payment for the creator of the bill.

    `values` has the `transaction_amount` in cents, the `trx_source_id`, the id of the bill, and an `action` other
    than a sale.
    """
    known = {
        "payment_method": "cc",
        "action": "sale",
        "contact_id": bill["contact_id"],
        "product_transaction_id": bill["cc_product_transaction_id"],
    }
    user = {"id": bill["created_user_id"], "location_id": bill["location_id"]}
    return record_payment(gateway, user, known | values, card, outcome)
