"""The checkout of the first tutorial, in both of its versions: what it charges, and what it answers."""

import runpy
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
import pytest_asyncio

from gateway_async import AsyncGateway, CardVaultCreate, TransactionCreate
from gateway_async.sandbox import Sandbox
from tests.docs.documents import ROOT, blocks

FIRST = next(block for block in blocks("README.md", "python") if "FastAPI(" in block.text)
CHECKOUTS = {"first": FIRST.placed, "last": (ROOT / "examples/checkout.py").read_text(encoding="utf-8")}
ONLY_FIRST = pytest.mark.parametrize("checkout", ["first"])
ONLY_LAST = pytest.mark.parametrize("checkout", ["last"])

Result = tuple[int, str]
Pay = Callable[..., Awaitable[httpx.Response]]

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("gateway_environment")]


@asynccontextmanager
async def run_checkout(checkout: str, folder: Path) -> AsyncIterator[Pay]:
    """Run a version of the checkout, and yield the function that pays the order 1001."""
    path = folder / "checkout.py"
    path.write_text(CHECKOUTS[checkout], encoding="utf-8")
    names = runpy.run_path(str(path))
    app: Any = names["app"]
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://shop.test") as client,
    ):

        async def pay(card: str, total: str) -> httpx.Response:
            names["TOTALS"]["1001"] = Decimal(total)
            return await client.post("/orders/1001/pay", params={"card": card})

        yield pay


def result(response: httpx.Response) -> Result:
    """Return the HTTP status and the status of the payment."""
    return response.status_code, response.json()["status"]


@pytest.fixture(params=CHECKOUTS)
def checkout(request: pytest.FixtureRequest) -> Any:
    """Return a version of the checkout; a test of one version sets it."""
    return request.param


@pytest_asyncio.fixture
async def pay(checkout: str, gateway_environment: dict[str, str], tmp_path: Path) -> AsyncIterator[Pay]:
    """Run the checkout and return the function that pays."""
    async with run_checkout(checkout, tmp_path) as pay:
        yield pay


@pytest_asyncio.fixture
async def card(gateway: AsyncGateway) -> str:
    """Store a card and return the id of its account vault."""
    return (await gateway.account_vaults.create(CardVaultCreate(account_number="4111111111111111", exp_date="1230"))).id


async def test_repeated_order(sandbox: Sandbox, pay: Pay, card: str) -> None:
    """An order is charged once, also if it is sent again or twice at the same time."""
    results: list[Result] = []

    async def send() -> None:
        results.append(result(await pay(card, "12.50")))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(send)
        tasks.start_soon(send)
    assert set(results) <= {(200, "paid"), (202, "not known yet")}
    assert result(await pay(card, "12.50")) == (200, "paid")
    assert sandbox.ledger()["charged"] == {"1001-1": 1}


@ONLY_FIRST
@pytest.mark.parametrize(("total", "answer"), [("6.16", (200, "declined")), ("2.01", (409, "conflict"))])
async def test_single_attempt(sandbox: Sandbox, pay: Pay, card: str, total: str, answer: Result) -> None:
    """The first version keeps the result of its only attempt, and charges nothing else."""
    for _ in range(2):
        assert result(await pay(card, total)) == answer
    assert result(await pay(card, "12.50")) == (409, "conflict")
    assert sum(sandbox.ledger()["charged"].values()) == (total == "2.01")


@ONLY_LAST
async def test_second_card(sandbox: Sandbox, pay: Pay, card: str) -> None:
    """After a decline or a voided partial approval, a new attempt pays the order."""
    assert result(await pay(card, "6.16")) == (200, "declined")
    assert result(await pay(card, "2.01")) == (200, "too little")
    assert result(await pay(card, "12.50")) == (200, "paid")
    assert sandbox.ledger()["charged"] == {"1001-2": 1, "1001-3": 1}
    taken = {row["transaction_api_id"]: row["transaction_amount"] for row in sandbox.ledger()["transactions"]}
    assert (taken["1001-2"], taken["1001-3"]) == ("0.00", "12.50")


@ONLY_LAST
async def test_lost_void(sandbox: Sandbox, pay: Pay, card: str) -> None:
    """A partial approval whose void was lost is voided by the next request, which charges the whole amount."""
    sandbox.fault("PUT /v2/transactions/{id}", "rate_limit", times=3, retry_after=None)
    assert result(await pay(card, "2.01")) == (503, "try again")
    assert result(await pay(card, "12.50")) == (200, "paid")
    assert [row["transaction_amount"] for row in sandbox.ledger()["transactions"]] == ["0.00", "12.50"]


@ONLY_LAST
async def test_voided_order(sandbox: Sandbox, gateway: AsyncGateway, pay: Pay, card: str) -> None:
    """An order whose payment was voided stays voided, and no new attempt is made."""
    assert result(await pay(card, "12.50")) == (200, "paid")
    payment = await gateway.transactions.list().first()
    assert payment is not None
    await gateway.transactions.void(payment.id)
    assert result(await pay(card, "12.50")) == (200, "voided")
    assert sandbox.ledger()["charged"] == {"1001-1": 1}


async def test_unknown_outcome(sandbox: Sandbox, pay: Pay, card: str) -> None:
    """An unknown outcome gives 202, and sending the payment again finds it."""
    sandbox.fault("POST /v2/transactions", "close_after_commit")
    sandbox.fault("GET /v2/transactions/{id}", "error_before_commit", times=100)
    assert result(await pay(card, "12.50")) == (202, "not known yet")
    assert result(await pay(card, "12.50")) == (202, "not known yet")
    sandbox.clear_faults()
    assert result(await pay(card, "12.50")) == (200, "paid")
    assert sandbox.ledger()["charged"] == {"1001-1": 1}


async def test_a_payment_of_another_amount_charges_nothing(
    sandbox: Sandbox, gateway: AsyncGateway, pay: Pay, card: str
) -> None:
    new = TransactionCreate(
        action="sale", account_vault_id=card, transaction_amount="3.00", transaction_api_id="1001-1"
    )
    await gateway.transactions.create(new)
    assert result(await pay(card, "12.50")) == (409, "conflict")
    assert sandbox.ledger()["charged"] == {"1001-1": 1}


async def test_errors_have_statuses(
    sandbox: Sandbox, pay: Pay, checkout: str, card: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Bad input gives 422, an overloaded gateway 503, wrong credentials 500, and nothing is charged."""
    assert result(await pay(card, "1.234")) == (422, "refused")
    assert result(await pay("no-such-card", "12.50")) == (422, "refused")
    sandbox.fault("POST /v2/transactions", "rate_limit", times=3, retry_after=30)
    response = await pay(card, "12.50")
    assert (response.status_code, response.headers.get("Retry-After")) == (503, "30")
    sandbox.clear_faults()
    monkeypatch.setenv("GATEWAY_USER_API_KEY", "wrong")
    async with run_checkout(checkout, tmp_path) as pay_with_wrong_key:
        assert result(await pay_with_wrong_key(card, "12.50")) == (500, "not possible")
    assert sandbox.ledger()["charged"] == {}
    assert result(await pay(card, "12.50")) == (200, "paid")
