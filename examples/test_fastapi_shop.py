"""The test suite of `fastapi_shop.py`: sales, and the postbacks that follow them.

    pip install -e '.[dev]' && pytest examples/test_fastapi_shop.py

The shop runs in the test's own process, with its inbox and the worker that handles it. A test waits for an order to
change, as a customer's browser does.
"""

import asyncio
import importlib
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio

from gateway_async import AsyncGateway, CardVaultCreate

pytestmark = pytest.mark.asyncio

CREDENTIALS = ("shop", "a long secret")


@pytest_asyncio.fixture
async def shop(
    gateway_environment: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[httpx.AsyncClient]:
    """Start the shop against the sandbox, with a database of its own."""
    assert "GATEWAY_BASE_URL" in gateway_environment
    monkeypatch.setenv("SHOP_USERNAME", CREDENTIALS[0])
    monkeypatch.setenv("SHOP_PASSWORD", CREDENTIALS[1])
    monkeypatch.setenv("SHOP_DATABASE", str(tmp_path / "shop.db"))
    for module in ("orders", "fastapi_shop"):  # they read these variables
        monkeypatch.delitem(sys.modules, module, raising=False)
    app = importlib.import_module("fastapi_shop").app
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(
            transport=httpx.ASGITransport(app), base_url="http://shop.test"
        ) as client,
    ):
        yield client


@pytest_asyncio.fixture
async def card(gateway: AsyncGateway) -> str:
    """Store a card."""
    vault = await gateway.account_vaults.create(
        CardVaultCreate(account_number="4111111111111111", exp_date="1230")
    )
    return vault.id


async def deliver(
    shop: httpx.AsyncClient, gateway: AsyncGateway, payment: str
) -> httpx.Response:
    """Send the shop a postback with the payment's present state."""
    reply = await gateway.request("GET", f"/v2/transactions/{payment}")
    record: dict[str, Any] = json.loads(reply.body)["transaction"]
    postback = {
        "type": "UPDATE",
        "resource": "transaction",
        "number_of_attempts": 1,
        "data": json.dumps(record),
    }
    return await shop.post("/postbacks/", json=postback, auth=CREDENTIALS)


async def status_of(shop: httpx.AsyncClient, order: str) -> str:
    """Ask for the status of an order."""
    response = await shop.get(f"/orders/{order}")
    status: str = response.json()["status"]
    return status


async def test_a_postback_voids_an_order(
    shop: httpx.AsyncClient, gateway: AsyncGateway, card: str
) -> None:
    """A payment voided in the back office is voided in the shop."""
    sale = {"order": "1001", "amount": "12.50", "card": card}
    assert (await shop.post("/sales", json=sale)).status_code == 200
    payment = await gateway.transactions.list().first()
    assert payment is not None
    await gateway.transactions.void(payment.id)
    assert await status_of(shop, "1001") == "paid"
    assert (await deliver(shop, gateway, payment.id)).status_code == 204
    for _ in range(3000):
        if await status_of(shop, "1001") == "voided":
            return
        await asyncio.sleep(0.01)
    pytest.fail("the order is not voided after 30 seconds")


async def test_a_postback_needs_the_credentials(shop: httpx.AsyncClient) -> None:
    """Strangers cannot change an order."""
    response = await shop.post("/postbacks/", json={}, auth=("shop", "a guess"))
    assert response.status_code == 401
