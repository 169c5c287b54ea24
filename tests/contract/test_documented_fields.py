"""The documented effects of single fields, row by row, through raw HTTP and through the SDK."""

from collections.abc import Callable
from typing import Any

import pytest

from gateway_async import RouterTransactionCreate, TransactionCreate, TransactionUpdate
from gateway_async._wire.validation import problems

from .raw_client import VISA, RawClient
from .sides import Side, refusal

OVERRIDES: list[tuple[str, dict[str, str], int, int]] = [
    ("auto_decline_cvv", {"cvv": "124"}, 1000, 1656),
    ("auto_decline_street", {"billing_street": "1 Main St", "billing_zip": "32606"}, 1000, 1655),
    ("auto_decline_zip", {"billing_street": "5800 NW 39th AVE", "billing_zip": "10001"}, 1000, 1655),
    ("allow_partial_authorization", {"transaction_amount": "2.01"}, 1657, 1201),
]
"""Setting, a payment that it concerns, and the reasons without and with the setting."""


@pytest.mark.parametrize(("setting", "fields", "off", "on"), OVERRIDES)
def test_an_override_replaces_a_setting_once(
    side: Side, product_settings: Callable[..., object], setting: str, fields: dict[str, str], off: int, on: int
) -> None:
    for value, reason, other in ((True, on, off), (False, off, on)):
        product_settings(**{setting: value})
        assert side.pay(**fields)["reason_code_id"] == reason
        assert side.pay(**fields, **{f"{setting}_override": not value})["reason_code_id"] == other
        assert side.pay(**fields)["reason_code_id"] == reason


def test_save_account_title_names_the_saved_vault(side: Side, raw_client: RawClient) -> None:
    made = side.pay(save_account=1, save_account_title="Sixteen letters.")
    vault = raw_client.http.get(f"/v2/accountvaults/{made['account_vault_id']}").json()["accountvault"]
    assert vault["title"] == "Sixteen letters."


@pytest.mark.parametrize("last", ["2030-02-01", "2030-05-11", "2030-05-12", "2030-01-31"])
def test_stay(side: Side, last: str) -> None:
    """The last day may be the first, at most 99 days later, and not before it."""
    stay = {"checkin_date": "2030-02-01", "checkout_date": last, "room_rate": "80.00", "room_num": "7"}
    if "2030-02-01" <= last <= "2030-05-11":
        made = side.pay(**stay)
        assert {name: made[name] for name in stay} == stay
    else:
        assert list(refusal(lambda: side.pay(**stay))) == ["checkout_date"]


NUMBERS = ("order_num", "po_number")
TEXTS = ("PO1234x", "PO-1", "PO 1", "Nº 1/b\n", "")


def test_order_numbers(side: Side, raw_client: RawClient) -> None:
    """The gateway takes any characters, and the SDK does not object: in a payment, a change, and at a terminal."""
    sale = {"action": "sale", "transaction_amount": "12.50"}
    card = sale | {"account_number": VISA, "exp_date": "1230"}
    at_terminal = sale | {"payment_method": "cc", "terminal_id": raw_client.info.terminal_id}
    for name in NUMBERS:
        for number in TEXTS:
            fields: dict[str, Any] = {name: number}
            assert problems(TransactionCreate(**card | fields)) == [], name
            assert problems(TransactionUpdate(action="edit", **fields)) == [], name
            assert problems(RouterTransactionCreate(**at_terminal | fields)) == [], name
            assert side.pay(**fields)[name] == number
            assert side.change(side.pay(), action="edit", **fields)[name] == number
            assert side.create("routertransactions", at_terminal | fields)[name] == number


def test_edit(side: Side) -> None:
    """It needs no amount, and refuses amount and tip; the flags for a vault need an edit with a contact."""
    payment = side.pay()
    for flag in ("move_account_vault", "move_account_vault_transactions"):
        assert list(refusal(lambda: side.change(payment, action="void", **{flag: True}))) == [flag]  # noqa: B023
        assert list(refusal(lambda: side.change(payment, action="edit", **{flag: True}))) == ["contact_id"]  # noqa: B023
    for name in ("transaction_amount", "tip_amount"):
        assert list(refusal(lambda: side.change(payment, action="edit", **{name: "1.00"}))) == [name]  # noqa: B023
    changed = side.change(payment, action="edit", description="Tea", tags="vip")
    assert (changed["description"], changed["transaction_amount"]) == ("Tea", "12.50")


PUT: dict[str, Any] = {
    "account_holder_name": "n" * 60,
    "checkin_date": "2030-01-30",
    "checkout_date": "2030-01-31",
    "room_num": "7",
    "room_rate": "80.00",
    "custom_data": {"cup": "white"},
    "description": "Tea",
    "tax": "1.00",
    "transaction_c1": "1",
    "transaction_c2": "2",
    "transaction_c3": "3",
    "transaction_c4": "4",
}


def test_a_completion_stores_other_fields(side: Side) -> None:
    for name, value in PUT.items():
        changed = side.change(side.pay(action="authonly"), action="authcomplete", **{name: value})
        assert (changed["reason_code_id"], changed[name]) == (1001, value)


def test_terminal_expiry(side: Side, raw_client: RawClient) -> None:
    """The response has `exp_date` when `save_account` made a vault."""
    sale = {"action": "sale", "payment_method": "cc", "transaction_amount": "12.50"}
    sale |= {"terminal_id": raw_client.info.terminal_id}
    assert side.create("routertransactions", sale | {"save_account": 1})["exp_date"] == "1230"
    assert side.create("routertransactions", sale).get("exp_date") is None


@pytest.mark.parametrize(("action", "code"), [("force", "ABC123"), ("sale", None)])
def test_only_a_forced_sale_keeps_its_approval_code_at_a_terminal(
    side: Side, raw_client: RawClient, action: str, code: str | None
) -> None:
    sale = {"action": action, "payment_method": "cc", "transaction_amount": "12.50", "auth_code": "ABC123"}
    made = side.create("routertransactions", sale | {"terminal_id": raw_client.info.terminal_id})
    assert made["status_id"] == 101
    assert (made["auth_code"] == "ABC123") == (code is not None)
