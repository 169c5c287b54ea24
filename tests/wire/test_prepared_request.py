"""`prepare`: requests as content, with secrets sealed and masked."""

import sys
from types import FrameType
from typing import Any

import pytest

from gateway_async import AccountVaultUpdate, CardVaultCreate, InvalidRequestError
from gateway_async._secrets import AccountNumber, Secret
from gateway_async._wire.prepared_request import prepare
from gateway_async._wire.scope import Scope
from gateway_async.resources.account_vaults import ACCOUNT_VAULT

CARD = "4111111111111111"
NEW = CardVaultCreate(account_number=CARD, exp_date="0930", ssn4="8264", location_id="loc", extra={"color": "red"})
SCOPE = Scope(location_id="loc", check_limits=True, new_id=lambda: "made-up")


def test_secrets_and_personal_data_stay_sealed() -> None:
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


def test_the_masked_content_shows_neither_secrets_nor_unknown_fields() -> None:
    """Personal data and `extra` are stars; a card number shows its last four digits."""
    assert prepare(NEW, limits=True).masked == {
        "payment_method": "cc",
        "location_id": "loc",
        "ssn4": "***",
        "account_number": "************1111",
        "exp_date": "0930",
        "color": "***",
    }


def test_what_the_client_fills_in_is_checked_and_sent() -> None:
    """A filled field counts as the request's own."""
    new = CardVaultCreate(account_number=CARD, exp_date="0930")
    assert prepare(new, limits=True, filled={"location_id": "loc"}).content["location_id"] == "loc"
    with pytest.raises(InvalidRequestError, match="location_id: is required"):
        prepare(new, limits=True)


def test_an_update_sends_null_for_none() -> None:
    """A field that is not given is not sent."""
    assert prepare(AccountVaultUpdate(title=None), limits=True).content == {"title": None}


def test_a_create_prepares_nothing_that_its_class_decides() -> None:
    """The calls of Python functions for a second create of a class stay few: no annotation is read, no lookup built."""

    def create() -> Any:
        return ACCOUNT_VAULT.create(NEW, SCOPE)

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
