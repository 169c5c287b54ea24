"""Checks that a response belongs to the request that it came for.

A value that is missing or null in the record proves nothing, so it does not count as a difference.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from functools import cache
from typing import Any, Final

import attrs

from gateway_async._secrets import Secret, quote_text
from gateway_async._wire.amounts import add, is_same, subtract, to_cents
from gateway_async.errors import MismatchedReplyError
from gateway_async.models.codes import OpenInt, TransactionStatus, TransactionType
from gateway_async.models.record import Record
from gateway_async.models.request import Request

__all__ = [
    "AMOUNTS",
    "check_belongs",
    "check_changed",
    "check_refusal",
    "code_texts",
    "differences",
    "is_less",
    "same_value",
]


def code_texts(*codes: OpenInt) -> frozenset[str]:
    """Return codes as text, because raw records show numbers or texts."""
    return frozenset(str(int(code)) for code in codes)


_NOT_CHARGED: Final = code_texts(TransactionStatus.VOIDED, TransactionStatus.DECLINED)
"""Statuses with an amount that may be 0: a void sets the amount to 0, and a decline may do so."""

_STATUSES_BEFORE: Final[Mapping[str, frozenset[str]]] = {
    "void": code_texts(*(status for status in TransactionStatus if status.is_approved)),
    "authcomplete": code_texts(TransactionStatus.AUTH_ONLY),
}
"""Action → the values of a transaction's `status_id` that are possible before the action only."""

_SETS_AMOUNT: Final = frozenset({"authcomplete", "authincrement"})
"""Actions after which a transaction's amount is the one that was sent."""

_ADDED: Final = ("tip_amount", "surcharge_amount", "auth_surcharge_fee")
"""Fields of a record with amounts that the terminal or the gateway added to the sent amount."""

_REMOVABLE: Final = ("surcharge_amount", "tax")
"""Parts of the sent amount that the gateway may drop, as it does with surcharges on debit cards."""

_OPPOSITE_TYPES: Final[Mapping[str, frozenset[str]]] = {
    **dict.fromkeys(("sale", "authonly", "force", "debit"), code_texts(TransactionType.REFUND, TransactionType.CREDIT)),
    **dict.fromkeys(("refund", "credit"), code_texts(TransactionType.SALE, TransactionType.DEBIT)),
}
"""Action → the `type_id`s of transactions that move money in the opposite direction."""

_PATH_SEPARATOR: Final = re.compile(r"[.\[]")

_NO_DATE: Final = ("0000-00-00", "0000-00-00 00:00:00")
"""Dates that some records show instead of null."""

_MONEY: Final = re.compile(r"-?[0-9]+\.[0-9][0-9]")


AMOUNTS: Final = ("transaction_amount", *_REMOVABLE)
"""Fields of a request that decide which amounts its record may show."""


def check_belongs(expected: Mapping[str, Any], record: Mapping[str, Any]) -> None:
    """Check that the raw `record` has the expected values.

    Raises:
        MismatchedReplyError: a value differs, so the response belongs to another request.
    """
    found = differences(expected, record)
    if found:
        raise MismatchedReplyError(found)


def differences(expected: Mapping[str, Any], record: Mapping[str, Any]) -> tuple[str, ...]:
    """Return one line for each expected value that the raw `record` contradicts."""
    return tuple(_differences(expected, record))


def check_changed(action: str, sent: Mapping[str, Any], record: Mapping[str, Any]) -> None:
    """Check that the raw transaction shows the effect of an action.

    An older response about the same transaction may arrive late.

    Raises:
        MismatchedReplyError: the transaction is in a state from before the action.
    """
    status = record.get("status_id")
    if str(status) in _STATUSES_BEFORE.get(action, ()):
        raise MismatchedReplyError((f"status_id is still {status} after {action}",))
    tip = record.get("tip_amount")
    if action == "tipadjust" and tip is not None and not same_value(sent.get("tip_amount"), tip):
        raise MismatchedReplyError((quote_text(f"tip_amount is still {tip} after {action}"),))
    if action in _SETS_AMOUNT and sent.get("transaction_amount") is not None:
        captured = {name: value for name, value in record.items() if name != "auth_amount"}  # still the old amount
        names = AMOUNTS if action == "authcomplete" else ("transaction_amount",)
        check_belongs({name: sent[name] for name in names if sent.get(name) is not None}, captured)


