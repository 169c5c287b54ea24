"""The converter: every spelling the gateway uses, in and out."""

import json
import pickle
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal, localcontext
from enum import Enum
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway_async._secrets import AccountNumber
from gateway_async._wire.convert.read import FieldError, decode
from gateway_async._wire.convert.records import structure
from gateway_async._wire.convert.write import encode, fields_of, money, unstructure
from gateway_async.models.account_vaults import AccountVault, AccountVaultUpdate, CardVaultCreate
from gateway_async.models.codes import AccountType, EntryMode, ReasonCode, TransactionStatus
from gateway_async.models.contacts import Contact, ContactCreate, ContactUpdate
from gateway_async.models.files import QuickInvoiceFile
from gateway_async.models.paylinks import PaylinkCreate
from gateway_async.models.quick_invoices import QuickInvoice, QuickInvoiceCreate, QuickInvoiceUpdate
from gateway_async.models.record import Record
from gateway_async.models.request import UNSET
from gateway_async.models.transactions import Transaction, TransactionCreate

NOON = datetime(2025, 11, 18, 12, tzinfo=UTC)


def read(field: str, value: Any) -> Any:
    """Read `value` as a transaction's field."""
    return getattr(structure(Transaction, {"id": "t", field: value}), field)


def read_contact(field: str, value: Any) -> Any:
    """Read `value` as a contact's field."""
    return getattr(structure(Contact, {"id": "c", field: value}), field)


def problem(kind: type[Record], data: Any) -> tuple[str, str]:
    """Where reading fails, and why."""
    with pytest.raises(FieldError) as failed:
        structure(kind, data)
    assert str(failed.value) == f"{failed.value.path}: {failed.value.reason}"
    return failed.value.path, failed.value.reason


def is_passed_over(kind: type[Record], field: str, value: Any) -> bool:
    """Whether a value that does not fit leaves its field empty, is kept as it came, and shown nowhere."""
    record = structure(kind, {"id": "t", field: value})
    return (getattr(record, field), dict(record.extra)) == (None, {field: value}) and repr(record).endswith(
        f"(id='t', extra=<{field}>)"
    )


# --- booleans


@pytest.mark.parametrize(
    ("spelling", "value"),
    [
        *[(spelling, True) for spelling in (1, "1", True, "true", Decimal("1.0"))],
        *[(spelling, False) for spelling in (0, "0", False, "false", Decimal("0.0"))],
        *[(spelling, None) for spelling in ("", None)],
    ],
)
def test_booleans(spelling: Any, value: bool | None) -> None:
    """A flag arrives as a number, a digit, a word or a boolean; nothing is None."""
    assert read("is_recurring", spelling) is value


@pytest.mark.parametrize("value", [2, -1, "2", "yes", "01", " ", [], {}, [1], Decimal("0.5")])
def test_what_is_no_boolean(value: Any) -> None:
    """Reject any other value with its path."""
    assert problem(Transaction, {"id": "t", "is_recurring": value}) == (".is_recurring", "not a boolean")


# --- decimals

EXACT = st.decimals(-(10**15), 10**15, places=2)


@given(EXACT)
def test_money_is_read_from_text_and_number_alike(amount: Decimal) -> None:
    """`"21.00"` and `21.00` are the same amount, digit for digit."""
    for written in (f'"{amount:f}"', f"{amount:f}"):
        value = structure(Transaction, decode(f'{{"id": "t", "tax": {written}}}'.encode())).tax
        assert (str(value), type(value)) == (f"{amount:f}", Decimal)


@given(st.text("0123456789", min_size=20, max_size=40))
def test_numbers_never_pass_through_float(digits: str) -> None:
    """More digits than a float holds arrive unharmed, in a field and in `extra`."""
    record = structure(Transaction, decode(f'{{"id": "t", "tax": 0.{digits}1, "other": 0.{digits}2}}'.encode()))
    assert record.tax == Decimal(f"0.{digits}1")
    assert record.extra["other"] == Decimal(f"0.{digits}2")


