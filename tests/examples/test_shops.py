"""The shops in `examples/`: each is run by its real server, and hears of a settlement from a real sandbox."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from threading import Thread

import anyio
import httpx
import pytest
import pytest_asyncio

from gateway_async import AsyncGateway, CardVaultCreate, PostbackConfigCreate
from gateway_async.postbacks import LetterState, SqliteInbox
from gateway_async.sandbox import Sandbox

EXAMPLES = Path(__file__).parents[2] / "examples"
SHOPS = {
    "fastapi": (["-m", "uvicorn", "--app-dir", str(EXAMPLES), "fastapi_shop:app", "--port", "0"], "/postbacks/"),
    "aiohttp": ([str(EXAMPLES / "aiohttp_shop.py")], "/postbacks"),
}
CARD = CardVaultCreate(account_number="4111111111111111", exp_date="0930")
CREDENTIALS = {"SHOP_USERNAME": "shop", "SHOP_PASSWORD": "correct horse"}
RUNNING = re.compile(r"running on (http://127\.0\.0\.1:\d+)", re.IGNORECASE)


class Shop:
    """A shop in a process of its own, and what it says."""

    def __init__(self, arguments: list[str], environment: dict[str, str]) -> None:
        self.process = subprocess.Popen(  # noqa: S603  our own example
            [sys.executable, "-u", *arguments],
            env=os.environ | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        )
        self.said: list[str] = []
        self._reader = Thread(target=self._read)
        self._reader.start()
        self.url = self._address()

    def _read(self) -> None:
        assert self.process.stdout
        self.said.extend(iter(self.process.stdout.readline, ""))

    def _address(self) -> str:
        deadline = time.monotonic() + 20
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
        self.process.wait(20)
        self._reader.join()
        if self.process.stdout:
            self.process.stdout.close()


Open = Callable[[], Shop]


@pytest.fixture(params=SHOPS)
def kind(request: pytest.FixtureRequest) -> str:
    """Which shop."""
    return str(request.param)


@pytest.fixture
def open_shop(kind: str, sandbox: Sandbox, tmp_path: Path) -> Iterator[Open]:
    """Open the shop, again and again with the same database; its port changes."""
    names = ("base_url", "developer_id", "user_id", "user_api_key", "location_id")
    environment = {f"GATEWAY_{name.upper()}": getattr(sandbox, name) for name in names}
    environment |= CREDENTIALS | {"SHOP_DATABASE": str(tmp_path / "shop.db"), "PORT": "0"}
    opened: list[Shop] = []

    def open_shop() -> Shop:
        opened.append(Shop(SHOPS[kind][0], environment))
        return opened[-1]

    yield open_shop
    for shop in opened:
        shop.end(signal.SIGKILL)


@pytest_asyncio.fixture
async def customer() -> AsyncIterator[httpx.AsyncClient]:
    """Who buys."""
    async with httpx.AsyncClient(trust_env=False, timeout=20) as client:
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


async def buy(customer: httpx.AsyncClient, shop: Shop, gateway: AsyncGateway, order: str, amount: str) -> str:
    """Buy something by a stored card, and return how the order stands."""
    card = await gateway.account_vaults.create(CARD)
    answer = await customer.post(f"{shop.url}/sales", json={"order": order, "amount": amount, "card": card.id})
    assert answer.status_code == 200, answer.text
    return str(answer.json()["status"])


async def settle(gateway: AsyncGateway) -> None:
    """Settle the open batch."""
    batch = await gateway.transaction_batches.list({"is_open": True}).first()
    assert batch
    await gateway.transaction_batches.settle(batch.id)


async def becomes(status: str, customer: httpx.AsyncClient, shop: Shop, order: str) -> None:
    """Wait until an order stands so; in real time, since it is another process that works."""
    with anyio.fail_after(20):
        while (await customer.get(f"{shop.url}/orders/{order}")).json()["status"] != status:
            await anyio.sleep(0.02)


async def all_handled(database: Path) -> None:
    """Wait until nothing waits in the shop's inbox: what a killed shop had in hand would be free a minute later."""
    inbox = SqliteInbox(database, shared=True)
    with anyio.fail_after(20):
        while await inbox.letters(LetterState.WAITING):
            await anyio.sleep(0.02)
    await inbox.aclose()


