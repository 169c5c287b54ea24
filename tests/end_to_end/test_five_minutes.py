"""The longest wait that the contract knows, for once in real time; run with `pytest -m slow`."""

import time

import anyio
import pytest

from gateway_async.sandbox import Sandbox
from tests.support.sales import sale_at

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.timeout(360)]

SECONDS = 299.0


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_late_card() -> None:
    """The connection is silent for five minutes, other calls go on beside it, and the sale is approved."""
    with Sandbox(terminals="manual") as sandbox:
        async with sandbox.gateway() as gateway:
            began = time.monotonic()
            approved: list[bool] = []

            async def sell() -> None:
                approved.append((await gateway.router_transactions.create(sale_at(sandbox.terminal_id))).approved)

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(sell)
                while time.monotonic() - began < SECONDS - 1:
                    await gateway.contacts.get(sandbox.contact_id)
                    await anyio.sleep(1)
                await anyio.sleep(SECONDS - (time.monotonic() - began))
                sandbox.present(card="4111111111111111")
            waited = time.monotonic() - began
            charged = sum(sandbox.ledger()["charged"].values())
    assert (approved, charged) == ([True], 1)
    assert waited == pytest.approx(SECONDS, abs=0.5)
