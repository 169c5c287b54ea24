"""Payments: their fields, the issuer's decisions, and protection against a second charge."""

import threading
from itertools import product
from typing import Any

import pytest

from gateway_async.sandbox import Sandbox

from .conftest import BANK_ACCOUNT, Errors, Eventually, Record, Shop, recorded

VISA, AMEX = "4111111111111111", "371449635398431"


def test_approved_sale(shop: Shop) -> None:
    """The response is 201 with status 101, reason 1000, two-decimal amounts, and the fields of the contract."""
    response = shop.pay("12.5")
    sale = response.json()["transaction"]
    assert (response.status_code, sale["status_id"], sale["type_id"], sale["reason_code_id"]) == (201, 101, 20, 1000)
    assert (sale["transaction_amount"], sale["auth_amount"]) == ("12.50", "12.50")
    assert (sale["entry_mode_id"], sale["trx_source_id"], sale["account_type"]) == ("K", 12, "visa")
    assert set(recorded("postback-transaction-create")) - set(sale) == set()


def test_card_actions(shop: Shop) -> None:
    """Each action has its own type and first status."""
    for action, type_id, status_id in [
        ("sale", 20, 101),
        ("force", 20, 101),
        ("authonly", 20, 102),
        ("avsonly", 21, 121),
        ("refund", 30, 111),
    ]:
        made = shop.paid(action=action, auth_code="123456")
        assert (made["type_id"], made["status_id"]) == (type_id, status_id)


@pytest.mark.parametrize("location_id", [..., None])
def test_omitted_location(shop: Shop, location_id: object) -> None:
    """A payment is made in the user's own location, from a card and at a terminal; the api id counts there."""
    for pay in (shop.pay, shop.at_terminal):
        response = pay(location_id=location_id, transaction_api_id=pay.__name__)
        assert (response.status_code, next(iter(response.json().values()))["location_id"]) == (
            201,
            shop.info.location_id,
        )
        assert "transaction_api_id" in pay(transaction_api_id=pay.__name__).json()["errors"]


def test_a_payment_in_another_location_is_refused(shop: Shop, errors: Errors) -> None:
    for location_id, pay in product(["", "f" * 24, 1], (shop.pay, shop.at_terminal)):
        assert list(errors(pay(location_id=location_id))) == ["location_id"]


def test_bank_fields(shop: Shop, errors: Errors) -> None:
    """By account number the missing fields are named; a vault needs no more."""
    names = ("account_type", "routing", "account_holder_name", "ach_sec_code")
    assert set(errors(shop.pay_from_bank(**dict.fromkeys(names[:3], ...)))) == set(names[:3])
    for code in (..., "ARC", "web"):
        assert list(errors(shop.pay_from_bank(ach_sec_code=code))) == ["ach_sec_code"]
    vault = shop.vault(**BANK_ACCOUNT, is_company=0).json()["accountvault"]
    paid = shop.pay(action="debit", account_number=..., exp_date=..., account_vault_id=vault["id"])
    assert paid.json()["transaction"]["status_id"] == 131


def test_an_action_fits_its_payment_method(shop: Shop, errors: Errors) -> None:
    for method, action in [("cc", "debit"), ("cc", "void"), ("ach", "authonly"), ("cc", "SALE"), ("cc", "")]:
        response = shop.pay(action=action) if method == "cc" else shop.pay_from_bank(action=action)
        assert list(errors(response)) == ["action"], method


AMOUNTS: list[object] = [
    *("", "abc", "-1.00", "1.234", "0.00", "1e2", "12345678.90", "123456789", "٣", " 1"),
    *(-1, 0, 1e20, True, None, [1], {}),
]


def test_an_amount_is_digits_with_two_decimals(shop: Shop, errors: Errors) -> None:
    for amount in AMOUNTS:
        assert list(errors(shop.pay(amount))) == ["transaction_amount"]


def test_number_amount(shop: Shop) -> None:
    """Numbers and strings mean the same exact amount."""
    amounts = {1: "1.00", 1.1: "1.10", "7": "7.00", 21.0: "21.00", "1234567.89": "1234567.89"}
    assert {amount: shop.paid(amount)["transaction_amount"] for amount in amounts} == amounts


