"""Checks that a response answers its request: the record has the ids and values that were sent.

A value that is missing or null in the record proves nothing, so it does not count as a difference. `RecordReader`
applies these checks to records, and `reply.py` to refusals.
"""

import html
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from functools import cache
from importlib import import_module
from itertools import chain, combinations
from pkgutil import iter_modules
from typing import Any, Final

import attrs

from gateway_async import models
from gateway_async._secrets import AccountNumber, Secret, quote_text
from gateway_async._wire.amounts import add, is_same, subtract, to_cents
from gateway_async.errors import MismatchedReplyError
from gateway_async.models.codes import OpenInt, ReasonCode, TransactionStatus, TransactionType
from gateway_async.models.record import Record
from gateway_async.models.request import Request


def code_texts(*codes: OpenInt) -> frozenset[str]:
    """Codes as text, because raw records show numbers or texts."""
    return frozenset(str(int(code)) for code in codes)


_NOT_CHARGED: Final = code_texts(TransactionStatus.VOIDED, TransactionStatus.DECLINED)
"""Statuses with an amount that may be 0: a void sets the amount to 0, and a decline may do so."""

_SURCHARGES: Final = ("surcharge_amount", "auth_surcharge_fee")
"""Fields of a record with the surcharge that the gateway added to the sent amount. Both may show the same one."""

_ADDED: Final = ("tip_amount", *_SURCHARGES)
"""Fields of a record with amounts that the terminal or the gateway added to the sent amount."""

_REMOVABLE: Final = ("surcharge_amount", "tax")
"""Parts of the sent amount that the gateway may drop, as it does with surcharges on debit cards."""

_CHARGES: Final = ("sale", "authonly", "force", "debit")
_RETURNS: Final = ("refund", "credit")
_CHECK: Final = "avsonly"

_OTHER_TYPES: Final[Mapping[str, frozenset[str]]] = {
    **dict.fromkeys(_CHARGES, code_texts(TransactionType.REFUND, TransactionType.CREDIT, TransactionType.AVS_ONLY)),
    **dict.fromkeys(_RETURNS, code_texts(TransactionType.SALE, TransactionType.DEBIT, TransactionType.AVS_ONLY)),
    _CHECK: code_texts(TransactionType.REFUND, TransactionType.CREDIT, TransactionType.DEBIT),
}
"""Action → the `type_id`s of transactions that another class of actions creates."""

_STATUS_ACTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    str(int(TransactionStatus.AUTH_ONLY)): ("authonly",),
    str(int(TransactionStatus.AVS_ONLY)): (_CHECK,),
}
"""Statuses that only some actions lead to."""

_CHANGED_LATER: Final = code_texts(TransactionStatus.VOIDED, TransactionStatus.CHARGED_BACK)
"""Statuses that no new transaction has."""

_NEW_STATUSES: Final[Mapping[str, frozenset[str]]] = {
    "authonly": code_texts(TransactionStatus.AUTH_ONLY, TransactionStatus.DECLINED),
    _CHECK: code_texts(TransactionStatus.AVS_ONLY, TransactionStatus.DECLINED),
}
"""Action → the only statuses that a new transaction can have."""

_CAPTURED: Final = code_texts(TransactionStatus.APPROVED, TransactionStatus.SETTLED)
_NEVER_AUTHORIZED: Final = code_texts(ReasonCode.APPROVED, ReasonCode.FORCED, ReasonCode.PARTIALLY_APPROVED)
"""Reasons of a captured payment that was charged at once. A completed authorization has another one."""

_PATH_SEPARATOR: Final = re.compile(r"[.\[]")

_SPACES: Final = re.compile(r"\s+")
_NOT_DIGITS: Final = re.compile(r"[^0-9]")
_EXPIRY: Final = re.compile(r"\A(0[1-9]|1[0-2]) ?[/-]? ?(?:20)?([0-9]{2})\Z")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")

_UNREADABLE: Final = "\ufffd"
"""The replacement of what was not Unicode, such as half an emoji of a text that the gateway has cut."""

_NO_DATE: Final = ("0000-00-00", "0000-00-00 00:00:00")
"""Dates that some records show instead of null."""

_MONEY: Final = re.compile(r"-?[0-9]+\.[0-9][0-9]")
_OFF: Final = ("None", "", "0", "0.0", "0.00", "False")
_EMPTY: Final = (None, "")

MODELS: Final = tuple(import_module(f"{models.__name__}.{found.name}") for found in iter_modules(models.__path__))
"""The modules of all records and requests."""

_NOT_KEPT: Final = frozenset(
    {"auth_code", "effective_date", "entry_mode_id", "extra", "subtotal_amount", "tags", "tip_amount"}
)
"""Fields of a create whose values the gateway or the terminal may change."""