@pytest.mark.parametrize(
    ("value", "amount"), [(21, "21"), ("21", "21"), ("21.0", "21.0"), (0, "0"), ("-1.50", "-1.50")]
)
def test_decimals(value: Any, amount: str) -> None:
    """Whole numbers are amounts too, and the digits stay as they were written."""
    assert str(read("tax", value)) == amount


@pytest.mark.parametrize("value", ["NaN", "sNaN", "Infinity", "-inf", "abc", " ", True, [], {}, "1e999999999", "1e31"])
def test_what_is_no_amount(value: Any) -> None:
    """Numbers without a value, or of absurd size, are no money."""
    assert problem(Transaction, {"id": "t", "tax": value}) == (".tax", "not an amount")


# --- whole numbers and texts


@pytest.mark.parametrize(
    ("value", "number"), [(7, 7), ("7", 7), ("-7", -7), (Decimal("7.0"), 7), ("7.00", 7), ("", None)]
)
def test_whole_numbers(value: Any, number: int | None) -> None:
    """A whole number arrives as a number or as its digits."""
    found = read_contact("header_message_type", value)
    assert (found, type(found)) == (number, type(number))


@pytest.mark.parametrize("value", [True, "7.5", Decimal("7.5"), "seven", [], "1e999999999", "NaN", "1e-999999999"])
def test_what_is_no_whole_number(value: Any) -> None:
    """Anything else is refused, at once, however large it would be."""
    path, reason = problem(Contact, {"id": "c", "header_message_type": value})
    assert (path, reason) == (".header_message_type", "not a whole number")


@pytest.mark.parametrize(
    ("value", "text"),
    [("", ""), ("0019", "0019"), (19, "19"), (Decimal("19.50"), "19.50"), (" spaced ", " spaced "), (None, None)],
)
def test_texts(value: Any, text: str | None) -> None:
    """Text stays as it is, empty text too; a number is text as it was written."""
    assert read("order_num", value) == text


@pytest.mark.parametrize("value", [True, [], {}])
def test_what_is_no_text(value: Any) -> None:
    """Structures and true are no text."""
    assert problem(Transaction, {"id": "t", "order_num": value}) == (".order_num", "not a text")


# --- time


