"""The three ways in which a wait at a terminal ends without an approval, and what the next customer meets."""

from pathlib import Path
from typing import Any

import anyio
import pytest

from gateway_async import AsyncGateway, OutcomeUnknownError, SqliteLedger, Transaction, ValidationError
from gateway_async.observe import Event, OutcomeLookedUp, TerminalProgress
from gateway_async.sandbox import Sandbox
from tests.support.outcomes import resolved
from tests.support.sales import sale_at
from tests.support.waiting import until

pytestmark = pytest.mark.anyio


async def sell(gateway: AsyncGateway, box: Sandbox, name: str, **options: Any) -> Transaction:
    """Make a sale at the terminal of a sandbox, under an id."""
    return await gateway.router_transactions.create(sale_at(box.terminal_id, name), **options)


async def test_cancelled_sale(sandbox_by_hand: Sandbox) -> None:
    """Cancel on the device ends the call with a declined transaction that says why, and frees the terminal."""
    box = sandbox_by_hand
    async with box.gateway() as gateway, anyio.create_task_group() as tasks:

        async def customer() -> None:
            pressed = await sell(gateway, box, "pressed")
            assert (pressed.declined, pressed.verbiage) == (True, "CANCELLED")
            assert (await sell(gateway, box, "next")).approved

        tasks.start_soon(customer)
        await box.await_call()
        box.cancel()
        await box.await_call()
        box.present()
    assert box.ledger()["charged"] == {"next": 1}


async def test_timeout(sandbox_by_hand: Sandbox) -> None:
    """A customer who pays while the client is looking it up is charged once, and that is the result."""
    box, shown = sandbox_by_hand, list[TerminalProgress]()
    async with box.gateway(terminal_timeout=0.5) as gateway, anyio.create_task_group() as tasks:

        async def customer() -> None:
            assert (await sell(gateway, box, "late", on_progress=shown.append)).approved

        tasks.start_soon(customer)
        await until(lambda: shown and shown[-1].state == "looking up")
        box.present()
    assert box.ledger()["charged"] == {"late": 1}


@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # ten seconds of real time are enough once
async def test_unknown_timeout(sandbox_by_hand: Sandbox) -> None:
    """Neither the wait nor the lookup finds the outcome; later `resolve()` does."""
    box = sandbox_by_hand
    async with box.gateway(terminal_timeout=0.5) as gateway:
        with pytest.raises(OutcomeUnknownError) as caught:
            await sell(gateway, box, "doubtful")
        box.present()
        assert (await resolved(caught.value, Transaction)).approved
    assert box.ledger()["charged"] == {"doubtful": 1}


async def test_cancelled_task(sandbox_by_hand: Sandbox) -> None:
    """The device still shows the sale: the next one waits until cancel is pressed there, and is charged alone."""
    box, events, shown = sandbox_by_hand, list[Event](), list[TerminalProgress]()
    async with box.gateway(observers=[events.append]) as gateway:
        await cancel_in_its_wait(gateway, box)
        (lookup,) = [event for event in events if isinstance(event, OutcomeLookedUp)]
        assert (lookup.api_id, lookup.outcome, lookup.cancelled) == ("cancelled", "not found", True)
        async with anyio.create_task_group() as tasks:

            async def customer() -> None:
                assert (await sell(gateway, box, "next", on_progress=shown.append)).approved

            tasks.start_soon(customer)
            await until(lambda: shown and shown[-1].state == "looking up")
            assert [each["amount"] for each in box.terminals()[0]["waiting"]] == ["12.50"]
            box.cancel()
            await until(lambda: shown and shown[-1].state == "at the terminal")
            await box.await_call()
            box.present()
    assert box.ledger()["charged"] == {"next": 1}


async def test_known_sales(sandbox: Sandbox, tmp_path: Path) -> None:
    """One sale after the other with a ledger: a decline, a refusal and a lost response are all recorded."""
    sandbox.fault("POST /v2/routertransactions", "close_after_commit", nth=2)
    async with sandbox.gateway(ledger=SqliteLedger(tmp_path / "till.db")) as gateway:
        assert (await sell(gateway, sandbox, "first")).approved
        assert (await sell(gateway, sandbox, "lost")).approved
        with pytest.raises(ValidationError):
            await sell(gateway, sandbox, "first")
        assert (await sell(gateway, sandbox, "last")).approved
        assert await gateway.recover() == []


async def cancel_in_its_wait(gateway: AsyncGateway, box: Sandbox) -> None:
    """Cancel the sale `cancelled` while the customer is at the terminal."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(sell, gateway, box, "cancelled")
        await box.await_call()
        tasks.cancel_scope.cancel()