AMOUNT_FIELDS: Final = ("transaction_amount", *_REMOVABLE)
"""Fields of a request that decide which amounts its record may show."""


def expected_values(content: Mapping[str, Any], shown: Collection[str]) -> dict[str, Any]:
    """The sent values that a created record, which has the fields `shown`, must not contradict.

    The action tells the class of the transaction. The parts of the amount are included, because they tell how much
    lower the record's amount may be.
    """
    expected = {
        name: value
        for name, value in content.items()
        if value is not None and name not in _NOT_KEPT and (name in shown or name == "action")
    }
    if content.get("transaction_amount") is None:
        expected = {name: value for name, value in expected.items() if name not in AMOUNT_FIELDS}
    number = content.get("account_number")
    if isinstance(number, AccountNumber):
        expected.pop("account_number", None)
        if number.shown_digits:  # a short one may not show its digits
            expected["last_four"] = number.shown_digits
    return expected


def check_belongs(expected: Mapping[str, Any], record: Mapping[str, Any]) -> None:
    """Check that the raw `record` has the expected values.

    Raises:
        MismatchedReplyError: a value differs, so the response belongs to another request.
    """
    found = find_differences(expected, record)
    if found:
        raise MismatchedReplyError(found)


def find_differences(
    expected: Mapping[str, Any], record: Mapping[str, Any], *, is_new: bool = False
) -> tuple[str, ...]:
    """Find one line for each expected value that the raw `record` contradicts.

    With `is_new`, nothing can have changed the record since it was created.
    """
    return tuple(_differences(expected, record, is_new=is_new))


def compare(name: str, sent: Any, record: Mapping[str, Any]) -> bool | None:
    """Whether the raw record shows a sent value in any notation; None if it shows no comparable value.

    Ids and codes are compared exactly. Texts may differ in letter case, accents, spaces and characters written as HTML,
    phone numbers in punctuation, and an expiry may be written as `09/30` or `09/2030`.
    A secret may be hidden, so null tells nothing about it.
    """
    got, is_secret = record.get(name), isinstance(sent, Secret)
    sent = sent.reveal() if isinstance(sent, Secret) else sent
    if name not in record or (is_secret and (got is None or "*" in str(got))):
        return None
    if _is_identifier(name) and sent not in _EMPTY and got not in _EMPTY:
        return str(sent) == str(got)
    if same_value(sent, got):
        return True
    if _is_incomparable(sent, got):
        return None
    return _plain_text(name, sent) == _plain_text(name, got)


def _is_incomparable(sent: Any, got: Any) -> bool:
    if isinstance(sent, list | dict) or isinstance(got, list | dict):
        return True  # the gateway shows lists and objects in several forms
    if _UNREADABLE in str(got):
        return True
    if got in _EMPTY or sent in _EMPTY:  # a flag that is off, and no flag; 0.00, and no amount
        return str(sent) in _OFF and str(got) in _OFF
    return isinstance(sent, str) and bool(_DATE.fullmatch(sent)) and not _DATE.fullmatch(str(got))


def _is_identifier(name: str) -> bool:
    return name == "id" or name.endswith(("_id", "_num", "_number", "_method", "_type", "_code"))


def _plain_text(name: str, value: Any) -> str:
    """A text without what gateways and processors change: case, accents, spaces, characters written as HTML."""
    letters = unicodedata.normalize("NFKD", html.unescape(str(value)))
    text = _SPACES.sub(" ", "".join(each for each in letters if not unicodedata.combining(each))).strip().casefold()
    if name == "exp_date":
        return _EXPIRY.sub(r"\1\2", text)
    return _NOT_DIGITS.sub("", text) if name.endswith("phone") else text


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
    values = chain.from_iterable(vars(module).values() for module in MODELS)
    kinds = {value for value in values if isinstance(value, type) and issubclass(value, Record | Request)}
    return frozenset(field.name for kind in kinds for field in attrs.fields(kind))


def _differences(expected: Mapping[str, Any], record: Mapping[str, Any], *, is_new: bool) -> Iterator[str]:
    for name, wanted in expected.items():
        got = record.get(name)
        if name == "action":
            yield from _action_differences(str(wanted), record, is_new=is_new)
        elif name == "transaction_amount":
            yield from _amount_differences(expected, record)
        elif got in _EMPTY or (type(got) is str and got == wanted) or name in _REMOVABLE:
            continue
        elif compare(name, wanted, record) is False:
            if isinstance(wanted, Secret):
                yield f"{name} is not the one that was sent"
                continue
            is_long = name == "last_four" and len(str(got)) > 4  # noqa: PLR2004  it may be a whole account number
            shown = f"…{str(got)[-4:]}" if is_long else got
            yield quote_text(f"{name} is {shown!r}, not {wanted!r}")


