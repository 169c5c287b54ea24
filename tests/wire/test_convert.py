"""The converter: every spelling the gateway uses, in and out."""

import pickle
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal, localcontext
from enum import Enum
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway_async._secrets import seal
from gateway_async._wire.amounts import money
from gateway_async._wire.convert import FieldError
from gateway_async._wire.fields import fields_of
from gateway_async._wire.json_text import decode, encode
from gateway_async._wire.rows import structure
from gateway_async.models.codes import EntryMode, ReasonCode, TransactionStatus
from gateway_async.models.contacts import Contact
from gateway_async.models.files import QuickInvoiceFile
from gateway_async.models.quick_invoices import QuickInvoice
from gateway_async.models.record import Record
from gateway_async.models.transactions import Transaction
from tests.support.processes import run_python

NOON = datetime(2025, 11, 18, 12, tzinfo=UTC)


def kind_of(field: str) -> type[Record]:
    """Return the record that has the field: a transaction, or else a contact."""
    return Transaction if field in fields_of(Transaction) else Contact


def read(field: str, value: Any) -> Any:
    return getattr(structure(kind_of(field), {"id": "t", field: value}), field)


def problem(kind: type[Record], data: Any) -> tuple[str, str]:
    with pytest.raises(FieldError) as failed:
        structure(kind, data)
    assert str(failed.value) == f"{failed.value.path}: {failed.value.reason}"
    return failed.value.path, failed.value.reason


def is_passed_over(field: str, value: Any) -> bool:
    """Whether a value that does not fit leaves its field empty, is kept as it came or sealed, and shown nowhere."""
    record = structure(kind_of(field), {"id": "t", field: value})
    return (getattr(record, field), dict(record.extra)) == (None, seal({field: value})) and repr(record).endswith(
        f"(id='t', extra=<{field}>)"
    )


# --- one value in many spellings

SPELLINGS: list[tuple[str, Any, list[Any]]] = [
    ("is_recurring", True, [1, "1", True, "true", Decimal("1.0")]),
    ("is_recurring", False, [0, "0", False, "false", Decimal("0.0")]),
    ("is_recurring", None, ["", None]),
    ("tax", Decimal(21), [21, "21"]),
    ("tax", Decimal("21.0"), ["21.0"]),
    ("tax", Decimal(0), [0]),
    ("tax", Decimal("-1.50"), ["-1.50"]),
    ("header_message_type", 7, [7, "7", Decimal("7.0"), "7.00"]),
    ("header_message_type", -7, ["-7"]),
    ("header_message_type", None, [""]),
    *[("order_num", text, [text]) for text in ("", "0019", " spaced ", None)],
    ("order_num", "19", [19]),
    ("order_num", "19.50", [Decimal("19.50")]),
    ("settle_date", date(2025, 11, 18), ["2025-11-18", "2025-11-18 14:11:36", 1763467200]),
    ("settle_date", None, ["0000-00-00", "0000-00-00 00:00:00", "", None, False, 0]),
    ("void_date", NOON, ["2025-11-18 12:00:00", "2025-11-18T12:00:00", "2025-11-18T13:00:00+01:00"]),
    ("void_date", NOON, [1763467200, "1763467200"]),
    ("void_date", date(2025, 11, 18), ["2025-11-18"]),
    ("void_date", None, [False, "0000-00-00", "0000-00-00 00:00:00", "", None]),
    ("status_id", TransactionStatus.APPROVED, [101, "101", Decimal(101), "101.0"]),
    *[(field, None, ["", None]) for field in ("status_id", "entry_mode_id", "custom_data", "additional_amounts")],
    ("custom_data", {"a": 1}, [{"a": 1}]),
    ("custom_data", {}, [[]]),
    ("additional_amounts", (), [[]]),
    ("additional_amounts", (1, "a"), [[1, "a"]]),
]


@pytest.mark.parametrize(("field", "value", "spellings"), SPELLINGS)
def test_spellings(field: str, value: Any, spellings: list[Any]) -> None:
    """Flags, numbers, texts, dates, codes and structures are read from every form that gateways write."""
    for spelling in spellings:
        found = read(field, spelling)
        assert structure(kind_of(field), {"id": "t", field: spelling}).extra == {}
        assert (found, type(found)) == (value, type(value))
        assert str(found) == str(value) or isinstance(value, datetime)  # all digits of an amount
        assert getattr(found, "tzinfo", UTC) is not None


