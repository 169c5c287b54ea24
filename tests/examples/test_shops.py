"""The shops in `examples/`: each is run by its real server against a real sandbox, which says what was charged."""

import re
import signal
import sqlite3
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, closing
from pathlib import Path
from threading import Thread
from typing import Any

import anyio
import httpx
import pytest
import pytest_asyncio

from gateway_async import AsyncGateway, CardVaultCreate, PostbackConfigCreate, TransactionCreate, TransactionUpdate
from gateway_async.postbacks import PostbackState, SqliteInbox
from gateway_async.sandbox import Sandbox
from gateway_async.sandbox.simulators.faults import FaultName
from tests.support.processes import start_program
from tests.support.waiting import PATIENCE

EXAMPLES = Path(__file__).parents[2] / "examples"
SHOPS = {
    "fastapi": (["-m", "uvicorn", "--app-dir", str(EXAMPLES), "fastapi_shop:app", "--port", "0"], "/postbacks/"),
    "aiohttp": ([str(EXAMPLES / "aiohttp_shop.py")], "/postbacks"),
}
MODULES = ("aiohttp.web", "fastapi", "gateway_async", "uvicorn.main")
CARD = CardVaultCreate(account_number="4111111111111111", exp_date="0930")
OTHER_CARD = CardVaultCreate(account_number="5454545454545454", exp_date="0930")
SALES, LOOKUPS, LISTS = "POST /v2/transactions", "GET /v2/transactions/{id}", "GET /v2/transactions"
CREDENTIALS = {"SHOP_USERNAME": "shop", "SHOP_PASSWORD": "correct horse"}
RUNNING = re.compile(r"running on (http://127\.0\.0\.1:\d+)", re.IGNORECASE)


