"""`prepare`: requests as content, with secrets sealed and masked."""

import os
import sys
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from types import FrameType
from typing import Any

import pytest

from gateway_async import (
    AccountVaultUpdate,
    CardVaultCreate,
    ContactCreate,
    ContactUpdate,
    PaylinkCreate,
    QuickInvoiceCreate,
    QuickInvoiceUpdate,
    Transaction,
    TransactionCreate,
)
from gateway_async._secrets import AccountNumber, Secret, seal, unseal
from gateway_async._wire.json_text import decode, encode
from gateway_async._wire.request import RequestDefaults, prepare
from gateway_async._wire.rows import structure
from gateway_async.models.codes import AccountType
from gateway_async.models.request import UNSET
from gateway_async.resources.account_vaults import ACCOUNT_VAULT

CARD = "4111111111111111"
NEW = CardVaultCreate(account_number=CARD, exp_date="0930", ssn4="8264", location_id="loc", extra={"color": "red"})
DEFAULTS = RequestDefaults(location_id="loc", check_limits=True, new_id=lambda: "made-up")


def test_sealed_content() -> None:
    """The content holds them as secrets, in the order of the fields, after what the class implies."""
    prepared = prepare(NEW, limits=True)
    assert prepared.content == {
        "payment_method": "cc",
        "location_id": "loc",
        "ssn4": Secret("8264"),
        "account_number": AccountNumber(CARD),
        "exp_date": "0930",
        "color": "red",
    }
    assert prepared.secrets == (Secret("8264"), AccountNumber(CARD))


@pytest.mark.skipif("MUTANT_UNDER_TEST" in os.environ, reason="mutmut adds calls")
def test_prepared_classes() -> None:
    """The calls of Python functions for a second create of a class stay few: no annotation is read, no lookup built."""

    def create() -> Any:
        return ACCOUNT_VAULT.create(NEW, DEFAULTS)

    create()
    called: list[str] = []

    def count(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            called.append(frame.f_code.co_name)

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        create()
    finally:
        sys.setprofile(before)
    assert "lookup" not in called
    assert len(called) < 110, called


def test_masked_content() -> None:
    """What errors and logs show has no secret, nothing that is nested in a mapping, and no password of an address."""
    bill = QuickInvoiceUpdate(title="https://u:planted@h/", item_list={f"Tea {CARD}": "1.00"})
    shown = {"title": "https://u:***@h/", "item_list": "{'Tea ************1111': '1.00'}"}
    assert prepare(bill).masked == shown
    mapping = {"title": "https://u:planted@h/", "lines": [Secret("77")], "pin": Secret("1234"), "note": "Tea"}
    assert prepare(mapping).masked == {"title": "https://u:***@h/", "lines": "***", "pin": "***", "note": "Tea"}
    assert [secret.reveal() for secret in prepare(mapping).secrets] == ["planted", "77", "1234"]


# --- values


def content_of(request: Any) -> Any:
    return unseal(prepare(request).content)


def json_of(request: Any) -> bytes:
    return encode(prepare(request).content)


def test_free_form_data() -> None:
    """`custom_data` of a response can be sent again unchanged, numbers with a fraction included."""
    body = b'{"id":"t","custom_data":{"rate":1.50,"n":[1,2.5,"x"]}}'
    record = structure(Transaction, decode(body))
    content = content_of(TransactionCreate(action="sale", custom_data=record.custom_data))
    assert encode(content["custom_data"]) == b'{"rate":1.50,"n":[1,2.5,"x"]}'


def test_cleared_fields() -> None:
    """None in an update clears a field, items too; a field left out stays."""
    assert content_of(ContactUpdate(email=None, city="Ulm", state=UNSET)) == {"email": None, "city": "Ulm"}
    assert content_of(QuickInvoiceUpdate(item_list=None, title=None)) == {"item_list": None, "title": None}


def test_outgoing_values() -> None:
    """Flags are 1 and 0, money two decimals, dates ISO, codes raw, secrets revealed, implied fields said."""
    assert content_of(
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
    assert content_of(CardVaultCreate(account_number=AccountNumber("4111111111111111"), exp_date="0930")) == {
        "payment_method": "cc",
        "account_number": "4111111111111111",
        "exp_date": "0930",
    }
    assert content_of(AccountVaultUpdate(account_type=AccountType.VISA)) == {"account_type": "visa"}
    assert json_of(ContactCreate(last_name="S", email_trx_receipt=True)) == b'{"last_name":"S","email_trx_receipt":1}'


def test_times_go_out_as_unix_seconds() -> None:
    local = datetime(2025, 11, 18, 7, tzinfo=timezone(timedelta(hours=-5)))
    assert content_of({"start": local}) == {"start": 1763467200}


def test_sealed_number() -> None:
    """A number that may be a card's stays a number, but for a card's own field."""
    sealed = seal({"order": int(CARD), "account_number": int(CARD)})
    assert content_of(sealed) == {"order": int(CARD), "account_number": CARD}


def test_extra_is_sent_along() -> None:
    request = ContactUpdate(city="Ulm", extra={"loyalty": {"tier": 2}, "nothing": None})
    assert content_of(request) == {"city": "Ulm", "loyalty": {"tier": 2}, "nothing": None}


@pytest.mark.parametrize(
    ("amount", "written"),
    [(10, b"10"), (Decimal("12.50"), b"12.50"), ("2.5", b"2.5"), (Decimal("1E+2"), b"100"), ("-1.00", b"-1.00")],
)
def test_amount_digits(amount: Any, written: bytes) -> None:
    """Items and a paylink's amount are JSON numbers, exact and without an exponent."""
    assert json_of(PaylinkCreate(amount_due=amount)) == b'{"amount_due":' + written + b"}"
    update = QuickInvoiceUpdate(item_list={"Tea": amount})
    assert json_of(update) == b'{"item_list":{"Tea":' + written + b"}}"


def test_other_amounts_stay_texts_with_two_decimals() -> None:
    new = QuickInvoiceCreate(title="x", due_date=date(2026, 1, 2), item_list={}, single_payment_min_amount=5)
    assert content_of(new)["single_payment_min_amount"] == "5.00"


def test_additional_amounts() -> None:
    """The other keys of an entry stay."""
    amounts = [{"type": "4S", "amount": 12}, {"type": "4U", "amount": Decimal("1.5")}]
    written = [{"type": "4S", "amount": "12.00"}, {"type": "4U", "amount": "1.50"}]
    assert content_of(TransactionCreate(action="sale", additional_amounts=amounts))["additional_amounts"] == written


def test_tags() -> None:
    """One title is a text, several are a list."""
    assert content_of(TransactionCreate(action="sale", tags="vip"))["tags"] == "vip"
    assert content_of(TransactionCreate(action="sale", tags=("vip", "new")))["tags"] == ["vip", "new"]
