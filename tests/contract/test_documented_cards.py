"""The documented test values of cards, row by row, and the card updater, through raw HTTP and through the SDK."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest

from gateway_async import InvalidRequestError
from gateway_async.sandbox import Sandbox
from gateway_async.sandbox.simulators.vendor_tables import read_table
from tests.support.waiting import PATIENCE

from .raw_client import BANK_ACCOUNT, RawClient
from .sides import Side

VISA, AMEX, MASTERCARD, DISCOVER = "4111111111111111", "371449635398431", "5454545454545454", "6011000995500000"
GOOD_STREET, GOOD_ZIP = "5800 NW 39th AVE", "32606"
DENIED_STREET, DENIED_ZIP = "2831 NW 41st St STE J", "32615"

DECLINES = """
    5.00 1500 DENY
    5.10 1510 CALL
    5.20 1520 PKUP
    5.30 1530 RETRY
    5.40 1540 SETUP
    6.01 1601 GENERICFAIL
    6.02 1602 CALL
    6.03 1603 NOREPLY
    6.04 1604 PICKUP_NOFRAUD
    6.05 1605 PICKUP_FRAUD
    6.06 1606 PICKUP_LOST
    6.07 1607 PICKUP_STOLEN
    6.08 1608 ACCTERROR
    6.09 1609 ALREADY_REVERSED
    6.10 1610 BAD_PIN
    6.11 1611 CASHBACK_EXCEEDED
    6.12 1612 CASHBACK_NOAVAIL
    6.13 1613 CID_ERROR
    6.14 1614 DATE_ERROR
    6.15 1615 DO NOT HONOR
    6.16 1616 INSUFFICIENT_FUNDS
    6.17 1617 EXCEED_WITHDRAWAL_LIMIT
    6.18 1618 INVALID_SERVICE_CODE
    6.19 1619 EXCEED_ACTIVITY_LIMIT
    6.20 1620 VIOLATION
    6.21 1621 ENCRYPTION_ERROR
    6.22 1622 CARD_EXPIRED
    6.23 1623 REENTER
    6.24 1624 SECURITY_VIOLATION
    6.25 1625 NOT_PERMITTED_CARD
    6.26 1626 NOT_PERMITTED_TRAN
    6.27 1627 SYSTEM_ERROR
    6.28 1628 BAD_MERCH_ID
    6.29 1629 DUPLICATE_BATCH
    6.31 1631 ACCOUNT_CLOSED
