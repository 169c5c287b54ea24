"""Records: frozen, copyable and discreet, and what those of single resources say."""

import copy
import json
import pickle
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import attrs
import pytest

from gateway_async import LocationInfo, ProductTransaction, Terminal
from gateway_async._secrets import Secret, seal
from gateway_async._wire.convert import FieldError
from gateway_async._wire.rows import structure
from gateway_async.models.account_vaults import AccountVault
from gateway_async.models.codes import TransactionStatus
from gateway_async.models.contacts import Contact
from gateway_async.models.locations import Location
from gateway_async.models.page import Page
from gateway_async.models.quick_invoices import QuickInvoice
from gateway_async.models.record import ApiId, Record
from gateway_async.models.transactions import Transaction
from gateway_async.models.untyped import UntypedRecord
from gateway_async.models.users import User

# --- any record


VAULT = AccountVault(id="v1", last_four="1111", routing="072000326", ssn4="8264", extra={"_links": {"self": "x"}})


def test_repr() -> None:
    """Fields without a value are left out, bank data is hidden, and `extra` shows its keys."""
    assert repr(VAULT) == "AccountVault(id='v1', last_four='1111', routing=***, ssn4=***, extra=<_links>)"


def test_a_repr_masks_card_numbers() -> None:
    shown = repr(Contact(id="c", company_name="card 4111111111111111", extra={"4111111111111111": 1}))
    assert shown == "Contact(id='c', company_name='card ************1111', extra=<************1111>)"


def test_neither_fields_nor_extra_of_a_record_change() -> None:
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        VAULT.title = "other"  # type: ignore[misc]
    with pytest.raises(TypeError):
        VAULT.extra["_links"] = None  # type: ignore[index]


@pytest.mark.parametrize(
    "record",
    [VAULT, AccountVault(id="v2"), Transaction(id="t", tax=Decimal("1.50"), custom_data={"a": [1]}, extra={"b": {}})],
)
def test_copies(record: AccountVault | Transaction) -> None:
    """A record crosses a process boundary and comes out equal, `extra` included and still read-only."""
    for again in (pickle.loads(pickle.dumps(record)), copy.copy(record), copy.deepcopy(record)):  # noqa: S301  our own bytes
        assert again == record
        assert type(again.extra) is type(record.extra)


@pytest.mark.parametrize("kind", [Contact, Location, User])
def test_customer_number(kind: type[Contact | Location | User]) -> None:
    """The JSON has it, as the repr does; a card number in it is masked."""
    record = kind(id="x", account_number="C-1001")
    assert record.to_dict()["account_number"] == "C-1001"
    assert "account_number='C-1001'" in repr(record)
    assert kind(id="x", account_number="4111111111111111").to_dict()["account_number"] == "************1111"


IDENTITY = {"ssn4": "8264", "dl_number": "L1234567", "dob_year": "1983", "date_of_birth": "1983-05-06"}
DATA = {
    **IDENTITY,
    "cvv": "737",
    "track_data": ";9?",
    "ticket": "ticket-9",
    "account_number": "98765432",
    "routing": "072000326",
}
PLANTED = [*DATA.values(), "plain-9"]


@pytest.mark.parametrize(
    "record",
    [
        AccountVault(id="v", ssn4="8264", dl_number="L1234567", dob_year="1983", extra=DATA),
        Contact(id="c", date_of_birth=date(1983, 5, 6), extra={"contact": DATA, "list": [DATA]}),
        Transaction(id="t", custom_data={**DATA, "more": [DATA]}, tags=[DATA], extra={"ticket": {"id": "plain-9"}}),
        UntypedRecord(id="u", extra={**DATA, "dob_year": 1983, "token": ["plain-9"]}),
        User(id="u", date_of_birth=date(1983, 5, 6), ui_prefs=DATA),
        QuickInvoice(id="i", ssn4="8264", dob_year="1983", dl_number="L1234567"),
    ],
    ids=lambda record: type(record).__name__,
)
def test_masked_fields(record: Record) -> None:
    """Neither the repr nor the JSON has the values of these fields, whether a model knows them or not."""
    shown = repr(record) + json.dumps(record.to_dict())
    assert [value for value in PLANTED if value in shown] == []


def test_masked_data() -> None:
    """Other values of free-form data are shown as they are, and a missing one as null."""
    shown = repr(Transaction(id="t", custom_data={"a": Decimal("1.50"), "b": [{"cvv": None}]}))
    assert shown == "Transaction(id='t', custom_data={'a': Decimal('1.50'), 'b': [{'cvv': None}]})"


def test_records_are_equal_by_value() -> None:
    assert AccountVault(id="v", extra={"a": 1}) == AccountVault(id="v", extra={"a": 1})
    assert AccountVault(id="v", extra={"a": 1}) != AccountVault(id="v")


def test_hashes() -> None:
    """A record with objects and lists in it is hashable too."""
    one = Transaction(id="t", custom_data={"a": 1}, additional_amounts=([],), extra={"b": {}})
    assert len({one, attrs.evolve(one), Transaction(id="t2")}) == 2


