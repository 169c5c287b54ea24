"""A program is killed during a payment; the next one finds the outcome."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from gateway_async import (
    AchVaultCreate,
    AsyncGateway,
    CardVaultCreate,
    RouterAccountVaultCreate,
    SqliteLedger,
    SwipedVaultCreate,
)
from gateway_async.sandbox import Sandbox
from tests.support.killed_programs import facts_of, make_call
from tests.support.processes import start_function
from tests.support.sales import sale, sale_at
from tests.support.waiting import PATIENCE, until

pytestmark = pytest.mark.anyio

CARD = "4111111111111111"
SALE = sale("crashed", cvv="999")
SELL = """gateway.transactions.create(TransactionCreate(action="sale", transaction_amount="12.50",
    account_number="4111111111111111", exp_date="1230", transaction_api_id="crashed"))"""
SELL_AT_TERMINAL = """gateway.router_transactions.create(RouterTransactionCreate(action="sale",
    transaction_amount="12.50", terminal_id=facts["terminal_id"], transaction_api_id="crashed"))"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the ledger is."""
    return tmp_path / "payments.db"


@contextmanager
def program(sandbox: Sandbox, path: Path, call: str, clock: float = 0) -> Iterator[None]:
    """A program that makes a call, and is killed when the test has seen enough; its clock is `clock` seconds ahead."""
    with start_function(make_call, facts_of(sandbox), str(path), call, clock) as process:
        process.wait_for("ready")
        yield


async def recover(sandbox: Sandbox, path: Path, **options: Any) -> list[tuple[Any, ...]]:
    """Return the outcomes that the next program recovers."""
    async with sandbox.gateway(ledger=SqliteLedger(path)) as gateway:
        found = await gateway.recover(**options)
    return [(each.resource, each.api_id, each.outcome, each.record and each.record.approved) for each in found]


def content(path: Path) -> bytes:
    """Return the content of a ledger's files."""
    return b"".join(each.read_bytes() for each in path.parent.iterdir())


async def open_intents(path: Path) -> int:
    """How many intents are open."""
    ledger = SqliteLedger(path)
    try:
        return len(await ledger.open_intents())
    finally:
        await ledger.aclose()


async def test_a_sale_that_was_charged_before_the_crash_is_found(sandbox: Sandbox, path: Path) -> None:
    sandbox.fault("POST /v2/transactions", "delay", seconds=30)
    with program(sandbox, path, SELL):
        await until(lambda: sandbox.ledger()["charged"])
    assert await recover(sandbox, path) == [("transactions", "crashed", "found", True)]
    assert sandbox.ledger()["charged"] == {"crashed": 1}
    assert await open_intents(path) == 0
    assert await recover(sandbox, path) == []


SELL_SLOWLY = SELL.replace("12.50", "8.03")
"""The sandbox waits three seconds before it charges 8.03."""


@pytest.mark.parametrize("clock", [0, 27, 3600, -48, -3600])
async def test_late_charge(sandbox: Sandbox, path: Path, clock: float) -> None:
    """However wrong the clock of the till was, the sale is in doubt long enough to be found."""
    sandbox.fault("POST /v2/transactions", "refuse", nth=1000)  # it only counts requests
    with program(sandbox, path, SELL_SLOWLY, clock):
        await until(lambda: sandbox.faults()[0]["seen"])
    async with sandbox.gateway(ledger=SqliteLedger(path), in_doubt_seconds=20) as gateway:
        assert [each.outcome for each in await gateway.recover(wait=0)] == ["unknown"]
        assert [each.outcome for each in await gateway.recover()] == ["found"]
    assert sandbox.ledger()["charged"] == {"crashed": 1}


async def test_unsent_sale(sandbox: Sandbox, path: Path) -> None:
    """Its process was killed before the gateway had the request; no other process has the ledger open."""
    sandbox.fault("POST /v2/transactions", "reset_before_commit", times=100)
    with program(sandbox, path, SELL):
        await until(lambda: sandbox.faults()[0]["affected"])
    sandbox.clear_faults()
    async with sandbox.gateway(ledger=SqliteLedger(path), in_doubt_seconds=2) as gateway:
        assert [each.outcome for each in await gateway.recover(wait=0)] == ["unknown"]
        assert [each.outcome for each in await gateway.recover()] == ["not_made"]
    assert sandbox.ledger()["charged"] == {}