class Shop:
    """A shop in a process of its own, what it says, and its customers."""

    def __init__(self, kind: str, environment: dict[str, str], customer: httpx.AsyncClient) -> None:
        arguments, path = SHOPS[kind]
        environment |= {"PYTHONUNBUFFERED": "1"}
        self.process = start_program(arguments, environment, MODULES, stderr=subprocess.STDOUT)
        self.said: list[str] = []
        self._reader = Thread(target=self._read)
        self._reader.start()
        self.url = self._address()
        self.postback_url = self.url + path
        self.database = Path(environment["SHOP_DATABASE"])
        self._customer = customer

    def _read(self) -> None:
        assert self.process.stdout
        self.said.extend(iter(self.process.stdout.readline, ""))

    def _address(self) -> str:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and self.process.poll() is None:
            if found := RUNNING.search("".join(self.said)):
                return found[1]
            time.sleep(0.02)
        self.end(signal.SIGKILL)
        pytest.fail("it did not start: " + "".join(self.said))

    def end(self, number: signal.Signals = signal.SIGTERM) -> None:
        """End the process, and read all that it has said."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        self.process.wait(PATIENCE)
        self._reader.join()
        if self.process.stdout:
            self.process.stdout.close()

    async def post_sale(self, order: str, amount: str, card: str) -> httpx.Response:
        return await self._customer.post(f"{self.url}/sales", json={"order": order, "amount": amount, "card": card})

    async def pay(self, order: str, amount: str, card: str) -> tuple[int, str]:
        """Pay for an order; return the HTTP status and the status of the order."""
        return result(await self.post_sale(order, amount, card))

    async def get_order(self, order: str) -> httpx.Response:
        return await self._customer.get(f"{self.url}/orders/{order}")

    async def becomes(self, status: str, order: str) -> None:
        """Wait until an order has a status; in real time, since another process does the work."""
        with anyio.fail_after(PATIENCE):
            while (await self.get_order(order)).json()["status"] != status:
                await anyio.sleep(0.02)

    async def wait_until_handled(self) -> None:
        """Wait until the inbox is empty: what a killed shop had in hand would be free a minute later."""
        with anyio.fail_after(PATIENCE):
            async with aclosing(SqliteInbox(self.database, shared=True)) as inbox:
                while await inbox.list(PostbackState.WAITING):
                    await anyio.sleep(0.02)

    def age_attempts(self, seconds: float) -> None:
        with closing(sqlite3.connect(self.database, isolation_level=None)) as connection:
            connection.execute("UPDATE attempts SET started_at = started_at - ?", (seconds,))


Open = Callable[..., Shop]


@pytest.fixture(params=SHOPS)
def open_shop(
    request: pytest.FixtureRequest, sandbox: Sandbox, customer: httpx.AsyncClient, tmp_path: Path
) -> Iterator[Open]:
    """Open the shop, again and again with the same database; its port changes."""
    names = ("base_url", "developer_id", "user_id", "user_api_key", "location_id")
    environment = {f"GATEWAY_{name.upper()}": getattr(sandbox, name) for name in names}
    environment |= CREDENTIALS | {"SHOP_DATABASE": str(tmp_path / "shop.db"), "PORT": "0"}
    opened: list[Shop] = []

    def open_shop(**changed: str) -> Shop:
        opened.append(Shop(request.param, environment | changed, customer))
        return opened[-1]

    yield open_shop
    for shop in opened:
        shop.end(signal.SIGKILL)


@pytest_asyncio.fixture
async def customer() -> AsyncIterator[httpx.AsyncClient]:
    """Open the HTTP client of a customer."""
    async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE) as client:
        yield client


async def tell(gateway: AsyncGateway, sandbox: Sandbox, url: str, password: str = CREDENTIALS["SHOP_PASSWORD"]) -> None:
    """Have the gateway tell the shop of payments and batches."""
    for resource in ("transaction", "transactionbatch"):
        await gateway.postback_configs.create(
            PostbackConfigCreate(
                url=url,
                resource=resource,
                product_transaction_id=sandbox.cc_product_transaction_id,
                on_create=True,
                on_update=True,
                is_active=True,
                basic_auth_username="shop",
                basic_auth_password=password,
            )
        )


def result(response: httpx.Response) -> tuple[int, str]:
    """Return the HTTP status of a response and the status of the order."""
    assert response.status_code < 500, response.text
    return response.status_code, response.json().get("status")


def charged(sandbox: Sandbox) -> dict[str, Any]:
    """Return how often each integrator id was charged, also where the payment was voided afterwards."""
    return {name: times for name, times in sandbox.ledger()["charged"].items() if times}


@pytest_asyncio.fixture
async def card(gateway: AsyncGateway) -> str:
    return (await gateway.account_vaults.create(CARD)).id


@pytest_asyncio.fixture
async def other_card(gateway: AsyncGateway) -> str:
    """Store another card and return the id of its account vault."""
    return (await gateway.account_vaults.create(OTHER_CARD)).id


def lose_outcomes(sandbox: Sandbox, fault: FaultName) -> None:
    """Let sales fail without a response, and everything that could look them up, too."""
    sandbox.fault(SALES, fault, times=100)
    sandbox.fault(LOOKUPS, "error_before_commit", times=100)
    sandbox.fault(LISTS, "error_before_commit", times=100)


async def settle(gateway: AsyncGateway) -> None:
    batch = await gateway.transaction_batches.list({"is_open": True}).first()
    assert batch
    await gateway.transaction_batches.settle(batch.id)


@pytest.mark.asyncio
async def test_sale(open_shop: Open, sandbox: Sandbox, gateway: AsyncGateway, card: str) -> None:
    """A sale is paid at once, and settled when a postback says so; a decline stays declined."""
    shop = open_shop()
    await tell(gateway, sandbox, shop.postback_url)
    assert await shop.pay("1001", "12.50", card) == (200, "paid")
    assert await shop.pay("1002", "6.16", card) == (200, "declined")
    await settle(gateway)
    await shop.becomes("settled", "1001")
    order = (await shop.get_order("1001")).json()
    payment = await gateway.transactions.get(order["payment"])
    assert (payment.transaction_api_id, order["amount"], order["batch"]) == ("1001-1", "12.50", payment.batch)
    await shop.becomes("declined", "1002")
    sandbox.wait_until_idle()
    assert {each["state"] for each in sandbox.postbacks()} == {"delivered"}
    shop.end()
    assert not [line for line in shop.said if "Traceback" in line or "ERROR" in line]


@pytest.mark.asyncio
async def test_repeated_payment(open_shop: Open, sandbox: Sandbox, card: str, other_card: str) -> None:
    """Paying again with any card shows the order, and another amount is refused."""
    shop = open_shop()
    assert await shop.pay("1001", "12.50", card) == (200, "paid")
    assert await shop.pay("1001", "12.50", card) == (200, "paid")
    assert await shop.pay("1001", "12.50", other_card) == (200, "paid")
    assert (await shop.post_sale("1001", "1.00", card)).status_code == 409
    assert charged(sandbox) == {"1001-1": 1}
    assert (await shop.get_order("1002")).status_code == 404


@pytest.mark.asyncio
async def test_partial_approval(
    open_shop: Open, sandbox: Sandbox, gateway: AsyncGateway, card: str, other_card: str
) -> None:
    """A card that covers only a part pays nothing: the part is voided, and another card pays by a new attempt."""
    shop = open_shop()
    first = await shop.post_sale("1001", "2.01", card)
    assert result(first) == (200, "partial approval voided")
    assert first.json()["approved_amount"] == "1.00"
    assert (await gateway.transactions.get(first.json()["payment"])).voided
    assert await shop.pay("1001", "2.02", other_card) == (200, "paid")
    assert charged(sandbox) == {"1001-1": 1, "1001-2": 1}


@pytest.mark.asyncio
async def test_failing_void(open_shop: Open, sandbox: Sandbox, gateway: AsyncGateway, card: str) -> None:
    """When the void of a part fails, the order is open with the reserved amount; the shop voids it later by itself."""
    sandbox.fault("PUT /v2/transactions/{id}", "rate_limit", times=100, retry_after=None)
    shop = open_shop()
    first = await shop.post_sale("1001", "2.01", card)
    assert result(first) == (202, "partially approved")
    assert first.json()["approved_amount"] == "1.00"
    assert await shop.pay("1001", "2.01", card) == (202, "partially approved")
    shop.end(signal.SIGKILL)
    sandbox.clear_faults()
    shop.age_attempts(200)
    await open_shop().becomes("partial approval voided", "1001")
    assert (await gateway.transactions.get(first.json()["payment"])).voided
    assert charged(sandbox) == {"1001-1": 1}


@pytest.mark.asyncio
async def test_lost_void(open_shop: Open, sandbox: Sandbox, card: str) -> None:
    """A part whose void failed is voided by the next request, which charges nothing; the one after it does."""
    sandbox.fault("PUT /v2/transactions/{id}", "rate_limit", times=3, retry_after=None)
    shop = open_shop()
    assert await shop.pay("1001", "2.01", card) == (202, "partially approved")
    assert await shop.pay("1001", "2.01", card) == (200, "partial approval voided")
    assert charged(sandbox) == {"1001-1": 1}
    assert await shop.pay("1001", "12.50", card) == (200, "paid")
    assert charged(sandbox) == {"1001-1": 1, "1001-2": 1}


@pytest.mark.asyncio
async def test_decline(open_shop: Open, sandbox: Sandbox, card: str, other_card: str) -> None:
    """After a decline the order is paid by a second attempt, under an id of its own."""
    shop = open_shop()
    assert await shop.pay("1001", "5.00", card) == (200, "declined")
    second = await shop.post_sale("1001", "12.50", other_card)
    assert result(second) == (200, "paid")
    assert second.json()["attempt"] == "1001-2"
    assert charged(sandbox) == {"1001-2": 1}


@pytest.mark.asyncio
async def test_simultaneous_requests(open_shop: Open, sandbox: Sandbox, card: str, other_card: str) -> None:
    """While an attempt is under way, other requests for its order charge nothing, by whatever card."""
    sandbox.fault(SALES, "delay", seconds=1.0)
    shop = open_shop()
    results: list[tuple[int, str]] = []

    async def send(card: str) -> None:
        results.append(await shop.pay("1001", "12.50", card))

    async with anyio.create_task_group() as tasks:
        for each in (card, other_card, card):
            tasks.start_soon(send, each)
    assert set(results) <= {(200, "paid"), (202, "open")}
    assert (200, "paid") in results
    assert charged(sandbox) == {"1001-1": 1}
    await shop.becomes("paid", "1001")


@pytest.mark.asyncio
async def test_lost_database(open_shop: Open, sandbox: Sandbox, gateway: AsyncGateway, card: str) -> None:
    """A shop whose database was lost takes the payment that the gateway has under the attempt's id, and no other."""
    for order, amount in (("1001", "12.50"), ("1002", "3.00"), ("1003", "5.00")):
        await gateway.transactions.create(
            TransactionCreate(
                action="sale", transaction_api_id=f"{order}-1", transaction_amount=amount, account_vault_id=card
            )
        )
    shop = open_shop()
    assert await shop.pay("1001", "12.50", card) == (200, "paid")
    assert await shop.pay("1002", "12.50", card) == (409, "conflict")
    assert await shop.pay("1002", "12.50", card) == (409, "conflict")
    assert await shop.pay("1003", "5.00", card) == (200, "declined")
    assert charged(sandbox) == {"1001-1": 1, "1002-1": 1}


