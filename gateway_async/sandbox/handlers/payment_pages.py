"""The payments that customers make on the pages of invoices and paylinks.

A customer enters a card or a bank account, and the gateway charges it.
"""

from collections.abc import Callable, Mapping
from decimal import Decimal
from enum import StrEnum

import attrs

from gateway_async.sandbox.handlers.merchant_accounts import find_product
from gateway_async.sandbox.handlers.payments.account import PAYMENT_SOURCES, check_exp_date, find_account
from gateway_async.sandbox.handlers.payments.create import record_payment
from gateway_async.sandbox.handlers.payments.issuer import IssuerDecision, decide_payment, decline
from gateway_async.sandbox.handlers.payments.rules import LICENSE, check_bank_payment
from gateway_async.sandbox.http.responses import Problems, UnknownRecordError
from gateway_async.sandbox.request.validation import require
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema import TRANSACTION
from gateway_async.sandbox.schema.fields import Row, Table
from gateway_async.sandbox.schema.kinds import show_money
from gateway_async.sandbox.simulators.cards import Account
from gateway_async.sandbox.simulators.vendor_tables import AchTerminal, read_terminal

AmountInput = Decimal | int | str
"""Two-decimal money, as a number or a string."""

_REFUSED_METHODS = {"cc": "takes no cards.", "ach": "takes no bank accounts."}
_CARD_FIELDS = ("account_number", "exp_date", "cvv", "account_holder_name")
_BANK_FIELDS = ("account_holder_name", "routing", "account_number", "account_type")
_BILLING_FIELDS = ("billing_street", "billing_city", "billing_state", "billing_zip", "billing_phone")
_IDENTITY_FIELDS = ("customer_id", "dl_number", "dl_state", "ssn4", "dob_year")
"""The fields of an invoice that are for payments from a bank account only."""

_FIELDS = {"cc": _CARD_FIELDS + _BILLING_FIELDS, "ach": _BANK_FIELDS + _BILLING_FIELDS + _IDENTITY_FIELDS}
_WEB = "WEB"
"""The SEC code of a bank payment that was authorized on the Internet."""


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
    """The payment page of invoices or paylinks.

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


def _payer_of(bill: Row) -> Row:
    """The user that owns the payments of a bill: its creator."""
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
        transaction = record_payment(gateway, _payer_of(bill), values, account, outcome)
        return transaction, page.update(gateway, bill, outcome.approved)


def _find_payable(
    gateway: Gateway, page: PaymentPage, record_id: str, amount: AmountInput | None, account: Account
) -> tuple[Row, int]:
    bill = gateway.store.find_alive(page.table, id=record_id)
    if bill is None:
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
    outcome = decide_payment(find_product(gateway, _payer_of(bill), values), values, account)
    if outcome.auth_amount is not None and not bill.get("allow_partial_pay"):
        return decline(outcome.verbiage)
    return outcome


def read_account(gateway: Gateway, bill: Row, method: str, entered: Mapping[str, str]) -> tuple[Account, Row]:
    """Read the account that a customer entered, and the transaction's fields."""
    problems = Problems()
    values: Row = {"payment_method": method, "product_transaction_id": bill[f"{method}_product_transaction_id"]}
    values |= _read_fields({name: entered.get(name) for name in _FIELDS[method]}, problems)
    if method == "ach":
        values |= {name: bill[name] for name in _IDENTITY_FIELDS if bill.get(name)}
        values["ach_sec_code"] = _find_sec_code(gateway, bill)
        require(sorted(find_required_fields(gateway, bill)), values, problems)
    check_exp_date(values, problems)
    account = find_account(gateway, _payer_of(bill), PAYMENT_SOURCES, values, problems)
    check_bank_payment(find_product(gateway, _payer_of(bill), values), values, account, problems)
    account = problems.require(account)
    del values["account_number"]
    return account, values


def find_required_fields(gateway: Gateway, bill: Row) -> set[str]:
    """Find the fields that a bank payment needs besides the account.

    The merchant account or its test terminal requires them. Fields that the bill has are left out.
    """
    product = _find_product(gateway, bill)
    names = {*LICENSE} if product.get("license_verification") and not bill.get("customer_id") else set()
    if terminal := _find_terminal(product):
        names |= {*terminal.required} - {*_BANK_FIELDS}
        if terminal.needs_identity and not bill.get("dob_year"):
            names.add("ssn4")
    return {name for name in names if not bill.get(name)}


def _read_fields(entered: Mapping[str, str | None], problems: Problems) -> Row:
    values: Row = {}
    for name, text in entered.items():
        if text:
            try:
                values[name] = TRANSACTION.by_name[name].read(text)
            except ValueError as reason:
                problems.add(name, str(reason))
    return values


def _find_sec_code(gateway: Gateway, bill: Row) -> str:
    terminal = _find_terminal(_find_product(gateway, bill))
    return terminal.sec_code if terminal else _WEB


def _find_product(gateway: Gateway, bill: Row) -> Row:
    named = {"payment_method": "ach", "product_transaction_id": bill["ach_product_transaction_id"]}
    return find_product(gateway, _payer_of(bill), named)


def _find_terminal(product: Row) -> AchTerminal | None:
    number = product.get("ach_terminal")
    return read_terminal(number) if number else None