def test_json() -> None:
    """Amounts, times and codes are plain values; unknown fields stand beside the known ones."""
    record = Transaction(
        id="4111111111111111",
        status_id=TransactionStatus.APPROVED,
        transaction_amount=Decimal("12.50"),
        created_ts=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        extra={"contact": {"birthday": date(2000, 1, 2)}, "checkin_date": "soon", "tags": ["a"]},
    )
    shown = record.to_dict()
    assert json.loads(json.dumps(shown)) == shown
    expected = {
        "id": "4111111111111111",
        "status_id": 101,
        "transaction_amount": "12.50",
        "created_ts": "2026-01-02T03:04:05+00:00",
        "contact": {"birthday": "2000-01-02"},
        "checkin_date": "soon",
        "tags": ["a"],
        "description": None,
    }
    assert {name: shown[name] for name in expected} == expected


def test_masked_json() -> None:
    """Bank data, secrets, and card numbers in texts and names are masked at every depth."""
    record = AccountVault(
        id="v1",
        routing="072000326",
        account_vault_api_id="4111111111111111",
        title="card 4111111111111111",
        extra={"user": {"user_api_key": "s3cret", "4111111111111111": "cvv", "token": Secret("s3cret")}},
    )
    shown = json.dumps(record.to_dict())
    assert "4111111111111111" not in shown
    assert "s3cret" not in shown
    assert "072000326" not in shown


def test_api_id() -> None:
    """Two of the same id and location are equal; the location may be left to the client."""
    assert ApiId("order-7") == ApiId("order-7", None)
    assert len({ApiId("order-7", "loc"), ApiId("order-7", location_id="loc"), ApiId("order-7")}) == 2


def test_an_api_id_rejects_a_change_of_its_attributes() -> None:
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        ApiId("order-7").value = "order-8"  # type: ignore[misc]


# --- page


def test_a_page_does_not_print_its_records() -> None:
    page = Page(records=("a", "b"), number=1, total_count=7, page_count=4)
    assert repr(page) == "Page(records=<2 records>, number=1, total_count=7, page_count=4)"


def test_collection() -> None:
    """Iterate over a page, count its records, and test whether it has any."""
    page = Page(records=("a", "b"), number=1, total_count=7, page_count=4)
    assert (list(page), len(page), bool(page)) == (["a", "b"], 2, True)
    assert not Page(records=(), number=1, total_count=0, page_count=0)


# --- quick invoices


@pytest.mark.parametrize(
    ("status", "closed"), [(0, True), (1, False), (2, True), ("2", True), (7, False), (None, False)]
)
def test_closed_codes(status: Any, closed: bool) -> None:
    """0 in the responses of gateways, 2 in the contract's table."""
    assert structure(QuickInvoice, {"id": "i", "status_id": status}).is_closed is closed


@pytest.mark.parametrize("name", ["active", "is_active"])
@pytest.mark.parametrize(("flag", "meaning"), [(1, True), ("0", False)])
def test_is_active(name: str, flag: Any, meaning: bool) -> None:
    """Some responses say `active`, others `is_active`."""
    assert structure(QuickInvoice, {"id": "i", name: flag}).is_active is meaning
    assert structure(QuickInvoice, {"id": "i"}).is_active is None


# --- locations, users and terminals


KINDS: list[type[Record]] = [Location, LocationInfo, ProductTransaction, Terminal, User]


@pytest.mark.parametrize("kind", KINDS)
def test_odd_value(kind: type[Record]) -> None:
    """A list or a word where something else is expected leaves the rest of the record readable."""
    for field in (field for field in attrs.fields(kind) if field.name not in ("id", "extra")):
        is_list = any(word in str(field.type) for word in ("tuple", "Sequence"))
        odd: Any = "soon" if is_list else [{"a": [1]}]
        record = structure(kind, {"id": "x", field.name: odd})
        assert getattr(record, field.name) is None, field.name
        assert record.extra == seal({field.name: odd})


@pytest.mark.parametrize("kind", KINDS)
def test_a_record_has_an_id(kind: type[Record]) -> None:
    with pytest.raises(FieldError, match="id: missing"):
        structure(kind, {"name": "Shop", "title": "Counter"})


def test_location_secrets() -> None:
    """Neither keys nor the bank account are in the repr; `reveal()` returns a key."""
    location = structure(
        Location,
        {"id": "x", "location_api_key": "key-1", "ticket_hash_key": "key-2", "aba": "072000326", "dda": "100020003000"},
    )
    shown = repr(location)
    assert not [secret for secret in ("key-1", "key-2", "072000326", "100020003000") if secret in shown]
    assert location.location_api_key == Secret("key-1")
    assert location.ticket_hash_key is not None
    assert location.ticket_hash_key.reveal() == "key-2"


def test_user_secrets() -> None:
    """Keys are masked, and a password that a gateway returns is in `extra`, whose values are not shown."""
    user = structure(User, {"id": "x", "user_api_key": "key-1", "user_hash_key": "key-2", "password": "word-3"})
    assert not [secret for secret in ("key-1", "key-2", "word-3") if secret in repr(user)]
    assert user.user_api_key == Secret("key-1")


def test_location_info() -> None:
    """Both are records, with unknown settings in their `extra`."""
    info = structure(
        LocationInfo,
        {
            "id": "x",
            "product_transactions": [{"id": "p", "payment_method": "cc", "vt_require_zip": True}],
            "terminals": [{"id": "t", "title": "Counter", "local_ip_address": "10.0.0.7", "port": "10009"}],
            "product_recurring": {"require_full_payment": 1},
        },
    )
    assert info.product_transactions == (
        ProductTransaction(id="p", payment_method="cc", extra={"vt_require_zip": True}),
    )
    assert info.terminals == (Terminal(id="t", title="Counter", local_ip_address="10.0.0.7", port=10009),)
    assert info.product_recurring == {"require_full_payment": 1}
