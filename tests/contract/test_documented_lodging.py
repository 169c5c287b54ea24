"""The required fields of lodging merchants, row by row, through raw HTTP and through the SDK."""

from collections.abc import Iterator
from typing import Any

import pytest

from gateway_async import InvalidRequestError
from gateway_async.sandbox import Sandbox

from .raw_client import BANK_ACCOUNT, RawClient
from .sides import Family, Side, refusal

STAY = {"checkin_date": "2030-02-01", "checkout_date": "2030-02-03", "room_rate": "80.00"}
FORCE = {"action": "force", "auth_code": "ABC123"}


@pytest.fixture(autouse=True)
def lodging(sandbox: Sandbox) -> Iterator[None]:
    """Make the merchant a hotel until the test ends."""
    sandbox.change_product(industry_type="lodging")
    yield
    sandbox.change_product(industry_type="ecommerce")


@pytest.mark.parametrize("fields", [{"action": "sale"}, {"action": "authonly"}, FORCE], ids=lambda it: it["action"])
def test_stay(side: Side, fields: dict[str, str]) -> None:
    """A payment of a hotel requires both dates and the rate, and shows them."""
    for name in STAY:
        given = {key: value for key, value in STAY.items() if key != name}
        problem = {name: [f"{name.replace('_', ' ').title()} cannot be blank."]}
        assert refusal(lambda: side.pay(**fields, **given)) == problem  # noqa: B023
    made = side.pay(**fields, **STAY)
    assert {name: str(made[name]) for name in STAY} == STAY


def test_other_payments(side: Side, sandbox: Sandbox) -> None:
    """Payments of a hotel that charge no card need no stay, nor do those of other merchants."""
    debit = BANK_ACCOUNT | {"action": "debit", "payment_method": "ach", "ach_sec_code": "WEB", "exp_date": ...}
    assert side.pay(action="avsonly", transaction_amount="0.00")["id"]
    assert side.pay(action="refund")["id"]
    assert side.pay(**debit)["id"]
    for industry in ("retail", "restaurant", "mailorder", "ecommerce"):
        sandbox.change_product(industry_type=industry)
        assert side.pay()["checkin_date"] is None


def test_terminal(side: Side, raw_client: RawClient) -> None:
    """The call is refused before it reaches the terminal, whichever side sends it."""
    sale: dict[str, Any] = {"action": "sale", "payment_method": "cc", "transaction_amount": "12.50"}
    terminal = Family(side, "routertransactions")
    sale |= {"terminal_id": raw_client.info.terminal_id}
    assert set(refusal(lambda: terminal.create(**sale))) == set(STAY)
    assert set(refusal(lambda: terminal.create(**sale | STAY | {"checkout_date": "2030-01-31"}))) == {"checkout_date"}
    assert terminal.create(**sale | STAY)["checkin_date"] == STAY["checkin_date"]


def test_industry(sandbox: Sandbox, raw_client: RawClient) -> None:
    """The control call changes it, and refuses an unknown one."""
    path = f"/_sandbox/producttransactions/{sandbox.cc_product_transaction_id}"
    changed = raw_client.anonymous.post(path, json={"industry_type": "lodging"})
    assert (changed.status_code, changed.json()["industry_type"]) == (200, "lodging")
    assert raw_client.anonymous.post(path, json={"industry_type": "hotel"}).status_code == 422
    with pytest.raises(InvalidRequestError, match="industry_type"):
        sandbox.change_product(industry_type="hotel")
