"""The forms of values in the records of transactions, as documented and recorded, on both sides."""

from functools import partial
from typing import Any

import pytest

from .raw_client import BANK_ACCOUNT, RawClient
from .sides import Side, refusal

BANK = {"account_number": "100020003000", "exp_date": ..., "payment_method": "ach", "ach_sec_code": "WEB"}

FACTS: dict[str, Any] = {
    "bill_payment": 0,
    "recurring_flag": "no",
    "external_recurring_flag": "no",
    **dict.fromkeys(
        f"{series}{fact}"
        for series in ("", "external_")
        for fact in ("recurring_number", "installment_number", "installment_total_count")
    ),
    **dict.fromkeys(("is_surcharge", "auth_surcharge_rate", "auth_surcharge_fee", "recaptcha_score", "tlid")),
    **dict.fromkeys(("online_payment_cryptogram", "digital_payment_cryptogram", "ecommerce_indicator")),
}
"""Field → value of a single payment."""


@pytest.mark.parametrize("action", ["sale", "authonly"])
def test_single_payment(side: Side, action: str) -> None:
    """Facts of recurring payments and installments are `no` or null."""
    made = side.pay(action=action)
    assert {name: made[name] for name in FACTS} == FACTS


@pytest.mark.parametrize(
    ("action", "batch", "code", "verbiage", "message"),
    [
        ("sale", True, 6, "APPROVED", "00"),
        ("authonly", False, 6, "APPROVED", "00"),
        ("avsonly", False, 0, "APPROVAL", None),
        ("refund", True, 0, "APPROVED", None),
    ],
)
def test_approved_payment(side: Side, action: str, batch: bool, code: int, verbiage: str, message: str | None) -> None:
    """The batch is a number as text or null, the approval code has six characters or none."""
    made = side.pay(action=action, transaction_amount=... if action == "avsonly" else "12.50")
    assert (str(made["batch"]).isdigit(), len(made["auth_code"])) == (batch, code)
    assert (made["verbiage"], made["response_message"]) == (verbiage, message)
    assert (made["room_rate"], made["notification_email_sent"]) == ("0.00", True)


def test_bank_payment(side: Side) -> None:
    """Batch and checks of a bank payment are null, and all bank payments have one approval code."""
    made = side.pay(action="debit", **{**BANK_ACCOUNT, **BANK}, billing_zip="32606")
    assert [made[name] for name in ("batch", "avs", "avs_enhanced", "cvv_response")] == [None] * 4
    assert (made["auth_code"], made["entry_mode_id"]) == ("AUTH NUM 272-172", "K")


def test_defaults(side: Side, raw_client: RawClient) -> None:
    """The location is the user's primary one, and the merchant account the location's for the method."""
    card, bank = side.pay(), side.pay(action="debit", **{**BANK_ACCOUNT, **BANK})
    info = raw_client.info
    assert (card["location_id"], bank["location_id"]) == (info.location_id, info.location_id)
    assert card["product_transaction_id"] == info.cc_product_transaction_id
    assert bank["product_transaction_id"] == info.ach_product_transaction_id


def test_integrator_location(side: Side, raw_client: RawClient) -> None:
    """The integrator id replaces `location_id`, also while the SDK has a default."""
    own = raw_client.location_api_id()
    assert side.pay(location_api_id=own)["location_id"] == raw_client.info.location_id
    for fields in (
        {"location_api_id": "elsewhere"},
        {"location_api_id": own, "location_id": raw_client.info.location_id},
    ):
        assert set(refusal(partial(side.pay, **fields))) == {"location_api_id"}


@pytest.mark.parametrize("tags", ["vip,new", ["vip", "new"]])
def test_tags(side: Side, tags: Any) -> None:
    """Tags come as text or as a list, and are shown with ids."""
    made = side.pay(tags=tags)
    assert [tag["title"] for tag in made["tags"]] == ["vip", "new"]
    edited = side.change(made, action="edit", tags="vip")
    assert list(side.read(edited, "tags")["tags"]) == list(made["tags"])[:1]


def test_edit(side: Side, raw_client: RawClient) -> None:
    """With the flags, the vault and all its transactions get the new contact; an empty contact detaches."""
    contact, vault = raw_client.contact()["id"], raw_client.vault()["id"]
    charge: dict[str, Any] = {"account_vault_id": vault, "account_number": ..., "exp_date": ...}
    earlier, later = side.pay(**charge), side.pay(**charge)
    moves = {"move_account_vault": True, "move_account_vault_transactions": True}
    assert side.change(later, action="edit", contact_id=contact, **moves)["contact_id"] == contact
    assert side.read(earlier)["contact_id"] == contact
    moved = raw_client.http.get(f"/v2/accountvaults/{vault}").json()["accountvault"]
    assert moved["contact_id"] == contact
    assert side.change(later, action="edit", contact_id="")["contact_id"] is None