def _action_differences(action: str, record: Mapping[str, Any], *, is_new: bool) -> Iterator[str]:
    """Yield a difference if another class of actions created the record.

    A record does not contain its action. Its type and status show whether it is a charge, an authorization, a return or
    a check of an address.
    """
    kind, status = str(record.get("type_id")), str(record.get("status_id"))
    if kind in _OTHER_TYPES.get(action, ()):
        yield quote_text(f"type_id is {kind}, which no {action} has")
    if action not in (*_CHARGES, *_RETURNS, _CHECK) or record.get("status_id") is None:
        return
    is_possible = action in _STATUS_ACTIONS.get(status, (action,))
    if is_new or action == _CHECK:
        is_possible = is_possible and status not in _CHANGED_LATER and status in _NEW_STATUSES.get(action, (status,))
    if not is_possible:
        yield quote_text(f"status_id is {status}, which no new {action} has")
    elif (
        action == "authonly"
        and status in _CAPTURED
        and (reason := str(record.get("reason_code_id"))) in _NEVER_AUTHORIZED
    ):
        yield quote_text(f"reason_code_id is {reason}, which no completed {action} has")


def _amount_differences(expected: Mapping[str, Any], record: Mapping[str, Any]) -> Iterator[str]:
    """Yield a difference if the amounts cannot come from the sent one.

    The terminal or the gateway may add a tip, a surcharge or a tax that the record shows, and drop a surcharge or a tax
    that was sent. No amount of the record may be higher, and one of them must be exactly what these steps leave.
    """
    if str(record.get("status_id")) in _NOT_CHARGED and not _number(record.get("transaction_amount")):
        return
    wanted = Decimal(expected["transaction_amount"])
    subtotal = _cents(record.get("subtotal_amount"))
    is_taxed = "tax" not in expected and subtotal == wanted  # by the gateway
    added = _amounts(record, (*_ADDED, "tax") if is_taxed else _ADDED)
    for name in ("transaction_amount", "auth_amount"):
        amount = _cents(record.get(name))
        if amount is not None and amount > add(wanted, *added):
            yield quote_text(f"{name} is {record[name]!r}, not {expected['transaction_amount']!r}")
            return
    got = record.get("transaction_amount")
    if got in (None, ""):
        return
    amount = _cents(got)
    shown = {amount, _cents(record.get("auth_amount"))}
    if amount is None or amount <= wanted:  # what is above it must be explained by what was added
        shown.add(subtotal)
    if amount is not None:
        shown.update(subtract(amount, each) for each in _sums(added))
    if shown.isdisjoint(subtract(wanted, each) for each in _sums(_amounts(expected, _REMOVABLE))):
        yield quote_text(f"transaction_amount is {got!r}, not {expected['transaction_amount']!r}")


def _sums(amounts: Sequence[Decimal]) -> set[Decimal]:
    """The sums of all selections of the amounts, including none."""
    return {add(*some) for count in range(len(amounts) + 1) for some in combinations(amounts, count)}


def _amounts(values: Mapping[str, Any], names: Iterable[str]) -> tuple[Decimal, ...]:
    return tuple(number for number in (_cents(values.get(name)) for name in names) if number is not None)


def same_value(sent: Any, got: Any) -> bool:
    """Whether two JSON values are equal in any notation.

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
    if isinstance(sent, list | tuple) and isinstance(got, list):
        return len(sent) == len(got) and all(map(same_value, sent, got))
    if isinstance(sent, str) and isinstance(got, str) and not _MONEY.fullmatch(sent):
        return False
    number, shown = _number(sent), _number(int(got) if isinstance(got, bool) else got)
    return number is not None and shown is not None and is_same(number, shown)


def adds_surcharge(sent: Any, record: Mapping[str, Any]) -> bool:
    """Whether the raw record shows the sent amount with a surcharge."""
    amount = record.get("transaction_amount")
    return is_less(sent, amount) and any(is_difference(sent, amount, record.get(name)) for name in _SURCHARGES)


def is_less(sent: Any, got: Any) -> bool:
    """Whether the amount `sent` is less than the amount `got`, in any of the gateway's notations."""
    first, second = _cents(sent), _cents(got)
    return first is not None and second is not None and first < second


def _cents(value: Any) -> Decimal | None:
    number = _number(value)
    return None if number is None else to_cents(number)


def is_difference(amount: Any, minuend: Any, subtrahend: Any) -> bool:
    difference, first, second = _cents(amount), _cents(minuend), _cents(subtrahend)
    return first is not None and second is not None and difference == subtract(first, second)


def _number(value: Any) -> Decimal | None:
    if value is None or isinstance(value, bool | list | dict):
        return None
    try:
        number = Decimal(value if isinstance(value, Decimal | int | str) else str(value))  # a subclass may print "$1"
    except InvalidOperation:
        return None
    return number if number.is_finite() else None