@pytest.mark.parametrize("found_by", ["request", "postback", "shop"])
@pytest.mark.asyncio
async def test_unknown_outcome(
    open_shop: Open, sandbox: Sandbox, gateway: AsyncGateway, card: str, other_card: str, found_by: str
) -> None:
    """A lost outcome is 202, starts no other attempt, and is found by a request, a postback or the shop itself."""
    shop = open_shop()
    lose_outcomes(sandbox, "close_after_commit")
    assert await shop.pay("1001", "12.50", card) == (202, "open")
    assert await shop.pay("1001", "12.50", other_card) == (202, "open")
    if found_by == "postback":
        await tell(gateway, sandbox, shop.postback_url)
        payment_id = sandbox.ledger()["transactions"][0]["id"]
        await gateway.transactions.update(payment_id, TransactionUpdate(action="edit", description="tea"))
    sandbox.clear_faults()
    if found_by == "request":
        assert await shop.pay("1001", "12.50", other_card) == (200, "paid")
    elif found_by == "shop":
        shop.end(signal.SIGKILL)
        shop.age_attempts(200)
        shop = open_shop()
    await shop.becomes("paid", "1001")
    assert charged(sandbox) == {"1001-1": 1}


@pytest.mark.asyncio
async def test_unsent_sale(open_shop: Open, sandbox: Sandbox, card: str) -> None:
    """A sale that is not at the gateway is still in doubt at first; after that time the attempt is used again."""
    shop = open_shop()
    lose_outcomes(sandbox, "reset_before_commit")
    assert await shop.pay("1001", "12.50", card) == (202, "open")
    sandbox.clear_faults()
    assert await shop.pay("1001", "12.50", card) == (202, "open")
    assert charged(sandbox) == {}
    shop.age_attempts(200)
    assert await shop.pay("1001", "12.50", card) == (200, "paid")
    assert charged(sandbox) == {"1001-1": 1}