REFUSED: list[tuple[str, str, list[Any]]] = [
    ("is_recurring", "not a boolean", [2, -1, "2", "yes", "01", " ", [], {}, [1], Decimal("0.5")]),
    ("tax", "not an amount", ["NaN", "sNaN", "Infinity", "-inf", "abc", " ", True, [], {}, "1e999999999", "1e31"]),
    ("header_message_type", "not a whole number", [True, "7.5", Decimal("7.5"), "seven", []]),
    ("header_message_type", "not a whole number", ["1e999999999", "NaN", "1e-999999999"]),
    ("order_num", "not a text", [True, [], {}]),
    ("status_id", "not a whole number", [True, "approved", [101]]),
    ("entry_mode_id", "not a text", [True, {}]),
]


@pytest.mark.parametrize(("field", "reason", "values"), REFUSED)
def test_refused_values(field: str, reason: str, values: list[Any]) -> None:
    """Any other value of a field that matters is refused at once, with its path."""
    found = [problem(kind_of(field), {"id": "t", field: value}) for value in values]
    assert found == [(f".{field}", reason)] * len(values)


PASSED_OVER: dict[str, list[Any]] = {
    "created_ts": ["soon", True, 10**15, 10**25, "1e30", "1e999999999", -(10**15), [], 1.5],
    "date_of_birth": ["2025-13-01", "18.11.2025", "soon", True, [], {}, 20251118.5, "4111111111111111", "1763467200"],
    "void_date": ["4111 1111 1111 1111", "soon", "2025-11-18 25:00:00", [], True],
    "custom_data": [[1], "text"],
    "additional_amounts": [{}, 5],
}


@pytest.mark.parametrize("field", PASSED_OVER)
def test_ignored_values(field: str) -> None:
    """An odd time, date or structure is not worth the whole response; it may be a card number, so it is not shown."""
    assert [value for value in PASSED_OVER[field] if not is_passed_over(field, value)] == []


# --- decimals

EXACT = st.decimals(-(10**15), 10**15, places=2)


@given(EXACT)
def test_money_is_read_from_text_and_number_alike(amount: Decimal) -> None:
    for written in (f'"{amount:f}"', f"{amount:f}"):
        value = structure(Transaction, decode(f'{{"id": "t", "tax": {written}}}'.encode())).tax
        assert (str(value), type(value)) == (f"{amount:f}", Decimal)


@given(st.text("0123456789", min_size=20, max_size=40))
def test_numbers_never_pass_through_float(digits: str) -> None:
    record = structure(Transaction, decode(f'{{"id": "t", "tax": 0.{digits}1, "other": 0.{digits}2}}'.encode()))
    assert record.tax == Decimal(f"0.{digits}1")
    assert record.extra["other"] == Decimal(f"0.{digits}2")


# --- time


