"""Paylinks: creation, changes while they are unpaid, messages, and payment on their page."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from gateway_async.sandbox import Sandbox

from .conftest import Errors, Record, Shop

DAY = 86_400
Create = Callable[..., Record]
Pay = Callable[..., httpx.Response]


@pytest.fixture
def create(shop: Shop) -> Create:
    return lambda amount=21, **fields: shop.paylink(amount, **fields).json()["paylink"]


@pytest.fixture
def pay(shop: Shop) -> Pay:
    """Pay a paylink on its page over HTTP."""
    return lambda paylink, **body: shop.http.post(f"/_sandbox/paylinks/{paylink['id']}/pay", json=body)


def read(shop: Shop, paylink: Record) -> Record:
    record: Record = shop.get(f"/v2/paylinks/{paylink['id']}").json()["paylink"]
    return record


def change(shop: Shop, paylink: Record, **fields: Any) -> httpx.Response:
    return shop.put("paylink", f"/v2/paylinks/{paylink['id']}", fields)


def test_defaults(create: Create, sandbox: Sandbox) -> None:
    """The defaults are both merchant accounts of the location, a sale, sent by e-mail, unpaid."""
    paylink = create()
    expected = {
        "amount_due": "21.00",
        "cc_product_transaction_id": sandbox.cc_product_transaction_id,
        "ach_product_transaction_id": sandbox.ach_product_transaction_id,
        "paylink_action": "sale",
        "delivery_method": 1,
        "display_product_transaction_receipt_details": 0,
        "display_billing_fields": 0,
        "status_id": 0,
        "active": 1,
        "created_user_id": sandbox.user_id,
        "modified_user_id": sandbox.user_id,
    }
    assert {name: paylink[name] for name in expected} == expected


WRONG: dict[str, list[object]] = {
    "amount_due": [0, "21.001"],
    "delivery_method": [4],
    "paylink_action": ["refund"],
    "email": ["a@b."],
    "expire_date": ["soon"],
    "status_id": [1],
    "active": [0],
}


def test_invalid_values_are_named(shop: Shop, errors: Errors) -> None:
    for field, values in WRONG.items():
        for value in values:
            assert list(errors(shop.paylink(**{field: value}))) == [field]


def test_phone(shop: Shop, create: Create, errors: Errors) -> None:
    """Delivery methods 2 and 3 require a phone, on POST and on PUT."""
    expected = {"cell_phone": ["Cell Phone cannot be blank when Delivery Method is 2 or 3."]}
    for method in (2, 3):
        assert errors(shop.paylink(delivery_method=method)) == expected
        assert errors(change(shop, create(), delivery_method=method)) == expected
    paylink = create(delivery_method=2, cell_phone="5551234567")
    assert errors(change(shop, paylink, cell_phone=None)) == expected
    assert change(shop, paylink, cell_phone=None, delivery_method=1).status_code == 200


def test_merchant_accounts(shop: Shop, create: Create, errors: Errors) -> None:
    """Each takes its method, and is this location's. Null stays null, and either can be removed, but not both."""
    info, cc, ach = shop.info, "cc_product_transaction_id", "ach_product_transaction_id"
    crossed = shop.paylink(**{cc: info.ach_product_transaction_id})
    assert errors(crossed) == {cc: ["cc_product_transaction_id provided is not valid"]}
    assert list(errors(shop.paylink(**{ach: "nowhere"}))) == [ach]
    for none, other in ((cc, ach), (ach, cc)):
        paylink = create(**{none: None})
        assert (paylink[none], paylink[other]) == (None, getattr(info, other))
    assert errors(shop.paylink(**{cc: None, ach: None})) == {
        cc: ["One of Cc and Ach Product Transaction Id must be given."]
    }
    paylink = create()
    assert change(shop, paylink, **{ach: None}).json()["paylink"][ach] is None
    assert list(errors(change(shop, paylink, **{cc: None}))) == [cc]


# --- payments


@pytest.mark.parametrize(("action", "status_id"), [("sale", 101), ("auth-only", 102), ("authonly", 102)])
def test_payment(shop: Shop, create: Create, pay: Pay, action: str, status_id: int) -> None:
    """The transaction has the whole amount and the paylink's action, id and source; the paylink is paid."""
    paylink = create("12.34", paylink_action=action, contact_id=shop.info.contact_id)
    paid = pay(paylink, card="5454545454545454")
    transaction = paid.json()["transaction"]
    expected = {
        "transaction_amount": "12.34",
        "status_id": status_id,
        "paylink_id": paylink["id"],
        "trx_source_id": 16,
        "account_type": "mc",
        "contact_id": shop.info.contact_id,
        "product_transaction_id": paylink["cc_product_transaction_id"],
        "created_user_id": paylink["created_user_id"],
    }
    assert paid.status_code == 200
    assert paid.json()["paylink"] == read(shop, paylink)
    assert read(shop, paylink)["status_id"] == 1
    assert {name: transaction[name] for name in expected} == expected
    assert shop.get(f"/v2/transactions/{transaction['id']}").json()["transaction"] == transaction
    assert shop.get("/v2/transactions", paylink_id=paylink["id"]).json()["meta"]["pagination"]["totalCount"] == 1


@pytest.mark.parametrize("amount", ["5.00", "2.01"])
def test_decline(shop: Shop, create: Create, pay: Pay, amount: str) -> None:
    """A declined paylink stays unpaid and can be tried again; a partial approval is a decline too."""
    paylink = create(amount)
    tried = pay(paylink)
    assert (tried.status_code, tried.json()["transaction"]["status_id"]) == (200, 301)
    assert read(shop, paylink)["status_id"] == 0


def test_whole_amount(create: Create, pay: Pay) -> None:
    """Another amount than the whole one is refused with the amount due."""
    paylink = create(21)
    for other in ("20.99", "21.01", "-1", 1e9):
        refused = pay(paylink, amount=other)
        assert (refused.status_code, refused.json()["message"]) == (422, "amount: must be 21.00.")
    assert [pay(paylink, amount=amount).status_code for amount in (21, "21.00")] == [200, 422]


def test_unpayable(shop: Shop, sandbox: Sandbox, create: Create, pay: Pay, errors: Errors) -> None:
    """A paid or expired paylink, one without an account for cards, and an invalid card are refused."""
    paid, bank = create(), create()
    expired = create(expire_date="2026-01-01")
    pay(paid)
    change(shop, bank, cc_product_transaction_id=None)
    for refused, why in [
        (pay(paid), f"paylink {paid['id']}: it is closed."),
        (pay(expired), f"paylink {expired['id']}: it has expired."),
        (pay(bank), f"paylink {bank['id']}: it takes no cards."),
        (pay(create(), card="4111111111111112"), "card: is not a valid card number."),
    ]:
        assert (refused.status_code, refused.json()["message"]) == (422, why)
    assert errors(change(shop, paid, description=1)) == {"status_id": ["The paylink is closed."]}
    assert pay(create(), cards="4111111111111111").status_code == 400
    assert sandbox.ledger()["transactions"][1:] == []


def test_last_day(shop: Shop, sandbox: Sandbox, create: Create, pay: Pay) -> None:
    """A paylink can be paid until its last day ends, in UTC; a later date makes it payable again."""
    sandbox.set_clock(1_800_000_000 // DAY * DAY + DAY - 60)
    paylink, late = create(expire_date="2027-01-15"), create(expire_date="2027-01-15")
    assert pay(paylink).status_code == 200
    sandbox.advance(120)
    assert pay(late).status_code == 422
    assert change(shop, late, expire_date="2027-02-01").status_code == 200
    assert pay(late).status_code == 200
