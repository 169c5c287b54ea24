"""The scenario that the crash tests of the table kill: sales beside each other, each followed by another."""

import os

import anyio

from gateway_async import AsyncGateway
from gateway_async.sandbox import Sandbox
from tests.crash_testing.scenarios import sale
from tests.reliability.worker_protections import WITHOUT, switch_off

_TASKS = 4
_SALES = 4
_SECONDS = 0.02


async def sell(gateway: AsyncGateway) -> None:
    """Make sixteen sales, four at a time."""
    with switch_off(os.environ.get(WITHOUT, "")):
        async with anyio.create_task_group() as tasks:
            for _ in range(_TASKS):
                tasks.start_soon(_sell_again, gateway)


async def _sell_again(gateway: AsyncGateway) -> None:
    for _ in range(_SALES):
        await sale(gateway)


def respond_late(sandbox: Sandbox) -> None:
    """Plan that each sale is made at once and answered later, so that most kills come in between."""
    sandbox.fault("POST /v2/transactions", "delay", times=_TASKS * _SALES, seconds=_SECONDS)