@given(st.datetimes(datetime(1970, 1, 1), datetime(9000, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001  hypothesis wants naive bounds
def test_timestamps_are_aware_and_utc(moment: datetime) -> None:
    whole = moment.replace(microsecond=0)
    for value in (int(whole.timestamp()), str(int(whole.timestamp()))):
        found = read("created_ts", value)
        assert (found, found.tzinfo) == (whole, UTC)


# --- codes


@given(st.integers(0, 10**9))
def test_unknown_number_codes_are_kept(value: int) -> None:
    for written in (value, str(value)):
        code = read("reason_code_id", written)
        assert (code, type(code)) == (value, ReasonCode)


@pytest.mark.parametrize(("value", "known"), [("K", True), ("Q", False), ("kk", False), (5, False)])
def test_text_codes(value: Any, known: bool) -> None:
    """Text codes are read known or not; a number is its digits."""
    code = read("entry_mode_id", value)
    assert (code, type(code), code.known) == (str(value), EntryMode, known)


# --- every field


ODD: dict[Any, Any] = {datetime: "soon", date: "soon", datetime | date: "soon", Mapping[str, Any]: 5, Sequence[Any]: 5}


FIELDS = {name: kind for name, kind in fields_of(Transaction).items() if name != "id"}


def test_odd_values() -> None:
    """Dates, times and free-form data are passed over; an amount, an id, a code, a flag or a text is not."""
    for field, kind in FIELDS.items():
        odd: Any = next((value for form, value in ODD.items() if kind == form | None), [{}])
        if field in Transaction.uncertain or odd != [{}]:
            assert is_passed_over(field, odd), field
        else:
            assert problem(Transaction, {"id": "t", field: odd})[0] == f".{field}"


def test_nulls() -> None:
    """Read null as None, and false and "" where the type has no such value."""
    for field, hint in FIELDS.items():
        assert read(field, None) is None, field
        assert read(field, False) is (False if "bool" in str(hint) else None), field
        assert read(field, "") == ("" if str(hint) == "str | None" else None), field


# --- records


def test_unknown_keys_go_to_extra_unchanged() -> None:
    unknown = {
        "_links": {"self": {"href": "x"}},
        "extra": 1,
        "hidden": [None],
        "": "",
        "a b": Decimal("1.5"),
        "no": None,
    }
    assert structure(Contact, {"id": "c", **unknown}).extra == unknown


NO_OBJECTS: list[Any] = [None, [], "text", 5, True]


@pytest.mark.parametrize(
    ("path", "reason", "data"),
    [
        *((".id", "missing", data) for data in ({}, {"id": None}, {"id": None, "last_name": "Smith"})),
        *(("", "not an object", data) for data in NO_OBJECTS),
    ],
)
def test_no_record(path: str, reason: str, data: Any) -> None:
    """Anything but an object is refused at its root; the one field that a record cannot do without is named."""
    assert problem(Contact, data) == (path, reason)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.decimals() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from([*fields_of(Transaction), "unknown"]), json_values, max_size=4))
def test_reading_ends_in_a_record_or_a_field_error(fields: dict[str, Any]) -> None:
    blamed, unknown = "", set(fields) - set(fields_of(Transaction))
    try:
        unknown = set(structure(Transaction, {"id": "t", **fields}).extra) - set(fields_of(Transaction))
    except FieldError as error:
        blamed = error.path.removeprefix(".")
    assert (blamed in {"", *fields}, unknown) == (True, set(fields) - set(fields_of(Transaction)))


# --- JSON


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b'{"a": 1',
        b"\xff\xfe\x00",
        b"null null",
        b'{"a": NaN}',
        b'"\\ud80"',
        b"[" * 100_000,
        b"1e99999999999999999999",
    ],
)
def test_no_json(body: bytes) -> None:
    """Garbage, cut bodies, endless nesting and numbers out of all bounds are one kind of error."""
    with pytest.raises(ValueError):  # noqa: PT011  any text will do
        decode(body)


@given(st.dictionaries(st.text(), st.integers(-(2**63), 2**63) | st.text() | st.none() | st.booleans()))
def test_json_round_trip(content: dict[str, Any]) -> None:
    """Decode what was encoded to the same value."""
    assert decode(encode(content)) == content


class Color(str, Enum):  # noqa: UP042  the older way to make text enums
    """A text enum of a caller."""

    RED = "red"


class Text(str):  # noqa: SLOT000  somebody's own text
    """A subclass of text of a caller."""


class Whole(int):
    """A subclass of int of a caller."""


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (Decimal("1.50"), b"1.50"),
        (Text("x"), b'"x"'),
        (Whole(5), b"5"),
        (Color.RED, b'"red"'),
        (MappingProxyType({"a": MappingProxyType({})}), b'{"a":{}}'),
        ((1, [2]), b"[1,[2]]"),
        (10**30, b"1" + b"0" * 30),
    ],
)
def test_plain_values(value: Any, written: bytes) -> None:
    """Decimals are numbers, subclasses are what they are a kind of, mappings are objects."""
    assert encode({"v": value}) == b'{"v":' + written + b"}"


# --- money out


@pytest.mark.parametrize(
    ("amount", "written"),
    [
        ("12.5", "12.50"),
        (Decimal("12.50"), "12.50"),
        (12, "12.00"),
        (0, "0.00"),
        (Decimal("1E+2"), "100.00"),
        ("12.500", "12.50"),
        (Decimal("-3.0"), "-3.00"),
        (10**25, "1" + "0" * 25 + ".00"),
    ],
)
def test_money_is_written_with_two_decimals(amount: Any, written: str) -> None:
    assert money(amount) == written


