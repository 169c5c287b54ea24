"""The required fields of lodging merchants, row by row, through raw HTTP and through the SDK."""

from collections.abc import Iterator
from datetime import date
from typing import Any

import pytest

from gateway_async import InvalidRequestError, RouterTransactionCreate, ValidationError
from gateway_async.sandbox import Sandbox

from .raw_client import BANK_ACCOUNT, RawClient
from .two_sides import SdkSide, Side, Values, refusal

STAY: dict[str, Any] = {"checkin_date": date(2030, 2, 1), "checkout_date": date(2030, 2, 3), "room_rate": "80.00"}
PLAIN_STAY = {name: str(value) for name, value in STAY.items()}
FORCE = {"action": "force", "auth_code": "ABC123"}


@pytest.fixture(autouse=True)
def lodging(sandbox: Sandbox) -> Iterator[None]:
    """Make the merchant a hotel until the test ends."""
    sandbox.change_product(industry_type="lodging")
    yield
    sandbox.change_product(industry_type="ecommerce")


def stay(side: Side) -> Values:
    """Return the fields of a stay as the side takes them."""
    return STAY if isinstance(side, SdkSide) else PLAIN_STAY


@pytest.mark.parametrize("name", STAY)
@pytest.mark.parametrize("fields", [{"action": "sale"}, {"action": "authonly"}, FORCE], ids=lambda it: it["action"])
def test_required_stay(side: Side, fields: dict[str, str], name: str) -> None:
    """A payment of a hotel requires both dates and the rate."""
    given = {key: value for key, value in stay(side).items() if key != name}
    label = name.replace("_", " ").title()
    assert refusal(lambda: side.pay(**fields, **given)) == {name: [f"{label} cannot be blank."]}


def test_a_payment_shows_its_stay(side: Side) -> None:
    made = side.pay(**stay(side))
    assert {name: str(made[name]) for name in STAY} == PLAIN_STAY


WITHOUT: list[dict[str, Any]] = [
    {"action": "avsonly", "transaction_amount": "0.00"},
    {"action": "refund"},
    BANK_ACCOUNT | {"action": "debit", "payment_method": "ach", "ach_sec_code": "WEB", "exp_date": ...},
]


@pytest.mark.parametrize("fields", WITHOUT, ids=lambda it: it["action"])
def test_other_payments(side: Side, fields: dict[str, Any]) -> None:
    """Payments of a hotel that charge no card need no stay."""
    assert side.pay(**fields)["id"]


@pytest.mark.parametrize("industry", ["retail", "restaurant", "mailorder", "ecommerce"])
def test_only_lodging_merchants_need_a_stay(side: Side, sandbox: Sandbox, industry: str) -> None:
    sandbox.change_product(industry_type=industry)
    assert side.pay()["checkin_date"] is None


def test_terminal(raw_client: RawClient, sides: dict[str, Any]) -> None:
    """The call is refused before it reaches the terminal, whichever side sends it."""
    sale: dict[str, Any] = {"action": "sale", "payment_method": "cc", "transaction_amount": "12.50"}
    sale |= {"terminal_id": raw_client.info.terminal_id}
    response = raw_client.post("/v2/routertransactions", "routertransaction", sale)
    assert (response.status_code, set(response.json()["errors"])) == (422, set(STAY))
    assert raw_client.post("/v2/routertransactions", "routertransaction", sale | PLAIN_STAY).status_code == 201
    sdk = sides["SDK"]
    with pytest.raises(ValidationError) as caught:
        sdk.portal.call(sdk.gateway.router_transactions.create, RouterTransactionCreate(**sale))
    assert set(caught.value.fields) == set(STAY)
    made = sdk.portal.call(sdk.gateway.router_transactions.create, RouterTransactionCreate(**sale, **STAY))
    assert made.checkin_date == STAY["checkin_date"]


def test_industry(sandbox: Sandbox, raw_client: RawClient) -> None:
    """The control call changes it, and refuses an unknown one."""
    path = f"/_sandbox/producttransactions/{sandbox.cc_product_transaction_id}"
    changed = raw_client.anonymous.post(path, json={"industry_type": "lodging"})
    assert (changed.status_code, changed.json()["industry_type"]) == (200, "lodging")
    assert raw_client.anonymous.post(path, json={"industry_type": "hotel"}).status_code == 422
    with pytest.raises(InvalidRequestError, match="industry_type"):
        sandbox.change_product(industry_type="hotel")
