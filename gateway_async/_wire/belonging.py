"""Answers belong to questions: what a record must say to be the one that was asked for.

A value that the record leaves out or has as null proves nothing, so it is no difference.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from functools import cache
from typing import Any, Final

import attrs

from gateway_async._secrets import mask_text
from gateway_async.errors import MismatchedReplyError
from gateway_async.models.record import Record
from gateway_async.models.request import Request

__all__ = ["check_belongs", "check_changed", "check_refusal", "is_less", "same_value"]

_NOT_CHARGED: Final = frozenset({"201", "301"})
"""A void sets the amount to 0, and so may a decline."""

_UNCHANGED: Final[Mapping[str, frozenset[str]]] = {
    "void": frozenset({"101", "102", "111", "121", "131", "132", "133", "134"}),
    "authcomplete": frozenset({"102"}),
}
"""Action → what a transaction's `status_id` can be before it, and not after."""

_TO_A_SUM: Final = frozenset({"authcomplete", "authincrement"})
"""Actions after which a transaction's amount is the one that was sent."""

_ADDED: Final = ("tip_amount", "surcharge_amount", "auth_surcharge_fee")
"""What may have been added to the amount at the terminal."""

_OTHER_WAY: Final[Mapping[str, frozenset[str]]] = {
    **dict.fromkeys(("sale", "authonly", "force", "debit"), frozenset({"30", "40"})),
    **dict.fromkeys(("refund", "credit"), frozenset({"20", "50"})),
}
"""Action → the `type_id`s of transactions whose money goes the other way."""

_TOP: Final = re.compile(r"[.\[]")

_MONEY: Final = re.compile(r"-?[0-9]+\.[0-9][0-9]")


def check_belongs(expected: Mapping[str, Any], record: Mapping[str, Any]) -> None:
    """Compare the raw `record` with what was asked.

    Raises:
        MismatchedReplyError: it differs, so it is the answer to something else.
    """
    differences = tuple(_differences(expected, record))
    if differences:
        raise MismatchedReplyError(differences)


def check_changed(action: str, sent: Mapping[str, Any], record: Mapping[str, Any]) -> None:
    """Compare the raw transaction with what an action makes of it: an older answer about it may come late.

    Raises:
        MismatchedReplyError: it is as it was before.
    """
    status = record.get("status_id")
    if str(status) in _UNCHANGED.get(action, ()):
        raise MismatchedReplyError((f"status_id is {status} still, after {action}",))
    if action in _TO_A_SUM and sent.get("transaction_amount") is not None:
        check_belongs({"transaction_amount": sent["transaction_amount"]}, record)


def check_refusal(named: Iterable[str], own: frozenset[str]) -> None:
    """Compare the fields that a refusal names with those of what was sent.

    One that this package has never heard of proves nothing: gateways learn new ones.

    Args:
        named: what the refusal names, such as `"item_list.Tea"`.
        own: what a refusal of the call can name; when it is empty, that is not known.

    Raises:
        MismatchedReplyError: it names fields of other resources only.
    """
    fields = {_TOP.split(name, maxsplit=1)[0] for name in named}
    if own and fields and fields.isdisjoint(own) and fields <= _every_field():
        raise MismatchedReplyError((f"it refuses {', '.join(sorted(fields))}, which this request cannot have",))


@cache
def _every_field() -> frozenset[str]:
    """The fields of all resources."""
    kinds: list[type[Any]] = [Record, Request]
    for kind in kinds:
        kinds += kind.__subclasses__()
    return frozenset(field.name for kind in kinds for field in attrs.fields(kind))


def _differences(expected: Mapping[str, Any], record: Mapping[str, Any]) -> Iterator[str]:
    for name, wanted in expected.items():
        if name == "action":
            yield from _other_way(str(wanted), record)
            continue
        got = record.get(name)
        if got is None or got == "":
            continue
        agrees = _amount_agrees(wanted, record) if name == "transaction_amount" else str(got) == str(wanted)
        if not agrees:
            yield mask_text(f"{name} is {got!r}, not {wanted!r}")


def _other_way(action: str, record: Mapping[str, Any]) -> Iterator[str]:
    """A transaction does not say which action made it, but which way its money went."""
    kind = str(record.get("type_id"))
    if kind in _OTHER_WAY.get(action, ()):
        yield mask_text(f"type_id is {kind}, which is not that of a {action}")


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


def is_less(sent: Any, got: Any) -> bool:
    """Whether of two sums of money, in any of the gateway's spellings, the first is the smaller one."""
    first, second = _number(sent), _number(got)
    return first is not None and second is not None and first < second


def _number(value: Any) -> Decimal | None:
    if value is None or isinstance(value, bool | list | dict):
        return None
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return None
    return number if number.is_finite() else None