@pytest.mark.parametrize(
    ("amount", "reason"),
    [
        ("12.505", "has more than two decimals"),
        (Decimal("0.001"), "has more than two decimals"),
        (Decimal("1e-999999999"), "has more than two decimals"),
        *((text, "is not an amount") for text in ("abc", "", "1e2", "1_000", " 12.50 ", "١٢", "NaN", "Infinity")),
        *((huge, "is not an amount") for huge in (Decimal("1e999999999"), "1e999999999", "0e999999999")),
        (1.5, "must be a Decimal, an int or a str, never a float"),
        (True, "must be a Decimal, an int or a str, never a float"),
    ],
)
def test_invalid_amounts(amount: Any, reason: str) -> None:
    """Fractions of a cent, non-numbers, absurd sizes and floats are refused at once."""
    with pytest.raises(ValueError, match=reason):
        money(amount)


def test_the_programs_decimal_context_changes_nothing() -> None:
    with localcontext(prec=4):
        assert money(Decimal("12345.67")) == "12345.67"
        assert read("tax", "12345.67") == Decimal("12345.67")
        assert read("created_ts", "1763467200") == NOON


def test_default_contexts() -> None:
    """A program that sets them before its imports gets the same text, and the same error."""
    program = """
import decimal
decimal.DefaultContext.prec = 3
decimal.DefaultContext.rounding = decimal.ROUND_UP
decimal.DefaultContext.traps[decimal.Inexact] = True
decimal.setcontext(decimal.Context())
from gateway_async._wire.amounts import add, money, subtract, to_cents
number = decimal.Decimal("12345.665")
print(money("12345.67"), to_cents(number), add(number, decimal.Decimal(1)), subtract(number, decimal.Decimal(1)))
try:
    money(number)
except ValueError as error:
    print(error)
"""
    run = run_python("-c", program)
    assert (run.returncode, run.stdout) == (0, "12345.67 12345.66 12346.665 12344.665\nhas more than two decimals\n")


# --- items, and records within records


@pytest.mark.parametrize("value", [{"Tea": "2.50", "Cake": 4, "Jam": Decimal("0.1")}, {}, []])
def test_items_are_amounts_by_name(value: Any) -> None:
    amounts = structure(QuickInvoice, {"id": "i", "item_list": value}).item_list
    assert amounts == {name: Decimal(str(amount)) for name, amount in dict(value).items()}


@pytest.mark.parametrize(
    ("fields", "path", "reason"),
    [
        ({"item_list": {"Tea": "much"}}, ".item_list.Tea", "not an amount"),
        ({"item_list": "Tea"}, ".item_list", "not an object"),
        ({"transactions": [{"id": "t"}, {"id": "t", "tax": "x"}]}, ".transactions[1].tax", "not an amount"),
        ({"transactions": [{}]}, ".transactions[0].id", "missing"),
        ({"transactions": {"id": "t"}}, ".transactions", "not a list"),
        ({"files": ["f"]}, ".files[0]", "not an object"),
    ],
)
def test_invoice_errors(fields: dict[str, Any], path: str, reason: str) -> None:
    """The path leads to the value, through names and places."""
    assert problem(QuickInvoice, {"id": "i", **fields}) == (path, reason)


def test_nested_records() -> None:
    """Payments are transactions, files are files, and what these have beyond their fields is in their `extra`."""
    invoice = structure(
        QuickInvoice, {"id": "i", "transactions": [{"id": "t", "status_id": 101}], "files": [{"id": "f", "name": "a"}]}
    )
    assert invoice.transactions == (Transaction(id="t", status_id=TransactionStatus.APPROVED),)
    assert invoice.files == (QuickInvoiceFile(id="f", extra={"name": "a"}),)
    assert pickle.loads(pickle.dumps(invoice)) == invoice  # noqa: S301  our own bytes


@pytest.mark.parametrize(
    ("data", "code"),
    [({"auth": "812823"}, "812823"), ({"auth": "1", "auth_code": "2"}, "2"), ({"auth_code": ""}, ""), ({}, None)],
)
def test_the_approval_code_has_an_old_name(data: dict[str, str], code: str | None) -> None:
    assert structure(Transaction, {"id": "t", **data}).auth_code == code