@pytest.mark.asyncio
async def test_a_sale_is_settled(
    open_shop: Open, kind: str, sandbox: Sandbox, gateway: AsyncGateway, customer: httpx.AsyncClient
) -> None:
    """A sale is paid at once, and settled when a postback says so; a decline is not paid, and stays so."""
    shop = open_shop()
    await tell(gateway, sandbox, shop.url + SHOPS[kind][1])
    assert await buy(customer, shop, gateway, "1001", "12.50") == "paid"
    assert await buy(customer, shop, gateway, "1002", "6.16") == "not paid"
    await settle(gateway)
    await becomes("settled", customer, shop, "1001")
    order = (await customer.get(f"{shop.url}/orders/1001")).json()
    payment = await gateway.transactions.get(order["payment"])
    assert (payment.transaction_api_id, order["amount"], order["batch"]) == ("1001", "12.50", payment.batch)
    await becomes("not paid", customer, shop, "1002")
    sandbox.wait_until_idle()
    assert {each["state"] for each in sandbox.postbacks()} == {"delivered"}
    shop.end()
    assert not [line for line in shop.said if "Traceback" in line or "ERROR" in line]


@pytest.mark.asyncio
async def test_an_order_is_paid_once(
    open_shop: Open, sandbox: Sandbox, gateway: AsyncGateway, customer: httpx.AsyncClient
) -> None:
    """An order's second sale is refused, and nothing is charged; an unknown order is not found."""
    shop = open_shop()
    await buy(customer, shop, gateway, "1001", "12.50")
    again = await customer.post(f"{shop.url}/sales", json={"order": "1001", "amount": "1.00", "card": "any"})
    assert again.status_code == 409
    assert sandbox.ledger()["charged"] == {"1001": 1}
    assert (await customer.get(f"{shop.url}/orders/1002")).status_code == 404


@pytest.mark.asyncio
async def test_a_shop_that_was_down_asks_what_it_missed(
    open_shop: Open, kind: str, sandbox: Sandbox, gateway: AsyncGateway, customer: httpx.AsyncClient, tmp_path: Path
) -> None:
    """It is killed, the batch settles, nobody hears of it; when it is there again, the order is settled."""
    shop = open_shop()
    await tell(gateway, sandbox, shop.url + SHOPS[kind][1])
    await buy(customer, shop, gateway, "1001", "12.50")
    sandbox.wait_until_idle()
    await all_handled(tmp_path / "shop.db")
    shop.end(signal.SIGKILL)
    sandbox.advance(60)
    await settle(gateway)
    sandbox.wait_until_idle()
    assert "failed" in {each["state"] for each in sandbox.postbacks()}
    await becomes("settled", customer, open_shop(), "1001")


@pytest.mark.asyncio
async def test_a_stranger_settles_nothing(
    open_shop: Open, kind: str, sandbox: Sandbox, gateway: AsyncGateway, customer: httpx.AsyncClient
) -> None:
    """Postbacks without the shop's credentials are refused."""
    shop = open_shop()
    await tell(gateway, sandbox, shop.url + SHOPS[kind][1], password="wrong")
    assert await buy(customer, shop, gateway, "1001", "12.50") == "paid"
    await settle(gateway)
    sandbox.wait_until_idle()
    assert {attempt["status"] for each in sandbox.postbacks() for attempt in each["attempts"]} == {401}
    await becomes("paid", customer, shop, "1001")


@pytest.mark.asyncio
async def test_a_shop_opens_while_the_gateway_is_down(
    open_shop: Open, sandbox: Sandbox, gateway: AsyncGateway, customer: httpx.AsyncClient
) -> None:
    """What it missed cannot be asked for, which it says; postbacks are taken and orders shown all the same."""
    sandbox.fault("GET /v2/transactions", "garbage", times=100)
    shop = open_shop()
    assert (await customer.get(f"{shop.url}/orders/1001")).status_code == 404
    assert any("what came while the shop was down is not known yet" in line for line in shop.said)
