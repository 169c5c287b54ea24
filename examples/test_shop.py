"""The tests of the checkout, each with a gateway of its own."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import checkout
import httpx
import pytest

from gateway_async import AsyncGateway, CardVaultCreate
from gateway_async.sandbox import Sandbox

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    """Run the tests on asyncio, as the service."""
    return "asyncio"


@pytest.fixture
async def shop(
    gateway_environment: dict[str, str],
) -> AsyncIterator[httpx.AsyncClient]:
    """Run the checkout against the fixture `sandbox`."""
    transport = httpx.ASGITransport(checkout.app)
    async with (
        checkout.lifespan(checkout.app),
        httpx.AsyncClient(
            transport=transport,
            base_url=gateway_environment["GATEWAY_BASE_URL"],
        ) as client,
    ):
        yield client


async def store_card(gateway: AsyncGateway, **fields: Any) -> str:
    """Store a test card, and return its id."""
    new = CardVaultCreate(
        account_number="4111111111111111",
        exp_date="1230",
        **fields,
    )
    return (await gateway.account_vaults.create(new)).id


async def pay(
    shop: httpx.AsyncClient,
    number: str,
    card: str,
) -> tuple[int, str]:
    """Pay for an order; return the HTTP status and the result."""
    response = await shop.post(
        f"/orders/{number}/pay",
        params={"card": card},
    )
    return response.status_code, response.json()["status"]


async def test_an_order_is_charged_once(
    shop: httpx.AsyncClient,
    gateway: AsyncGateway,
    sandbox: Sandbox,
) -> None:
    """A customer clicks twice, and the first response is lost."""
    card = await store_card(gateway)
    sandbox.fault("POST /v2/transactions", "close_after_commit")
    first, second = await asyncio.gather(
        pay(shop, "1001", card),
        pay(shop, "1001", card),
    )
    assert first == second == (200, "paid")
    assert sandbox.ledger()["charged"] == {"1001-1": 1}


async def test_a_second_card_pays(
    shop: httpx.AsyncClient,
    gateway: AsyncGateway,
    sandbox: Sandbox,
) -> None:
    """After a decline, the next card is a new attempt."""
    bad = await store_card(
        gateway,
        billing_address="2831 NW 41st St STE J",
        billing_zip="32615",
    )
    good = await store_card(gateway)
    assert await pay(shop, "1001", bad) == (200, "declined")
    assert await pay(shop, "1001", good) == (200, "paid")
    assert sandbox.ledger()["charged"] == {"1001-2": 1}


async def test_a_refund_is_made_once(
    shop: httpx.AsyncClient,
    gateway: AsyncGateway,
    sandbox: Sandbox,
) -> None:
    """The same refund, sent twice, returns the money once."""
    card = await store_card(gateway)
    await pay(shop, "1001", card)
    for _ in range(2):
        response = await shop.post(
            "/payments/1001-1/refunds/1",
            params={"amount": "5.00"},
        )
        assert response.json()["status"] == "refunded"
    assert sandbox.ledger()["refunded"] == {"1001-1-refund-1": 1}


async def test_an_unknown_outcome_is_found_later(
    shop: httpx.AsyncClient,
    gateway: AsyncGateway,
    sandbox: Sandbox,
) -> None:
    """While nothing can be looked up, the answer is 202."""
    card = await store_card(gateway)
    sandbox.fault("POST /v2/transactions", "close_after_commit")
    for lookup in ("", "/{id}"):
        sandbox.fault(
            f"GET /v2/transactions{lookup}",
            "error_before_commit",
            times=100,
        )
    assert await pay(shop, "1001", card) == (202, "not known yet")
    sandbox.clear_faults()
    assert await pay(shop, "1001", card) == (200, "paid")
    assert sandbox.ledger()["charged"] == {"1001-1": 1}