async def test_terminal_sale(sandbox_by_hand: Sandbox, path: Path) -> None:
    """The customer is still at the terminal: first the outcome is unknown, then the payment is found."""
    box = sandbox_by_hand
    with program(box, path, SELL_AT_TERMINAL):
        await until(lambda: box.terminals()[0]["waiting"])
    assert await recover(box, path, wait=0) == [("router_transactions", "crashed", "unknown", None)]
    box.present()
    assert await recover(box, path) == [("router_transactions", "crashed", "found", True)]
    assert box.ledger()["charged"] == {"crashed": 1}


async def test_two_programs(sandbox: Sandbox, path: Path) -> None:
    """Two programs that recover at once learn the same, or one comes too late to learn anything."""
    sandbox.fault("POST /v2/transactions", "delay", seconds=30)
    with program(sandbox, path, SELL):
        await until(lambda: sandbox.ledger()["charged"])
    found: list[tuple[Any, ...]] = []

    async def recover_too() -> None:
        found.extend(await recover(sandbox, path))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(recover_too)
        tasks.start_soon(recover_too)
    assert set(found) == {("transactions", "crashed", "found", True)}
    assert await open_intents(path) == 0


async def test_file_content(sandbox: Sandbox, path: Path) -> None:
    """The file has not a digit more than the last four of any account, nor a name, nor have those beside it."""
    async with sandbox.gateway(ledger=SqliteLedger(path)) as gateway:
        paid = await gateway.transactions.create(SALE)
        await gateway.transactions.void(paid.id)
        await _store_everything(gateway, sandbox)
        written = content(path)
    written += content(path)
    assert b"crashed" in written
    hidden = (CARD, CARD[:6], CARD[6:12], "072000326", "4637551", "5454545454545454", "Planted", "PLANTED")
    assert [text for text in hidden if text.encode() in written] == []


async def _store_everything(gateway: AsyncGateway, sandbox: Sandbox) -> None:
    """A stored account of each kind that has card data, and a payment at a terminal."""
    await gateway.account_vaults.create(
        CardVaultCreate(account_number=CARD, exp_date="1230", account_holder_name="Planted", ssn4="8264")
    )
    await gateway.account_vaults.create(SwipedVaultCreate(track_data="%B5454545454545454^PLANTED/P^30121010000?"))
    await gateway.account_vaults.create(
        AchVaultCreate(
            account_number="4637551",
            routing="072000326",
            account_type="checking",
            account_holder_name="Planted",
            is_company=False,
        )
    )
    await gateway.router_transactions.create(sale_at(sandbox.terminal_id))
    await gateway.router_account_vaults.create(
        RouterAccountVaultCreate(terminal_id=sandbox.terminal_id, contact_id=sandbox.contact_id)
    )


async def test_settlement_and_capture(sandbox: Sandbox, path: Path) -> None:
    """After a lost response and a crash, the records show that both were done."""
    async with sandbox.gateway() as gateway:
        reserved = await gateway.transactions.create(sale(action="authonly"))
    sandbox.fault("PUT /v2/transactions/{id}", "delay", seconds=30)
    with program(sandbox, path, f'gateway.transactions.complete("{reserved.id}", "9.00")'):
        await until(lambda: [each for each in sandbox.ledger()["transactions"] if each["status_id"] == 101])
    sandbox.fault("POST /v2/transactionbatches/{id}/settle", "delay", seconds=30)
    async with sandbox.gateway() as gateway:
        batch = await gateway.transaction_batches.list({"is_open": True}).first()
        assert batch
        with program(sandbox, path, f'gateway.transaction_batches.settle("{batch.id}")'):
            with anyio.fail_after(PATIENCE):
                while (await gateway.transaction_batches.get(batch.id)).is_open:
                    await anyio.sleep(0.02)
    async with sandbox.gateway(ledger=SqliteLedger(path)) as gateway:
        found = await gateway.recover()
    assert [(each.resource, each.outcome, each.record.id) for each in found] == [
        ("transactions", "found", reserved.id),
        ("transaction_batches", "found", batch.id),
    ]
