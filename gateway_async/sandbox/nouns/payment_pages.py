"""What the payment pages of invoices and paylinks have in common: a customer keys a card, and it is charged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway_async.sandbox.http.errors import UnknownRecordError
from gateway_async.sandbox.nouns.payments import record_payment
from gateway_async.sandbox.simulators import issuer

if TYPE_CHECKING:
    from decimal import Decimal

    from gateway_async.sandbox.instance.gateway import Gateway
    from gateway_async.sandbox.simulators.cards import Account
    from gateway_async.sandbox.simulators.issuer import Outcome
    from gateway_async.sandbox.tables.fields import Row, Table

    Amount = Decimal | int | str
    """Two-decimal money, as people and programs write it."""


def find_bill(gateway: Gateway, table: Table, record_id: str) -> Row:
    """What a customer is asked to pay, an invoice or a paylink of any location.

    Raises:
        UnknownRecordError: There is none, or it was deleted.
    """
    bill = gateway.store.find(table, id=record_id)
    if bill is None or bill["deleted_ts"] is not None:
        raise UnknownRecordError(table.singular, record_id)
    return bill


def is_expired(gateway: Gateway, bill: Row) -> bool:
    """Whether the `expire_date`, if there is one, is over; days end at midnight UTC."""
    return bill["expire_date"] is not None and bill["expire_date"] < gateway.clock.date().date().isoformat()


def decide(cents: int, *, in_part: bool) -> Outcome:
    """What the issuer says; where only the whole can be paid, it declines what it would approve in part."""
    outcome = issuer.decide(cents)
    return outcome if in_part or outcome.auth_amount is None else issuer.declined(outcome.verbiage)


def charge(gateway: Gateway, bill: Row, card: Account, outcome: Outcome, values: Row) -> Row:
    """Store what became of a payment, in the name of the user who made the bill.

    Args:
        gateway: Where it is stored.
        bill: The stored invoice or paylink, with its contact and its merchant account for cards.
        card: What was keyed.
        outcome: What the issuer said.
        values: `transaction_amount` in cents, `trx_source_id`, the id of the bill, and an `action` that is no sale.
    """
    known = {
        "payment_method": "cc",
        "action": "sale",
        "contact_id": bill["contact_id"],
        "product_transaction_id": bill["cc_product_transaction_id"],
    }
    user = {"id": bill["created_user_id"], "location_id": bill["location_id"]}
    return record_payment(gateway, user, known | values, card, outcome)
