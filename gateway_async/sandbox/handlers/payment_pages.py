"""The payment pages of invoices and paylinks.

A customer enters a card, and the gateway charges it.
"""

from collections.abc import Callable
from decimal import Decimal

import attrs

from gateway_async.sandbox.handlers.payments import record_payment
from gateway_async.sandbox.http.errors import UnknownRecordError
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema.fields import Row, Table
from gateway_async.sandbox.schema.kinds import show_money
from gateway_async.sandbox.simulators import issuer_decisions as issuer
from gateway_async.sandbox.simulators.cards import Account

__all__ = ["Amount", "PaymentPage", "is_expired", "pay"]


Amount = Decimal | int | str
"""Two-decimal money, as a number or a string."""


@attrs.frozen
class PaymentPage:
    """The payment page of invoices, or that of paylinks.

    Attributes:
        table: The record type.
        check: Returns the cents to charge for an amount. Raises ValueError if the record does not accept it.
        describe: Returns the fields of the transaction that come from the record.
        update: Returns the record after a payment, which was approved or not, and notifies the customer.
    """

    table: Table
    check: Callable[[Gateway, Row, Amount | None], int]
    describe: Callable[[Row], Row]
    update: Callable[[Gateway, Row, bool], Row]


async def pay(
    gateway: Gateway, page: PaymentPage, record_id: str, amount: Amount | None, card: Account
) -> tuple[Row, Row]:
    """Pay an invoice or a paylink of any location on its page.

    Returns the transaction, which belongs to the creator of the record, and the updated record. Without an amount,
    everything due is paid. If the record allows no partial payment, a partial approval becomes a decline.

    Raises:
        UnknownRecordError: The record is unknown or was deleted.
        ValueError: The record does not accept the payment.
    """
    bill, cents = _find_payable(gateway, page, record_id, amount)
    outcome = issuer.decide(cents)
    if outcome.auth_amount is not None and not bill.get("allow_partial_pay"):
        outcome = issuer.decline(outcome.verbiage)
    if outcome.wait:
        await gateway.clock.sleep(outcome.wait)
        # another payment may have arrived in the meantime
        bill, cents = _find_payable(gateway, page, record_id, show_money(cents))
    user = {"id": bill["created_user_id"], "location_id": bill["location_id"]}
    values = {
        "payment_method": "cc",
        "action": "sale",
        "contact_id": bill["contact_id"],
        "product_transaction_id": bill["cc_product_transaction_id"],
        "transaction_amount": cents,
    }
    with gateway.store.transaction():
        transaction = record_payment(gateway, user, values | page.describe(bill), card, outcome)
        return transaction, page.update(gateway, bill, outcome.approved)


def _find_payable(gateway: Gateway, page: PaymentPage, record_id: str, amount: Amount | None) -> tuple[Row, int]:
    bill = gateway.store.find(page.table, id=record_id)
    if bill is None or bill["deleted_ts"] is not None:
        raise UnknownRecordError(page.table.singular, record_id)
    return bill, page.check(gateway, bill, amount)


def is_expired(gateway: Gateway, bill: Row) -> bool:
    """Return whether the `expire_date` has passed; days end at midnight UTC."""
    return bill["expire_date"] is not None and bill["expire_date"] < gateway.clock.date().date().isoformat()
