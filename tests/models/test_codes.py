"""Codes: open enums, which know later values of the gateway too."""

import copy
import inspect
import pickle
from itertools import repeat
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway_async.models import codes
from gateway_async.models.codes import AccountType, EntryMode, OpenInt, OpenStr, PaymentMethod, TransactionStatus
from tests.contract.documented_codes import REASONS, SOURCES

KINDS = [
    kind
    for kind in vars(codes).values()
    if inspect.isclass(kind) and issubclass(kind, OpenInt | OpenStr) and kind not in (OpenInt, OpenStr)
]

VALUES = {
    "PaymentMethod": {"cc", "ach"},
    "AccountType": {"visa", "mc", "disc", "amex", "jcb", "diners", "debit", "checking", "savings"},
    "AchSecCode": {"WEB", "PPD", "CCD", "TEL", "POP", "C21"},
    "TransactionAction": {
        *("sale", "authonly", "avsonly", "force", "refund", "debit", "credit"),
        *("void", "authcomplete", "authincrement", "partialreversal", "tipadjust", "edit", "settle"),
    },
    "TransactionStatus": {101, 102, 111, 121, 131, 132, 133, 134, 135, 136, 191, 201, 301, 331},
    "TransactionType": {20, 21, 22, 30, 40, 50},
    "TransactionSource": {*SOURCES},
    "ReasonCode": {*REASONS},
    "EncryptedFormat": {"ksn", "ksnpin", "idtech", "magnesafe"},
    "EntryMode": {"S", "K", "C", "P", "F", "B"},
    "QuickInvoiceStatus": {0, 1, 2},
    "PaymentStatus": {1, 2, 3},
    "PaylinkStatus": {0, 1},
    "DeliveryMethod": {0, 1, 2, 3},
    "PaylinkAction": {"sale", "auth-only", "authonly"},
    "BatchStatus": {1, 2, 3, 4, 5, 6},
    "PostbackResource": {"contact", "transaction", "transactionbatch", "accountvault"},
    "PostbackType": {"CREATE", "UPDATE", "DELETE"},
    "IntervalType": {"d", "w", "m"},
    "RecurringStatus": {"active", "on hold", "ended"},
    "RecurringType": {"o", "i"},
    "NoteResource": {"Contact"},
}


def test_the_known_codes() -> None:
    """Every code that the gateway documents has a name."""
    assert {kind.__name__: {member.value for member in kind} for kind in KINDS} == VALUES


def test_a_known_code_is_its_raw_value() -> None:
    for member in (member for kind in KINDS for member in kind):
        assert member == member.value
        assert {member.value: "found"}[member] == "found"
        assert (str(member), f"{member}", member.known) == (str(member.value), str(member.value), True)
        kind: Any = type(member)
        assert kind(member.value) is member


@given(st.sampled_from(KINDS), st.integers(), st.text())
def test_unknown_code(kind: type[OpenInt | OpenStr], number: int, text: str) -> None:
    """A new code keeps its value and says that it is new."""
    value: Any = number if issubclass(kind, OpenInt) else text
    code = kind(value)
    assert (code, str(code), code.value, hash(code)) == (value, str(value), value, hash(value))
    assert type(code.value) is type(value)
    assert code.known is (value in {member.value for member in kind})


@pytest.mark.parametrize("code", [TransactionStatus(101), TransactionStatus(999), EntryMode("K"), EntryMode("?")])
def test_codes_pickle_and_copy(code: OpenInt | OpenStr) -> None:
    again = pickle.loads(pickle.dumps(code))  # noqa: S301  our own bytes
    assert (again, type(again), again.known) == (code, type(code), code.known)
    assert copy.deepcopy(code) == code


def test_unknown_codes() -> None:
    """Meeting a new code does not make it known, so one response cannot change how the next is read."""
    assert not TransactionStatus(998).known
    assert not TransactionStatus(998).known
    assert 998 not in {member.value for member in TransactionStatus}


NO_NUMBERS: list[Any] = [None, "101", 101.5, True, [], b"101"]
NO_TEXTS: list[Any] = [None, 1, True, [], b"cc"]


@pytest.mark.parametrize(
    ("kind", "value"), [*zip(repeat(TransactionStatus), NO_NUMBERS), *zip(repeat(PaymentMethod), NO_TEXTS)]
)
def test_wrong_types(kind: type[OpenInt | OpenStr], value: Any) -> None:
    """Only whole numbers are number codes, and only texts are text codes; the wire converts before."""
    with pytest.raises(ValueError, match=f"is not a valid {kind.__name__}"):
        kind(value)


def test_attribute_names() -> None:
    """`known` looks at the code, not at what its text resembles."""
    assert [AccountType(text).known for text in ("VISA", "known", "__members__", "")] == [False] * 4