@pytest.mark.asyncio
async def test_wrong_response(open_shop: Open, sandbox: Sandbox, card: str) -> None:
    """A response that belongs to another request leaves the order open; the next request finds its payment."""
    shop = open_shop()
    assert await shop.pay("1000", "3.00", card) == (200, "paid")
    sandbox.fault(SALES, "wrong_response")
    sandbox.fault(LOOKUPS, "error_before_commit", times=100)
    assert await shop.pay("1001", "12.50", card) == (202, "open")
    assert await shop.pay("1001", "12.50", card) == (200, "paid")
    assert charged(sandbox) == {"1000-1": 1, "1001-1": 1}


@pytest.mark.parametrize(("fault", "retry_after"), [("refuse", "5"), ("rate_limit", "30")])
@pytest.mark.asyncio
async def test_gateway_down(open_shop: Open, sandbox: Sandbox, card: str, fault: FaultName, retry_after: str) -> None:
    """An unpaid order is 503 with the seconds to wait; sent again, it is paid under its id."""
    shop = open_shop()
    sandbox.fault(SALES, fault, times=3, seconds=4.0, retry_after=float(retry_after))
    first = await shop.post_sale("1001", "12.50", card)
    assert (first.status_code, first.headers.get("Retry-After")) == (503, retry_after), first.text
    assert (await shop.get_order("1001")).json()["status"] == "not charged"
    assert charged(sandbox) == {}
    sandbox.clear_faults()
    with anyio.fail_after(PATIENCE):
        while (await shop.post_sale("1001", "12.50", card)).status_code == 503:
            await anyio.sleep(0.2)
    await shop.becomes("paid", "1001")
    assert charged(sandbox) == {"1001-1": 1}