@given(st.datetimes(datetime(1970, 1, 1), datetime(9000, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001  hypothesis wants naive bounds
def test_timestamps_are_aware_and_utc(moment: datetime) -> None:
    """Unix seconds, as a number or as digits, become an aware datetime in UTC."""
    whole = moment.replace(microsecond=0)
    for value in (int(whole.timestamp()), str(int(whole.timestamp()))):
        found = read("created_ts", value)
        assert (found, found.tzinfo) == (whole, UTC)


@pytest.mark.parametrize("value", ["soon", True, 10**15, 10**25, "1e30", "1e999999999", -(10**15), [], 1.5])
def test_what_is_no_timestamp(value: Any) -> None:
    """A time out of the calendar's range is not worth the whole answer."""
    assert is_passed_over(Transaction, "created_ts", value)


@pytest.mark.parametrize(
    ("value", "day"),
    [
        ("2025-11-18", date(2025, 11, 18)),
        ("2025-11-18 14:11:36", date(2025, 11, 18)),
        ("0000-00-00", None),
        ("0000-00-00 00:00:00", None),
        ("", None),
        (None, None),
        (False, None),
        (0, None),
    ],
)
def test_dates(value: Any, day: date | None) -> None:
    """A date is a date, the gateway's zero dates are None, and a time of day is dropped."""
    found = read("settle_date", value)
    assert (found, type(found)) == (day, type(day))


@pytest.mark.parametrize("value", ["2025-13-01", "18.11.2025", "soon", True, [], {}, 20251118.5, "4111111111111111"])
def test_what_is_no_date(value: Any) -> None:
    """Anything else is passed over, and not shown: it may be a card number."""
    assert is_passed_over(Contact, "date_of_birth", value)


@pytest.mark.parametrize(
    ("value", "moment"),
    [
        ("2025-11-18 12:00:00", NOON),
        ("2025-11-18T12:00:00", NOON),
        ("2025-11-18T13:00:00+01:00", NOON),
        (1763467200, NOON),
        ("1763467200", NOON),
        ("2025-11-18", date(2025, 11, 18)),
        (False, None),
        ("0000-00-00", None),
        ("0000-00-00 00:00:00", None),
        ("", None),
        (None, None),
    ],
)
def test_a_void_date_has_many_forms(value: Any, moment: datetime | date | None) -> None:
    """A date-time string (in UTC), a timestamp, a date, or nothing in four spellings."""
    found = read("void_date", value)
    assert (found, type(found)) == (moment, type(moment))
    assert getattr(found, "tzinfo", UTC) is not None


@pytest.mark.parametrize("value", ["4111 1111 1111 1111", "soon", "2025-11-18 25:00:00", [], True])
def test_what_is_no_void_date(value: Any) -> None:
    """Anything else is passed over: whether a payment was voided, its status tells."""
    assert is_passed_over(Transaction, "void_date", value)


# --- codes


@pytest.mark.parametrize("value", [101, "101", Decimal(101), "101.0"])
def test_a_number_code_arrives_as_number_or_text(value: Any) -> None:
    """`"101"` is 101."""
    assert read("status_id", value) is TransactionStatus.APPROVED


@given(st.integers(0, 10**9))
def test_unknown_number_codes_are_kept(value: int) -> None:
    """Read an unknown code like any other."""
    for written in (value, str(value)):
        code = read("reason_code_id", written)
        assert (code, type(code)) == (value, ReasonCode)


@pytest.mark.parametrize(("value", "known"), [("K", True), ("Q", False), ("kk", False), (5, False)])
def test_text_codes(value: Any, known: bool) -> None:
    """Text codes are read known or not; a number is its digits."""
    code = read("entry_mode_id", value)
    assert (code, type(code), code.known) == (str(value), EntryMode, known)


@pytest.mark.parametrize("field", ["status_id", "entry_mode_id"])
@pytest.mark.parametrize("value", ["", None])
def test_no_code_is_none(field: str, value: str | None) -> None:
    """Read an empty code as None."""
    assert read(field, value) is None


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("status_id", True, "not a whole number"),
        ("status_id", "approved", "not a whole number"),
        ("status_id", [101], "not a whole number"),
        ("entry_mode_id", True, "not a text"),
        ("entry_mode_id", {}, "not a text"),
    ],
)
def test_what_is_no_code(field: str, value: Any, reason: str) -> None:
    """A value of another kind is refused."""
    assert problem(Transaction, {"id": "t", field: value}) == (f".{field}", reason)


# --- structures


@pytest.mark.parametrize(("value", "found"), [({"a": 1}, {"a": 1}), ([], {}), ("", None), (None, None)])
def test_objects(value: Any, found: Any) -> None:
    """An object stays as it came; the empty list that some gateways write for an empty object is one."""
    assert read("custom_data", value) == found


@pytest.mark.parametrize(("value", "found"), [([], ()), ([1, "a"], (1, "a")), ("", None), (None, None)])
def test_lists(value: Any, found: Any) -> None:
    """A list becomes a tuple, as everything in a record is frozen."""
    assert read("additional_amounts", value) == found


@pytest.mark.parametrize(
    ("field", "value"),
    [("custom_data", [1]), ("custom_data", "text"), ("additional_amounts", {}), ("additional_amounts", 5)],
)
def test_what_is_no_structure(field: str, value: Any) -> None:
    """Free-form data of another form is passed over."""
    assert is_passed_over(Transaction, field, value)


ODD: dict[Any, Any] = {datetime: "soon", date: "soon", datetime | date: "soon", Mapping[str, Any]: 5, Sequence[Any]: 5}


@pytest.mark.parametrize("field", sorted(set(fields_of(Transaction)) - {"id"}))
def test_an_odd_value_costs_the_answer_only_where_it_matters(field: str) -> None:
    """Dates, times and free-form data are passed over; an amount, an id, a code, a flag or a text is not."""
    kind = fields_of(Transaction)[field]
    odd: Any = next((value for form, value in ODD.items() if kind == form | None), [{}])
    if odd == [{}]:
        assert problem(Transaction, {"id": "t", field: odd})[0] == f".{field}"
    else:
        assert is_passed_over(Transaction, field, odd)


@pytest.mark.parametrize("field", sorted(set(fields_of(Transaction)) - {"id"}))
def test_nothing_has_many_spellings(field: str) -> None:
    """Read null as None, and false and "" where the type has no such value."""
    hint = str(fields_of(Transaction)[field])
    assert read(field, None) is None
    assert read(field, False) is (False if "bool" in hint else None)
    assert read(field, "") == ("" if hint == "str | None" else None)


# --- records


def test_missing_keys_are_none() -> None:
    """A record of its id alone is a record."""
    assert structure(Transaction, {"id": "t"}) == Transaction(id="t")


def test_unknown_keys_go_to_extra_unchanged() -> None:
    """Keep unknown keys unchanged in `extra`, whatever their names."""
    unknown = {
        "_links": {"self": {"href": "x"}},
        "extra": 1,
        "hidden": [None],
        "": "",
        "a b": Decimal("1.5"),
        "no": None,
    }
    assert structure(Contact, {"id": "c", **unknown}).extra == unknown


@pytest.mark.parametrize("data", [{}, {"id": None}, {"id": None, "last_name": "Smith"}])
def test_a_record_without_an_id_is_none(data: dict[str, Any]) -> None:
    """The one field that a record cannot do without is named."""
    assert problem(Contact, data) == (".id", "missing")


@pytest.mark.parametrize("data", [None, [], "text", 5, True])
def test_what_is_no_record(data: Any) -> None:
    """Anything but an object is refused at its root."""
    assert problem(Contact, data) == ("", "not an object")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.decimals() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from([*fields_of(Transaction), "unknown"]), json_values, max_size=4))
