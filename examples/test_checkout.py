"""The test suite of `checkout.py`, as a program of yours could have it: no network, no account, no mocks.

    pip install -e '.[dev]' && pytest examples/test_checkout.py

Copied into a project of yours, it needs `gateway-async[sandbox]`, fastapi, pytest and pytest-asyncio.
The extra `sandbox` brings the fixtures. `sandbox` is a fresh gateway on 127.0.0.1 for each test, and `gateway` is a
client of it. `gateway_environment` sets the variables that `AsyncGateway.from_env()` reads.
"""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import pytest_asyncio
from checkout import app

from gateway_async import AsyncGateway, CardVaultCreate
from gateway_async.sandbox import Sandbox

pytestmark = pytest.mark.asyncio

SALES = "POST /v2/transactions"


@pytest_asyncio.fixture
async def api(gateway_environment: dict[str, str]) -> AsyncIterator[httpx.AsyncClient]:
    """Start the API against the sandbox."""
    assert "GATEWAY_BASE_URL" in gateway_environment
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(
            transport=httpx.ASGITransport(app), base_url="http://checkout.test"
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


async def sell(
    api: httpx.AsyncClient, card: str, amount: str, key: str = "order1"
) -> tuple[int, dict[str, Any]]:
    """Sell, and return the status and the body."""
    sale = {"account_vault_id": card, "amount": amount}
    response = await api.post("/sales", json=sale, headers={"Idempotency-Key": key})
    return response.status_code, response.json()


async def test_a_sale(api: httpx.AsyncClient, card: str) -> None:
    """An approved sale shows its amount."""
    status, payment = await sell(api, card, "12.50")
    assert (status, payment["approved"], payment["amount"]) == (201, True, "12.50")


async def test_a_decline_is_a_result(api: httpx.AsyncClient, card: str) -> None:
    """The sandbox declines 6.16 for insufficient funds."""
    status, payment = await sell(api, card, "6.16")
    assert (status, payment["approved"]) == (201, False)


async def test_a_repeated_request_charges_once(
    api: httpx.AsyncClient, sandbox: Sandbox, card: str
) -> None:
    """A second request with the same key gets the first payment; another amount is a conflict."""
    _, first = await sell(api, card, "12.50")
    assert await sell(api, card, "12.50") == (201, first)
    status, body = await sell(api, card, "13.00")
    assert (status, body["error"], body["payment"]["id"]) == (
        409,
        "MismatchedWriteError",
        first["id"],
    )
    assert sandbox.ledger()["charged"]["order1"] == 1


async def test_a_lost_response_charges_once(
    api: httpx.AsyncClient, sandbox: Sandbox, card: str
) -> None:
    """The gateway charges the card, and the connection breaks before it answers."""
    sandbox.fault(SALES, "close_after_commit")
    status, payment = await sell(api, card, "12.50")
    assert (status, payment["approved"]) == (201, True)
    assert sandbox.ledger()["charged"]["order1"] == 1


async def test_a_refund(
    api: httpx.AsyncClient, gateway: AsyncGateway, card: str
) -> None:
    """A settled payment is refunded in part, and at most in full."""
    _, payment = await sell(api, card, "12.50")
    batch = await gateway.transaction_batches.list({"is_open": True}).first()
    assert batch is not None
    await gateway.transaction_batches.settle(batch.id)
    path = f"/sales/{payment['id']}/refunds"
    half = await api.post(
        path, json={"amount": "6.25"}, headers={"Idempotency-Key": "refund1"}
    )
    assert (half.status_code, half.json()["amount"]) == (201, "6.25")
    too_much = await api.post(
        path, json={"amount": "12.50"}, headers={"Idempotency-Key": "refund2"}
    )
    assert (too_much.status_code, too_much.json()["error"]) == (422, "ValidationError")


async def test_a_void(api: httpx.AsyncClient, card: str) -> None:
    """A payment of today is voided."""
    _, payment = await sell(api, card, "12.50")
    response = await api.delete(f"/sales/{payment['id']}")
    assert (response.status_code, response.json()["amount"]) == (200, "0.00")


async def test_errors_have_statuses(
    api: httpx.AsyncClient, sandbox: Sandbox, card: str
) -> None:
    """Each kind of error has its own status."""
    status, body = await sell(api, card, "0.001")
    assert (status, body["error"], body["retryable"]) == (
        422,
        "InvalidRequestError",
        False,
    )
    assert (await api.delete("/sales/no-such-payment")).status_code == 404
    sandbox.fault(SALES, "rate_limit", times=10)
    status, body = await sell(api, card, "12.50", key="order2")
    assert (status, body["retryable"]) == (429, True)