"""
"""Amount, `reason_code_id` and `verbiage` of each declining amount."""

DECLINED = [line.split(maxsplit=2) for line in DECLINES.strip().splitlines()]
APPROVED = ["5.50", "5.01", "6.00", "6.30", "6.32", "8.00", "9.99", "15.00"]


def test_each_documented_decline_has_its_verbiage() -> None:
    assert read_table("declines") == [[amount, verbiage] for amount, _, verbiage in DECLINED]


def test_test_amounts(side: Side) -> None:
    """The decline has status 301, its reason code and its text."""
    for amount, reason, verbiage in DECLINED[::8]:
        made = side.pay(transaction_amount=amount)
        assert (made["status_id"], made["reason_code_id"], made["verbiage"]) == (301, int(reason), verbiage)
        assert (made["response_message"], made["auth_amount"]) == (verbiage, "0.00"), amount
        assert (made["auth_code"], made["batch"]) == ("", None), amount


def test_an_undocumented_amount_is_approved(side: Side) -> None:
    for amount in APPROVED:
        made = side.pay(transaction_amount=amount)
        assert (made["status_id"], made["reason_code_id"], made["auth_amount"]) == (101, 1000, amount)


def test_partial_approval(side: Side) -> None:
    """2.01 is approved for 1.00, with reason 1201."""
    made = side.pay(transaction_amount="2.01")
    assert (made["status_id"], made["reason_code_id"], made["verbiage"]) == (101, 1201, "PARTIAL_AUTH")
    assert (made["transaction_amount"], made["auth_amount"]) == ("2.01", "1.00")


def test_no_partials(side: Side, product_settings: Any) -> None:
    """Where the product does not allow partial authorization, 2.01 is reversed."""
    product_settings(allow_partial_authorization=False)
    made = side.pay(transaction_amount="2.01")
    assert (made["status_id"], made["reason_code_id"], made["auth_amount"]) == (301, 1657, "0.00")


@pytest.mark.parametrize("cents", [1, 9, 10, 50, 99])
def test_slow_amounts(side: Side, sandbox: Sandbox, cents: int) -> None:
    """8.01 to 8.09 are approved after as many seconds; from 8.10 on the gateway gives up after ten."""
    with ThreadPoolExecutor(1) as pool:
        sale = pool.submit(side.pay, transaction_amount=f"8.{cents:02}", transaction_api_id=f"slow-{uuid4()}")
        wait_for_sleeper(sandbox)
        sandbox.advance(min(cents, 10))
        made = sale.result(timeout=PATIENCE)
    approved = cents < 10
    assert (made["status_id"], made["reason_code_id"]) == ((101, 1000) if approved else (301, 1500))
    assert made["verbiage"] == ("APPROVED" if approved else "TIMEOUT")


ADDRESSES = [
    (GOOD_STREET, GOOD_ZIP, "GOOD", "Y"),
    (GOOD_STREET, "32606-1234", "GOOD", "X"),
    (GOOD_STREET, "10001", "ZIP", "A"),
    ("1 Main St", GOOD_ZIP, "STREET", "Z"),
    ("1 Main St", "32606-1234", "STREET", "W"),
    ("1 Main St", "326061234", "STREET", "W"),
    ("1 Main St", "10001", "BAD", "N"),
    (GOOD_STREET, None, "GOOD", "Y"),
    (None, GOOD_ZIP, "GOOD", "Y"),
    ("1 Main St", None, "BAD", "N"),
    (None, "10001", "BAD", "N"),
    (None, None, None, "V"),
]


def test_avs_names_what_does_not_match_and_declines_nothing(side: Side) -> None:
    for street, zip_code, avs, code in ADDRESSES:
        made = side.pay(billing_street=street or ..., billing_zip=zip_code or ...)
        assert (made["avs"], made["avs_enhanced"], made["status_id"]) == (avs, code, 101)


def test_denial_address(side: Side) -> None:
    """A sale with the denial address is reversed for AVS, a refund is not."""
    address = {"billing_street": DENIED_STREET, "billing_zip": DENIED_ZIP}
    for action, expected in {"sale": (301, 1655), "authonly": (301, 1655), "refund": (111, 1000)}.items():
        made = side.pay(action=action, **address)
        assert (made["status_id"], made["reason_code_id"]) == expected


@pytest.mark.parametrize(
    ("setting", "street", "zip_code", "reason"),
    [
        ("auto_decline_street", "1 Main St", GOOD_ZIP, 1655),
        ("auto_decline_street", GOOD_STREET, "10001", 1000),
        ("auto_decline_street", None, "10001", 1000),
        ("auto_decline_zip", GOOD_STREET, "10001", 1655),
        ("auto_decline_zip", "1 Main St", GOOD_ZIP, 1000),
        ("auto_decline_zip", "1 Main St", None, 1000),
    ],
)
def test_declined_addresses(
    side: Side, product_settings: Any, setting: str, street: str | None, zip_code: str | None, reason: int
) -> None:
    """A merchant account can decline wrong addresses: only a part that was sent, and does not match, declines."""
    product_settings(**{setting: True})
    made = side.pay(billing_street=street or ..., billing_zip=zip_code or ...)
    assert made["reason_code_id"] == reason


CODES = [
    (VISA, "999", "M", 1000),
    (VISA, "123", "N", 1000),
    (VISA, "124", "P", 1656),
    (VISA, "125", "S", 1656),
    (VISA, "126", "U", 1656),
    (VISA, "127", "X", 1656),
    (VISA, "555", "N", 1000),
    (VISA, "1234", "N", 1000),
    (VISA, None, "N", 1000),
    (MASTERCARD, "999", "M", 1000),
    (MASTERCARD, "125", "S", 1656),
    (DISCOVER, "999", "M", 1000),
    (DISCOVER, "126", "U", 1656),
    (AMEX, "1234", "M", 1000),
    (AMEX, "9999", "N", 1000),
    (AMEX, "9998", "P", 1656),
    (AMEX, "9997", "S", 1656),
    (AMEX, "9996", "U", 1656),
    (AMEX, "9995", "X", 1656),
    (AMEX, "5555", "N", 1000),
    (AMEX, "999", "N", 1000),
    (AMEX, None, "N", 1000),
]


def test_security_codes(side: Side, product_settings: Any) -> None:
    """A code that could not be checked declines with auto_decline_cvv, and a wrong one never does."""
    for card, cvv, response, _ in CODES:
        made = side.pay(account_number=card, cvv=cvv or ...)
        assert (made["cvv_response"], made["reason_code_id"]) == (response, 1000)
    product_settings(auto_decline_cvv=True)
    for card, cvv, _, reason in CODES:
        assert side.pay(account_number=card, cvv=cvv or ...)["reason_code_id"] == reason, (card, cvv)


def wait_for_sleeper(sandbox: Sandbox) -> None:
    """Return when a request waits for its issuer."""
    while not sandbox._current.gateway._reserved:
        time.sleep(0.001)


UPDATES: list[tuple[dict[str, str], dict[str, str]]] = [
    ({"exp_date": "1232"}, {"exp_date": "1232", "last_four": "1111"}),
    ({"card": "4556773060150333"}, {"exp_date": "1230", "first_six": "455677", "last_four": "0333"}),
    ({"card": "5454545454545454", "exp_date": "1232"}, {"exp_date": "1232", "last_four": "5454", "account_type": "mc"}),
]
"""Fields from the issuer, and the vault after them."""


@pytest.mark.parametrize(("told", "expected"), UPDATES)
def test_the_card_updater_changes_a_vault(
    sandbox: Sandbox, raw_client: RawClient, side: Side, told: dict[str, str], expected: dict[str, str]
) -> None:
    vault_id = raw_client.vault()["id"]
    before = side.get("accountvaults", vault_id)
    assert (before["cau_summary_status_id"], before["cau_last_updated_ts"]) == (None, None)
    updated = sandbox.update_card(vault_id, **told)
    after = side.get("accountvaults", vault_id)
    changed = {**expected, "cau_summary_status_id": 1}
    assert {name: after[name] for name in changed} == changed
    seconds = updated["cau_last_updated_ts"]
    assert after["cau_last_updated_ts"] in (seconds, datetime.fromtimestamp(seconds, UTC).isoformat())
    for name in ("title", "contact_id"):
        assert after[name] == before[name]


def test_an_update_of_a_card_is_posted_back(sandbox: Sandbox, raw_client: RawClient) -> None:
    vault_id = raw_client.vault()["id"]
    config = {"resource": "accountvault", "url": "http://127.0.0.1:9/", "on_create": 0, "on_update": 1, "on_delete": 0}
    raw_client.made("/v2/postbackconfigs", "postbackconfig", **config, number_of_attempts=1, attempt_interval=300)
    sandbox.update_card(vault_id, exp_date="1232")
    (postback,) = sandbox.postbacks(record_id=vault_id)
    data = postback["body"]["data"]
    data = json.loads(data) if isinstance(data, str) else data
    assert (postback["body"]["resource"], postback["body"]["type"]) == ("accountvault", "UPDATE")
    assert (data["id"], data["exp_date"]) == (vault_id, "1232")
    assert datetime.fromtimestamp(data["cau_last_updated_ts"], UTC).year >= 2025


def test_invalid_updates(sandbox: Sandbox, raw_client: RawClient) -> None:
    """Nothing is changed without a valid number or expiry, nor in a bank account or a deleted vault."""
    card, bank, deleted = raw_client.vault(), raw_client.vault(**BANK), raw_client.vault()
    raw_client.http.delete(f"/v2/accountvaults/{deleted['id']}")
    for vault, body in (
        (card, {}),
        (card, {"card": "4111111111111112"}),
        (card, {"exp_date": "1330"}),
        (bank, {"exp_date": "1232"}),
        (deleted, {"exp_date": "1232"}),
    ):
        path = f"/_sandbox/accountvaults/{vault['id']}/update_card"
        assert raw_client.anonymous.post(path, json=body).status_code == 422
        with pytest.raises(InvalidRequestError, match=r"card|exp_date|accountvault"):
            sandbox.update_card(vault["id"], **body)
    assert raw_client.anonymous.post(f"/_sandbox/accountvaults/{'f' * 24}/update_card").status_code == 404


BANK = BANK_ACCOUNT | {"payment_method": "ach", "ach_sec_code": "WEB", "is_company": 0, "exp_date": ...}