def test_reading_ends_in_a_record_or_a_field_error(fields: dict[str, Any]) -> None:
    """No value of any kind in any field makes reading fail in another way."""
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
        b'"\\ud800"',
        b"[" * 100_000,
        b"1e99999999999999999999",
    ],
)
def test_what_is_no_json(body: bytes) -> None:
    """Garbage, cut bodies, endless nesting and numbers out of all bounds are one kind of error."""
    with pytest.raises(ValueError):  # noqa: PT011  any text will do
        decode(body)


@given(st.dictionaries(st.text(), st.integers(-(2**63), 2**63) | st.text() | st.none() | st.booleans()))
def test_json_round_trip(content: dict[str, Any]) -> None:
    """Decode what was encoded to the same value."""
    assert decode(encode(content)) == content


class Colour(str, Enum):  # noqa: UP042  the older way to make text enums
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
        (Colour.RED, b'"red"'),
        (MappingProxyType({"a": MappingProxyType({})}), b'{"a":{}}'),
        ((1, [2]), b"[1,[2]]"),
        (10**30, b"1" + b"0" * 30),
    ],
)
def test_values_are_written_plainly(value: Any, written: bytes) -> None:
    """Decimals are numbers, subclasses are what they are a kind of, mappings are objects."""
    assert encode({"v": value}) == b'{"v":' + written + b"}"


def test_free_form_data_comes_back_as_it_was_read() -> None:
    """`custom_data` of an answer can be sent again unchanged, numbers with a fraction included."""
    body = b'{"id":"t","custom_data":{"rate":1.50,"n":[1,2.5,"x"]}}'
    record = structure(Transaction, decode(body))
    content = unstructure(TransactionCreate(action="sale", custom_data=record.custom_data))
    assert encode(content["custom_data"]) == b'{"rate":1.50,"n":[1,2.5,"x"]}'


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
    """Write every amount with exactly two decimals."""
    assert money(amount) == written