@pytest.mark.asyncio
async def test_bad_input(open_shop: Open, sandbox: Sandbox, customer: httpx.AsyncClient, card: str) -> None:
    """An invalid request is 422 with the field's name; the order can be paid afterwards under the same id."""
    shop = open_shop()
    for amount, vault, field in (("1.234", card, "transaction_amount"), ("12.50", "no-such-card", "account_vault_id")):
        response = await shop.post_sale("1001", amount, vault)
        assert response.status_code == 422
        assert field in response.text
    for body in ("{", "[]", "{}", '{"order": "1001", "amount": "much", "card": "any"}'):
        headers = {"Content-Type": "application/json"}
        assert (await customer.post(f"{shop.url}/sales", content=body, headers=headers)).status_code == 422
    assert charged(sandbox) == {}
    assert await shop.pay("1001", "12.50", card) == (200, "paid")
    assert charged(sandbox) == {"1001-1": 1}


@pytest.mark.asyncio
async def test_wrong_credentials(open_shop: Open, sandbox: Sandbox, card: str) -> None:
    """Wrong credentials are 500 without details, which the log has; nothing is charged."""
    shop = open_shop(GATEWAY_USER_API_KEY="wrong")
    response = await shop.post_sale("1001", "12.50", card)
    assert (response.status_code, response.json()) == (500, {"message": "Payments are not possible at the moment."})
    shop.end()
    assert any("nothing can be charged: POST /v2/transactions: the credentials" in line for line in shop.said)
    assert charged(sandbox) == {}


@pytest.mark.asyncio
async def test_void(open_shop: Open, sandbox: Sandbox, gateway: AsyncGateway, card: str) -> None:
    """A paid order whose payment is voided is voided by a postback, and is not charged again."""
    shop = open_shop()
    await tell(gateway, sandbox, shop.postback_url)
    payment = (await shop.post_sale("1001", "12.50", card)).json()["payment"]
    await gateway.transactions.void(payment)
    await shop.becomes("voided", "1001")
    assert await shop.pay("1001", "12.50", card) == (200, "voided")
    assert charged(sandbox) == {"1001-1": 1}


@pytest.mark.asyncio
async def test_catching_up(open_shop: Open, sandbox: Sandbox, gateway: AsyncGateway, card: str) -> None:
    """The shop is killed, and the batch settles meanwhile; after its restart the order is settled."""
    shop = open_shop()
    await tell(gateway, sandbox, shop.postback_url)
    assert await shop.pay("1001", "12.50", card) == (200, "paid")
    sandbox.wait_until_idle()
    await shop.wait_until_handled()
    shop.end(signal.SIGKILL)
    sandbox.advance(60)
    await settle(gateway)
    sandbox.wait_until_idle()
    assert "failed" in {each["state"] for each in sandbox.postbacks()}
    await open_shop().becomes("settled", "1001")


@pytest.mark.asyncio
async def test_postbacks_without_credentials_settle_nothing(
    open_shop: Open, sandbox: Sandbox, gateway: AsyncGateway, card: str
) -> None:
    shop = open_shop()
    await tell(gateway, sandbox, shop.postback_url, password="wrong")
    assert await shop.pay("1001", "12.50", card) == (200, "paid")
    await settle(gateway)
    sandbox.wait_until_idle()
    assert {attempt["status"] for each in sandbox.postbacks() for attempt in each["attempts"]} == {401}
    await shop.becomes("paid", "1001")


@pytest.mark.asyncio
async def test_start(open_shop: Open, sandbox: Sandbox) -> None:
    """The shop logs that it cannot catch up; it still accepts postbacks and shows orders."""
    sandbox.fault("GET /v2/transactions", "garbage", times=100)
    shop = open_shop()
    assert (await shop.get_order("1001")).status_code == 404
    assert any("cannot catch up: postbacks that the shop missed are not handled yet" in line for line in shop.said)