def check_refusal(named: Iterable[str], own: frozenset[str]) -> None:
    """Check that a refusal names fields of the request.

    A field that this package does not know proves nothing, because gateways add fields.

    Args:
        named: the fields that the refusal names, such as `"item_list.Tea"`.
        own: the fields that a refusal of the call can name; empty if they are not known.

    Raises:
        MismatchedReplyError: the refusal names fields of other resources only.
    """
    fields = {_PATH_SEPARATOR.split(name, maxsplit=1)[0] for name in named}
    if own and fields and fields.isdisjoint(own) and fields <= _every_field():
        raise MismatchedReplyError((f"it refuses {', '.join(sorted(fields))}, which the request does not have",))


@cache
def _every_field() -> frozenset[str]:
    """Return the fields of all resources."""
    kinds: list[type[Any]] = [Record, Request]
    for kind in kinds:
        kinds += kind.__subclasses__()
    return frozenset(field.name for kind in kinds for field in attrs.fields(kind))


def _differences(expected: Mapping[str, Any], record: Mapping[str, Any]) -> Iterator[str]:
    for name, wanted in expected.items():
        if name == "action":
            yield from _direction_differences(str(wanted), record)
        elif name == "transaction_amount":
            yield from _amount_differences(expected, record)
        elif name not in _REMOVABLE:
            got = record.get(name)
            if got not in (None, "") and str(got) != str(wanted):
                is_long = name == "last_four" and len(str(got)) > 4  # noqa: PLR2004  it may be a whole account number
                shown = f"…{str(got)[-4:]}" if is_long else got
                yield quote_text(f"{name} is {shown!r}, not {wanted!r}")


def _direction_differences(action: str, record: Mapping[str, Any]) -> Iterator[str]:
    """Yield a difference if the money moved in the opposite direction.

    The direction is compared because a record does not contain its action.
    """
    kind = str(record.get("type_id"))
    if kind in _OPPOSITE_TYPES.get(action, ()):
        yield quote_text(f"type_id is {kind}, which is not the type of a {action}")


def _amount_differences(expected: Mapping[str, Any], record: Mapping[str, Any]) -> Iterator[str]:
    """Yield the differences of the amounts.

    No amount of the record may exceed the sent amount, and one must equal it.
    """
    if str(record.get("status_id")) in _NOT_CHARGED:
        return
    wanted = Decimal(expected["transaction_amount"])
    added = _amounts(record, _ADDED)
    for name in ("transaction_amount", "auth_amount"):
        amount = _cents(record.get(name))
        if amount is not None and amount > add(wanted, *added):
            yield quote_text(f"{name} is {record[name]!r}, not {expected['transaction_amount']!r}")
            return
    got = record.get("transaction_amount")
    if got in (None, ""):
        return
    amount = _cents(got)
    shown = {amount, _cents(record.get("auth_amount")), _cents(record.get("subtotal_amount"))}
    if amount is not None:
        shown.update(subtract(amount, each) for each in (*added, add(*added)))
    dropped = _amounts(expected, _REMOVABLE)
    if shown.isdisjoint(subtract(wanted, each) for each in (add(), *dropped, add(*dropped))):
        yield quote_text(f"transaction_amount is {got!r}, not {expected['transaction_amount']!r}")


def _amounts(values: Mapping[str, Any], names: Iterable[str]) -> tuple[Decimal, ...]:
    return tuple(number for number in (_cents(values.get(name)) for name in names) if number is not None)


def same_value(sent: Any, got: Any) -> bool:
    """Return whether two JSON values are equal in any notation.

    1, `"1"` and true are equal, as are 21 and `"21.00"`. A date of zeros and an empty text equal null. Texts are
    compared exactly (`"007"` is not `"7"`), unless the sent text is written as money. 19.989999999999998 is 19.99.
    """
    sent = sent.reveal() if isinstance(sent, Secret) else sent
    if sent == got or str(sent) == str(got) or (sent is None and got in _NO_DATE):
        return True
    if sent in (None, "") and got in (None, ""):
        return True
    if isinstance(sent, Mapping) and isinstance(got, Mapping):
        return sent.keys() == got.keys() and all(same_value(sent[name], got[name]) for name in sent)
    if isinstance(sent, str) and isinstance(got, str) and not _MONEY.fullmatch(sent):
        return False
    number, shown = _number(sent), _number(int(got) if isinstance(got, bool) else got)
    return number is not None and shown is not None and is_same(number, shown)


def is_less(sent: Any, got: Any) -> bool:
    """Return whether the amount `sent` is less than the amount `got`.

    Both may be in any of the gateway's notations.
    """
    first, second = _cents(sent), _cents(got)
    return first is not None and second is not None and first < second


def _cents(value: Any) -> Decimal | None:
    number = _number(value)
    return None if number is None else to_cents(number)


def _number(value: Any) -> Decimal | None:
    if value is None or isinstance(value, bool | list | dict):
        return None
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return None
    return number if number.is_finite() else None