@given(EXACT)
def test_money_round_trip(amount: Decimal) -> None:
    """Read a written amount back as the same amount."""
    assert structure(Transaction, {"id": "t", "tax": money(amount)}).tax == amount


@pytest.mark.parametrize(
    ("amount", "reason"),
    [
        ("12.505", "has more than two decimals"),
        (Decimal("0.001"), "has more than two decimals"),
        (Decimal("1e-999999999"), "has more than two decimals"),
        ("abc", "is not an amount"),
        ("", "is not an amount"),
        ("1e2", "is not an amount"),
        ("1_000", "is not an amount"),
        (" 12.50 ", "is not an amount"),
        ("١٢", "is not an amount"),
        (Decimal("1e999999999"), "is not an amount"),
        ("NaN", "is not an amount"),
        ("Infinity", "is not an amount"),
        ("1e999999999", "is not an amount"),
        ("0e999999999", "is not an amount"),
        (1.5, "must be a Decimal, an int or a str, never a float"),
        (True, "must be a Decimal, an int or a str, never a float"),
    ],
)
def test_what_is_no_money(amount: Any, reason: str) -> None:
    """Fractions of a cent, non-numbers, absurd sizes and floats are refused at once."""
    with pytest.raises(ValueError, match=reason):
        money(amount)


def test_the_programs_decimal_context_changes_nothing() -> None:
    """A program that calculates with four digits still sends and receives all of them."""
    with localcontext(prec=4):
        assert money(Decimal("12345.67")) == "12345.67"
        assert read("tax", "12345.67") == Decimal("12345.67")
        assert read("created_ts", "1763467200") == NOON


# --- requests out


def test_a_create_leaves_out_what_is_none() -> None:
    """None in a create means: not given."""
    assert unstructure(ContactCreate(last_name="Smith")) == {"last_name": "Smith"}


def test_an_update_sends_none_as_null_and_leaves_out_what_is_unset() -> None:
    """None in an update clears a field; a field left out stays."""
    assert unstructure(ContactUpdate(email=None, city="Ulm", state=UNSET)) == {"email": None, "city": "Ulm"}


def test_values_on_their_way_out() -> None:
    """Flags are 1 and 0, money two decimals, dates ISO, codes raw, secrets revealed, implied fields said."""
    assert unstructure(
        ContactCreate(
            last_name="Smith",
            email_trx_receipt=True,
            update_if_exists=False,
            date_of_birth=date(1970, 1, 2),
            contact_balance=5,
            header_message_type_id=3,
        )
    ) == {
        "last_name": "Smith",
        "email_trx_receipt": 1,
        "update_if_exists": 0,
        "date_of_birth": "1970-01-02",
        "contact_balance": "5.00",
        "header_message_type_id": 3,
    }
    assert unstructure(CardVaultCreate(account_number=AccountNumber("4111111111111111"), exp_date="0930")) == {
        "payment_method": "cc",
        "account_number": "4111111111111111",
        "exp_date": "0930",
    }
    assert unstructure(AccountVaultUpdate(account_type=AccountType.VISA)) == {"account_type": "visa"}


def test_flags_are_numbers_not_booleans() -> None:
    """True goes out as 1, in JSON too, whatever it equals in Python."""
    assert encode(unstructure(ContactCreate(last_name="S", email_trx_receipt=True))) == (
        b'{"last_name":"S","email_trx_receipt":1}'
    )


def test_times_go_out_as_unix_seconds() -> None:
    """A datetime is sent as seconds, in whatever zone it was given."""
    from gateway_async._wire.convert.write import make_converter

    local = NOON.astimezone(timezone(timedelta(hours=-5)))
    assert make_converter().unstructure(local) == 1763467200


