"""The fields of a hosted form: required ones, their problems, and their values as JSON."""

import re
from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal
from typing import Any, Final

from gateway_async._secrets import Secret, is_card_number, is_confidential, mask_text
from gateway_async._wire.amounts import money
from gateway_async._wire.json_text import is_utf8
from gateway_async.hosted_forms.settings import setting_problem

__all__ = ["field_problems", "value_problems", "write_field"]

_REQUIRED: Final[Mapping[str, tuple[str, ...]]] = {
    "payform": ("payment_method", "action", "product_transaction_id", "transaction_api_id"),
    "accountform": ("payment_method", "location_id", "account_vault_api_id"),
}

_ACTIONS: Final = ("sale", "debit", "authonly", "avsonly", "refund")
_CHANGES: Final = {"void": "void", "authincrement": "increment", "authcomplete": "complete"}
"""Actions on an existing payment, and the methods of `gateway.transactions` for them."""
_REFERENCES: Final = ("previous_transaction_id", "previous_transaction_api_id")
_AMOUNT: Final = re.compile(r"\w+_amount|tax|room_rate")


def field_problems(form: str, fields: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each field that is missing or invalid."""
    required = _REQUIRED[form]
    if form == "payform" and fields.get("action") != "avsonly":
        required = (*required, "transaction_amount")
    if form == "payform" and fields.get("payment_method") == "ach":
        required = (*required, "ach_sec_code")
    yield from (f"{name}: is required" for name in required if fields.get(name) in (None, ""))
    if form == "payform":
        yield from _action_problems(fields)
    for name, value in fields.items():
        yield from value_problems(form, name, value)


def _action_problems(fields: Mapping[str, Any]) -> Iterator[str]:
    action = fields.get("action")
    if action not in (None, "", *_ACTIONS):
        instead = _CHANGES.get(action) if isinstance(action, str) else None
        hint = f", not {action} (use gateway.transactions.{instead})" if instead else ""
        yield f"action: must be one of {', '.join(_ACTIONS)}{hint}"
    elif action == "refund":
        given = (name for name in _REFERENCES if fields.get(name) not in (None, ""))
        yield from (f"{name}: a form refunds without a reference (use gateway.transactions.refund)" for name in given)


def value_problems(form: str, name: str, value: Any) -> Iterator[str]:
    """Yield what is wrong with a form's sealed field or setting."""
    if is_confidential(name):
        yield f"{name}: must not be in a URL; it is entered on the form"
    elif _has_secret(name) or _has_secret(value):
        yield f"{name}: must not be in a URL; it contains a card number or a secret"
    elif value is not None and (problem := setting_problem(form, name, value)):
        yield f"{name}: {problem}"
    elif value is not None and _AMOUNT.fullmatch(name):
        yield from _amount_problems(name, value)
    elif not _is_plain(value):
        yield f"{name}: must be text, a whole number, a Decimal, a date, or a list or mapping of these, not a float"


def _has_secret(value: Any) -> bool:
    match value:
        case Secret():
            return True
        case Mapping():
            return any(map(_has_secret, (*value, *value.values())))
        case list() | tuple():
            return any(map(_has_secret, value))
        case str():  # digits alone may be a time or another number
            return is_card_number(value) or (mask_text(value) != value and any(map(str.isalpha, value)))
        case _:
            return False


def _amount_problems(name: str, value: Any) -> Iterator[str]:
    if not isinstance(value, Decimal | int | str):
        yield f"{name}: must be a Decimal, an int or a str, never a float"
        return
    try:
        if Decimal(money(value)) < 0:
            yield f"{name}: must not be negative"
    except ValueError as error:
        yield f"{name}: {error}"


def _is_plain(value: Any) -> bool:
    match value:
        case Mapping():
            return all(isinstance(name, str) and _is_plain(each) for name, each in value.items())
        case str():
            return is_utf8(value)
        case list() | tuple():
            return all(_is_plain(each) for each in value)
        case _:
            return value is None or isinstance(value, int | Decimal | date)


def write_field(name: str, value: Any) -> Any:
    """Return the value of a field as JSON has it."""
    if value is not None and _AMOUNT.fullmatch(name):
        return money(value)
    match value:
        case bool():
            return int(value)
        case date():
            return value.isoformat()
        case Mapping():
            return {key: write_field("", each) for key, each in value.items()}
        case list() | tuple():
            return [write_field("", each) for each in value]
        case _:
            return value
