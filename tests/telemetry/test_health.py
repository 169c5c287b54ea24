"""`gateway.health()`: the load of a client while calls run, and its unknown outcomes."""

from pathlib import Path

import anyio
import pytest

from gateway_async import OutcomeUnknownError, RouterTransactionCreate, SqliteLedger
from gateway_async.sandbox import Sandbox
from gateway_async.telemetry import Health, PoolUse
from tests.support.scripted_transport import LOST, SALE, Script, error_of
from tests.support.waiting import until

pytestmark = pytest.mark.anyio


async def test_nothing_is_in_use_before_the_first_call(sandbox: Sandbox) -> None:
    async with sandbox.gateway(max_connections=7, max_terminals=5) as gateway:
        assert gateway.health() == Health(
            ordinary=PoolUse(in_use=0, waiting=0, limit=7),
            terminal=PoolUse(in_use=0, waiting=0, limit=5),
            terminal_queues={},
            retries_left=100,
            recorded_calls=0,
            unknown_outcomes=0,
        )


async def test_terminal_calls(sandbox_by_hand: Sandbox, tmp_path: Path) -> None:
    """One call has the terminal, a connection and an intent; the other one waits in the queue."""
    box = sandbox_by_hand
    ledger = SqliteLedger(tmp_path / "payments.db")
    new = RouterTransactionCreate(action="sale", terminal_id=box.terminal_id, transaction_amount="12.50")
    async with box.gateway(ledger=ledger) as gateway, anyio.create_task_group() as tasks:
        for _ in range(2):
            tasks.start_soon(gateway.router_transactions.create, new)
        await box.await_call()
        health = gateway.health()
        for _ in range(2):
            await box.await_call()
            box.present()
    assert health.terminal_queues == {box.terminal_id: 2}
    assert health.terminal is not None
    assert (health.terminal.in_use, health.recorded_calls) == (1, 1)


async def test_calls_that_wait_for_a_connection_are_counted(sandbox: Sandbox) -> None:
    sandbox.fault("GET /v2/contacts/{id}", "delay", seconds=0.3)
    async with sandbox.gateway(max_connections=1) as gateway, anyio.create_task_group() as tasks:
        for _ in range(2):
            tasks.start_soon(gateway.contacts.get, sandbox.contact_id)
        await until(lambda: gateway.health().ordinary == PoolUse(in_use=1, waiting=1, limit=1))


async def test_shared_counts() -> None:
    """The client and its views share the counts; another transport has no pools."""
    async with Script(post=[LOST], get=[LOST]).gateway() as gateway:
        await error_of(gateway.with_options(timeout=1).transactions.create(SALE), OutcomeUnknownError)
        health = gateway.health()
        assert health == gateway.with_options(timeout=5).health()
    assert (health.unknown_outcomes, health.ordinary, health.terminal) == (1, None, None)