@pytest.mark.parametrize("text", [Text("gold"), Colour.RED])
def test_subclasses_of_text_are_sent_as_text(text: str) -> None:
    """A caller's own text class or text enum goes out by its value."""
    assert json.loads(encode(unstructure(ContactCreate(last_name=text)))) == {"last_name": str.__str__(text)}


def test_extra_is_sent_along() -> None:
    """Fields that this version does not know go out as they are."""
    request = ContactUpdate(city="Ulm", extra={"loyalty": {"tier": 2}, "nothing": None})
    assert unstructure(request) == {"city": "Ulm", "loyalty": {"tier": 2}, "nothing": None}


@given(
    st.builds(
        AccountVault,
        id=st.text(min_size=1),
        title=st.none() | st.text(),
        active=st.none() | st.booleans(),
        terms_agree=st.none() | st.integers(-(10**20), 10**20),
        account_type=st.none() | st.text(min_size=1).map(AccountType),
        created_ts=st.none() | st.integers(0, 4 * 10**9).map(lambda seconds: datetime.fromtimestamp(seconds, UTC)),
    )
)
def test_record_round_trip(vault: AccountVault) -> None:
    """A record written in the gateway's forms and read again is the same record."""
    raw = {
        "id": vault.id,
        "title": vault.title,
        "active": None if vault.active is None else int(vault.active),
        "terms_agree": vault.terms_agree,
        "account_type": vault.account_type,
        "created_ts": None if vault.created_ts is None else int(vault.created_ts.timestamp()),
    }
    assert structure(AccountVault, decode(encode(raw))) == vault


# --- items, and records within records


@pytest.mark.parametrize("value", [{"Tea": "2.50", "Cake": 4, "Jam": Decimal("0.1")}, {}, []])
def test_items_are_amounts_by_name(value: Any) -> None:
    """Numbers and texts alike, digit for digit; an empty list is an empty mapping."""
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
def test_what_is_no_part_of_an_invoice(fields: dict[str, Any], path: str, reason: str) -> None:
    """The path leads to the value, through names and places."""
    with pytest.raises(FieldError) as caught:
        structure(QuickInvoice, {"id": "i", **fields})
    assert (caught.value.path, caught.value.reason) == (path, reason)


def test_records_within_a_record() -> None:
    """Payments are transactions, files are files, and what these have beyond their fields is in their `extra`."""
    invoice = structure(
        QuickInvoice, {"id": "i", "transactions": [{"id": "t", "status_id": 101}], "files": [{"id": "f", "name": "a"}]}
    )
    assert invoice.transactions == (Transaction(id="t", status_id=TransactionStatus.APPROVED),)
    assert invoice.files == (QuickInvoiceFile(id="f", extra={"name": "a"}),)
    assert pickle.loads(pickle.dumps(invoice)) == invoice  # noqa: S301  our own bytes


@pytest.mark.parametrize(
    ("amount", "written"),
    [(10, b"10"), (Decimal("12.50"), b"12.50"), ("2.5", b"2.5"), (Decimal("1E+2"), b"100"), ("-1.00", b"-1.00")],
)
def test_amounts_that_are_numbers_keep_their_digits(amount: Any, written: bytes) -> None:
    """Items and a paylink's amount are JSON numbers, exact and without an exponent."""
    assert encode(unstructure(PaylinkCreate(amount_due=amount))) == b'{"amount_due":' + written + b"}"
    update = QuickInvoiceUpdate(item_list={"Tea": amount})
    assert encode(unstructure(update)) == b'{"item_list":{"Tea":' + written + b"}}"


def test_other_amounts_stay_texts() -> None:
    """Two decimals, as everywhere."""
    new = QuickInvoiceCreate(title="x", due_date=date(2026, 1, 2), item_list={}, single_payment_min_amount=5)
    assert unstructure(new)["single_payment_min_amount"] == "5.00"


def test_null_in_place_of_items() -> None:
    """In an update None is null for every kind of field."""
    assert unstructure(QuickInvoiceUpdate(item_list=None, title=None)) == {"item_list": None, "title": None}
