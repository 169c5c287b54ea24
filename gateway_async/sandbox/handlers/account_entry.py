"""Read the card or the bank account that a customer enters on a payment page, and the billing address."""

from collections.abc import Mapping

from gateway_async.sandbox.handlers.account_sources import PAYMENT_SOURCES, check_exp_date, find_account
from gateway_async.sandbox.handlers.bank_requirements import LICENSE, check_bank_payment, require
from gateway_async.sandbox.handlers.merchant_accounts import product_of
from gateway_async.sandbox.handlers.payment_pages import payer_of
from gateway_async.sandbox.http.errors import Problems
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema import TRANSACTION
from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.simulators.ach_terminals import AchTerminal, read_terminal
from gateway_async.sandbox.simulators.cards import Account

__all__ = ["find_required_fields", "read_account"]


_CARD_FIELDS = ("account_number", "exp_date", "cvv", "account_holder_name")
_BANK_FIELDS = ("account_holder_name", "routing", "account_number", "account_type")
_BILLING_FIELDS = ("billing_street", "billing_city", "billing_state", "billing_zip", "billing_phone")

_IDENTITY_FIELDS = ("customer_id", "dl_number", "dl_state", "ssn4", "dob_year")
"""The fields of an invoice that are for payments from a bank account only."""

_FIELDS = {"cc": _CARD_FIELDS + _BILLING_FIELDS, "ach": _BANK_FIELDS + _BILLING_FIELDS + _IDENTITY_FIELDS}
_WEB = "WEB"
"""The SEC code of a bank payment that was authorized on the Internet."""


def read_account(gateway: Gateway, bill: Row, method: str, entered: Mapping[str, str]) -> tuple[Account, Row]:
    """Read the account that a customer entered, and the transaction's fields.

    Raises:
        ValidationError: A field is missing or invalid.
    """
    problems = Problems()
    values: Row = {"payment_method": method, "product_transaction_id": bill[f"{method}_product_transaction_id"]}
    values |= _read_fields({name: entered.get(name) for name in _FIELDS[method]}, problems)
    if method == "ach":
        values |= {name: bill[name] for name in _IDENTITY_FIELDS if bill.get(name)}
        values["ach_sec_code"] = _find_sec_code(gateway, bill)
        require(sorted(find_required_fields(gateway, bill)), values, problems)
    check_exp_date(values, problems)
    account = find_account(gateway, payer_of(bill), PAYMENT_SOURCES, values, problems)
    check_bank_payment(gateway, payer_of(bill), values, account, problems)
    account = problems.require(account)
    del values["account_number"]
    return account, values


def find_required_fields(gateway: Gateway, bill: Row) -> set[str]:
    """Return the fields that a bank payment needs besides the account.

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
    return product_of(gateway, payer_of(bill), named) or {}


def _find_terminal(product: Row) -> AchTerminal | None:
    number = product.get("ach_terminal")
    return read_terminal(number) if number else None
