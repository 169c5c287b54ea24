"""The payments that customers make on the pages of invoices and paylinks.

A customer enters a card or a bank account, and the gateway charges it.
"""

from collections.abc import Callable
from decimal import Decimal
from enum import StrEnum

import attrs

from gateway_async.sandbox.handlers.card_decisions import decide_card_payment
from gateway_async.sandbox.handlers.payments import record_payment
from gateway_async.sandbox.http.errors import UnknownRecordError
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema.fields import Row, Table
from gateway_async.sandbox.schema.kinds import show_money
from gateway_async.sandbox.simulators import issuer_decisions as issuer
from gateway_async.sandbox.simulators.cards import Account
from gateway_async.sandbox.simulators.issuer_decisions import IssuerDecision

__all__ = [
    "AmountInput",
    "BillState",
    "NotPayableError",
    "PaymentPage",
    "find_bill",
    "is_expired",
    "pay_bill",
    "payer_of",
]


AmountInput = Decimal | int | str
"""Two-decimal money, as a number or a string."""

_REFUSED_METHODS = {"cc": "takes no cards.", "ach": "takes no bank accounts."}


class BillState(StrEnum):
    """Whether an invoice or a paylink can be paid, and why not."""

    OPEN = "open"
    PAID = "paid"
    CLOSED = "closed"
    EXPIRED = "expired"
    DELETED = "deleted"


class NotPayableError(ValueError):
    """A payment that an invoice or a paylink does not accept.

    Attributes:
        reason: The predicate of a sentence about the record, such as "has expired."
    """

    def __init__(self, table: Table, record_id: str, reason: str) -> None:
        super().__init__(f"{table.singular} {record_id}: it {reason}")
        self.reason = reason


@attrs.frozen
class PaymentPage:
    """The payment page of invoices, or that of paylinks.

    Attributes:
        table: The record type.
        check: Returns the cents to charge for an amount. Raises ValueError if the record does not accept it.
        find_state: Returns the state of a record that was not deleted.
        find_limits: Returns the smallest and the largest amount that one payment may have, in cents.
        describe: Returns the fields of the transaction that come from the record.
        update: Returns the record after a payment, which was approved or not, and notifies the customer.
    """

    table: Table
    check: Callable[[Gateway, Row, AmountInput | None], int]
    find_state: Callable[[Gateway, Row], BillState]
    find_limits: Callable[[Row], tuple[int, int]]
    describe: Callable[[Row], Row]
    update: Callable[[Gateway, Row, bool], Row]


def find_bill(gateway: Gateway, page: PaymentPage, **equal: str) -> tuple[Row, BillState] | None:
    """Find an invoice or paylink of any location, and its state."""
    bill = gateway.store.find(page.table, **equal)
    if bill is None:
        return None
    return bill, BillState.DELETED if bill["deleted_ts"] is not None else page.find_state(gateway, bill)


def payer_of(bill: Row) -> Row:
    """Return the user that owns the payments of a bill: its creator."""
    return {"id": bill["created_user_id"], "location_id": bill["location_id"]}


async def pay_bill(
    gateway: Gateway,
    page: PaymentPage,
    record_id: str,
    amount: AmountInput | None,
    account: Account,
    entered: Row | None = None,
) -> tuple[Row, Row]:
    """Pay an invoice or a paylink of any location on its page.

    Returns the transaction, which belongs to the creator of the record, and the updated record. Without an amount,
    everything due is paid. `entered` are further fields of the transaction, such as the billing address. If the record
    allows no partial payment, a partial approval becomes a decline.

    Raises:
        UnknownRecordError: The record is unknown or was deleted.
        ValueError: The record does not accept the payment.
    """
    bill, cents = _find_payable(gateway, page, record_id, amount, account)
    values = _make_values(page, bill, account, entered or {}) | {"transaction_amount": cents}
    outcome = _decide(gateway, bill, values, account)
    if outcome.wait:
        await gateway.clock.sleep(outcome.wait)
        # another payment may have arrived in the meantime
        bill, cents = _find_payable(gateway, page, record_id, show_money(cents), account)
    with gateway.store.transaction():
        transaction = record_payment(gateway, payer_of(bill), values, account, outcome)
        return transaction, page.update(gateway, bill, outcome.approved)


def _find_payable(
    gateway: Gateway, page: PaymentPage, record_id: str, amount: AmountInput | None, account: Account
) -> tuple[Row, int]:
    bill = gateway.store.find(page.table, id=record_id)
    if bill is None or bill["deleted_ts"] is not None:
        raise UnknownRecordError(page.table.singular, record_id)
    cents = page.check(gateway, bill, amount)
    if bill[_product_field(account)] is None:
        raise NotPayableError(page.table, record_id, _REFUSED_METHODS[account.payment_method])
    return bill, cents


def _make_values(page: PaymentPage, bill: Row, account: Account, entered: Row) -> Row:
    known = {
        "payment_method": account.payment_method,
        "action": "sale",
        "contact_id": bill["contact_id"],
        "product_transaction_id": bill[_product_field(account)],
    }
    values = known | page.describe(bill)
    if account.payment_method == "ach":
        values["action"] = "debit"
    return entered | values


def _product_field(account: Account) -> str:
    return f"{account.payment_method}_product_transaction_id"


def _decide(gateway: Gateway, bill: Row, values: Row, account: Account) -> IssuerDecision:
    if account.payment_method == "ach":
        return IssuerDecision()
    outcome = decide_card_payment(gateway, payer_of(bill), values, account)
    if outcome.auth_amount is not None and not bill.get("allow_partial_pay"):
        return issuer.decline(outcome.verbiage)
    return outcome


def is_expired(gateway: Gateway, bill: Row) -> bool:
    """Return whether the `expire_date` has passed; days end at midnight UTC."""
    return bill["expire_date"] is not None and bill["expire_date"] < gateway.clock.date().date().isoformat()