def test_sources(shop: Shop, sandbox: Sandbox, errors: Errors) -> None:
    """A ticket, a stripe, a vault or an earlier payment can be charged, by id or by api id; a ticket once."""
    vault = shop.vault(account_number="6011000995500000", account_vault_api_id="v1").json()["accountvault"]
    earlier, ticket = shop.paid(transaction_api_id="t1", account_holder_name="Ada"), sandbox.ticket(AMEX)
    no_card: Record = {"account_number": ..., "exp_date": ...}
    sources: list[tuple[Record, Record]] = [
        ({"ticket": ticket}, {"account_type": "amex", "entry_mode_id": "K"}),
        ({"track_data": ";5454545454545454=3012?"}, {"account_type": "mc", "entry_mode_id": "S"}),
        ({"account_vault_id": vault["id"]}, {"account_type": "disc", "is_accountvault": True}),
        ({"account_vault_api_id": "v1"}, {"account_type": "disc", "is_accountvault": True}),
        ({"previous_transaction_id": earlier["id"]}, {"account_type": "visa", "account_holder_name": "Ada"}),
        ({"previous_transaction_api_id": "t1"}, {"account_type": "visa", "account_holder_name": "Ada"}),
    ]
    for source, expected in sources:
        response = shop.pay(**no_card, **source)
        made = response.json()["transaction"]
        assert (response.status_code, made["status_id"]) == (201, 101)
        assert {name: made[name] for name in expected} == expected
        assert "5454545454545454" not in response.text
    assert errors(shop.pay(**no_card, ticket=ticket)) == {"ticket": ["ticket provided is not valid"]}


def test_a_merchant_account_for_the_other_payment_method_is_refused(shop: Shop, errors: Errors) -> None:
    wrong = shop.pay(product_transaction_id=shop.info.ach_product_transaction_id)
    assert errors(wrong) == {"product_transaction_id": ["product_transaction_id provided is not valid"]}


def test_an_api_id_is_taken_while_its_request_waits(
    shop: Shop, sandbox: Sandbox, errors: Errors, eventually: Eventually
) -> None:
    slow = threading.Thread(target=shop.pay, args=("8.06",), kwargs={"transaction_api_id": "t1"})
    slow.start()
    eventually(lambda: sandbox._current.gateway._reserved)
    assert list(errors(shop.pay(transaction_api_id="t1"))) == ["transaction_api_id"]
    sandbox.advance(60)
    slow.join()
    assert sandbox.ledger()["charged"] == {"t1": 1}


def test_save_account(shop: Shop) -> None:
    """An approved payment with save_account stores a vault, a declined one does not."""
    made = shop.paid(save_account=1, contact_id=shop.info.contact_id)
    vault = shop.get(f"/v2/accountvaults/{made['account_vault_id']}").json()["accountvault"]
    assert (vault["last_four"], vault["contact_id"]) == ("1111", shop.info.contact_id)
    assert shop.paid("5.00", save_account=1)["account_vault_id"] is None


def test_refund(shop: Shop, errors: Errors) -> None:
    """Parts are allowed up to the whole; without an amount a refund is of the rest."""
    sale = shop.paid("12.50")
    refund = {"action": "refund", "account_number": ..., "exp_date": ..., "previous_transaction_id": sale["id"]}
    part = shop.paid("5.00", **refund)
    assert (part["status_id"], part["type_id"], part["previous_transaction_id"]) == (111, 30, sale["id"])
    assert list(errors(shop.pay("7.51", **refund))) == ["transaction_amount"]
    assert shop.paid(..., **refund)["transaction_amount"] == "7.50"
    for nothing in (..., "0.00", "0.01"):
        assert list(errors(shop.pay(nothing, **refund))) == ["transaction_amount"]


def test_authorizations_declines_and_voids_are_not_refunded(shop: Shop, errors: Errors) -> None:
    voided = shop.paid()
    shop.act(voided, "void")
    for previous in (shop.paid(action="authonly"), shop.paid("5.00"), voided):
        refund = shop.pay(
            "1.00", action="refund", account_number=..., exp_date=..., previous_transaction_id=previous["id"]
        )
        assert list(errors(refund)) == ["previous_transaction_id"]


