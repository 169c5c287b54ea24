"""Answers belong to questions: what a record must say to be the one that was asked for.

A value that the record leaves out or has as null proves nothing, so it is no difference.
"""

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from gateway_async._secrets import mask_text
from gateway_async.errors import MismatchedReplyError

__all__ = ["check_belongs", "same_value"]

_NOT_CHARGED: Final = frozenset({"201", "301"})
"""A void sets the amount to 0, and so may a decline."""

_ADDED: Final = ("tip_amount", "surcharge_amount", "auth_surcharge_fee")
"""What may have been added to the amount at the terminal."""

_MONEY: Final = re.compile(r"-?[0-9]+\.[0-9][0-9]")


def check_belongs(expected: Mapping[str, Any], record: Mapping[str, Any]) -> None:
    """Compare the raw `record` with what was asked.

    Raises:
        MismatchedReplyError: it differs, so it is the answer to something else.
    """
    differences = tuple(_differences(expected, record))
    if differences:
        raise MismatchedReplyError(differences)


def _differences(expected: Mapping[str, Any], record: Mapping[str, Any]) -> Iterator[str]:
    for name, wanted in expected.items():
        got = record.get(name)
        if got is None or got == "":
            continue
        agrees = _amount_agrees(wanted, record) if name == "transaction_amount" else str(got) == str(wanted)
        if not agrees:
            yield mask_text(f"{name} is {got!r}, not {wanted!r}")


def _amount_agrees(wanted: str, record: Mapping[str, Any]) -> bool:
    if str(record.get("status_id")) in _NOT_CHARGED:
        return True
    amount = _number(record.get("transaction_amount"))
    possible = {amount, _number(record.get("auth_amount")), _number(record.get("subtotal_amount"))}
    if amount is not None:
        possible.update(amount - (_number(record.get(name)) or 0) for name in _ADDED)
    return Decimal(wanted) in possible


def same_value(sent: Any, got: Any) -> bool:
    """Whether two JSON values say the same, in any of the gateway's spellings: 1, `"1"` and true; 21, `"21.00"`.

    Texts are equal only as they are (`"007"` is not `"7"`), unless what was sent is written as money.
    """
    if sent == got or str(sent) == str(got):
        return True
    if isinstance(sent, Mapping) and isinstance(got, Mapping):
        return sent.keys() == got.keys() and all(same_value(sent[name], got[name]) for name in sent)
    if isinstance(sent, str) and isinstance(got, str) and not _MONEY.fullmatch(sent):
        return False
    number = _number(sent)
    return number is not None and number == _number(int(got) if isinstance(got, bool) else got)


def _number(value: Any) -> Decimal | None:
    if value is None or isinstance(value, bool | list | dict):
        return None
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return None
    return number if number.is_finite() else None