# --- tags, contacts and invoices


def edited(shop: Shop, payment: Record, **fields: Any) -> Record:
    response = shop.act(payment, "edit", **fields)
    assert response.status_code == 200, response.text
    after: Record = response.json()["transaction"]
    return after


def test_tags(shop: Shop) -> None:
    """A new title becomes a tag, a known one is used, and a deleted tag is no longer shown; without tags none are."""
    known = shop.post("tag", "/v2/tags", {"title": "vip", "location_id": shop.info.location_id}).json()["tag"]
    sale = shop.paid(tags=["vip", "vip", "new"])
    assert [(tag["id"] == known["id"], tag["title"]) for tag in sale["tags"]] == [(True, "vip"), (False, "new")]
    for same in ("vip, new", [{"id": "1", "title": "vip"}, {"title": "new"}]):
        assert shop.paid(tags=same)["tags"] == sale["tags"]
    assert [tag["title"] for tag in shop.get("/v2/tags", sort="id").json()["tags"]] == ["vip", "new"]
    shop.http.delete(f"/v2/tags/{known['id']}")
    shown = shop.get(f"/v2/transactions/{sale['id']}").json()["transaction"]
    assert [tag["title"] for tag in shown["tags"]] == ["new"]
    assert shop.paid(tags="vip")["tags"][0]["id"] != known["id"]
    assert "tags" not in shop.paid()


def test_edit(shop: Shop) -> None:
    """An edit moves the transaction alone, with its vault, or with the vault's other transactions too."""
    old, new = shop.info.contact_id, shop.contact().json()["contact"]["id"]
    vault = shop.vault(contact_id=old).json()["accountvault"]["id"]
    charge = {"account_vault_id": vault, "account_number": ..., "exp_date": ..., "contact_id": old}
    earlier, sale, other = shop.paid(**charge), shop.paid(**charge), shop.paid(contact_id=old)

    def contacts() -> list[str]:
        payments = [shop.get(f"/v2/transactions/{one['id']}").json()["transaction"] for one in (sale, earlier, other)]
        stored = shop.get(f"/v2/accountvaults/{vault}").json()["accountvault"]
        return [one["contact_id"] for one in (stored, *payments)]

    edited(shop, sale, contact_id=new)
    assert contacts() == [old, new, old, old]
    edited(shop, sale, contact_id=new, move_account_vault=1)
    assert contacts() == [new, new, old, old]
    edited(shop, sale, contact_id=new, move_account_vault_transactions=True)
    assert contacts() == [new, new, new, old]


def test_invoice(shop: Shop, errors: Errors) -> None:
    """A PUT ties a transaction to an invoice, which counts it as a payment once."""
    invoice, sale = shop.invoice(allow_partial_pay=1).json()["quickinvoice"], shop.paid()
    assert edited(shop, sale, quick_invoice_id=invoice["id"])["quick_invoice_id"] == invoice["id"]
    after = shop.get(f"/v2/quickinvoices/{invoice['id']}").json()["quickinvoice"]
    assert (after["payment_status_id"], after["remaining_balance"]) == (3, "8.50")
    other = shop.invoice().json()["quickinvoice"]
    assert set(errors(shop.act(sale, "edit", quick_invoice_id=other["id"]))) == {"quick_invoice_id"}
    assert "quick_invoice_id" in errors(shop.pay(quick_invoice_id=invoice["id"]))


def test_encrypted_swipe(shop: Shop, errors: Errors) -> None:
    """The sandbox has no keys: it reads plain track data in hexadecimal digits, else takes a test card."""
    swipe: dict[str, Any] = {"account_number": ..., "exp_date": ..., "e_format": "idtech", "e_serial_number": "0A"}
    plain = b";5454545454545454=30121010000012345678?".hex()
    cards = [shop.paid(e_track_data=data, **swipe) for data in (plain, "00ff")]
    assert [(card["last_four"], card["entry_mode_id"]) for card in cards] == [("5454", "S"), (VISA[-4:], "S")]
    assert "e_track_data" in errors(shop.pay(e_track_data="x", **swipe))
    assert "e_format" in errors(shop.pay(e_format="morse"))
