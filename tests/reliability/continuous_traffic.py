"""`ContinuousTraffic`: writes until it is stopped, whose outcomes are compared with the effects at the gateway."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from itertools import count as numbers
from typing import Any, Final

import anyio
import attrs

from gateway_async import AsyncGateway, GatewayError, OutcomeUnknownError
from tests.reliability.condition import Result
from tests.support.sales import NEW_CARD, sale

OPTIONS: Final[dict[str, Any]] = {"timeout": 5.0, "in_doubt_seconds": 1.0, "max_attempts": 10}
"""Options of a client whose outcomes do not stay in doubt for long."""

_SENDERS: Final = 8
_PAUSE_SECONDS: Final = 0.01
_POLL_SECONDS: Final = 0.001

Send = Callable[[AsyncGateway, str], Awaitable[object]]


async def send_sale(gateway: AsyncGateway, name: str) -> object:
    """Charge a card under an integrator id."""
    return await gateway.transactions.create(sale(name, "1.00"))


async def send_either(gateway: AsyncGateway, name: str) -> object:
    """Charge a card, or store one."""
    if int(name[1:]) % 2:
        return await gateway.account_vaults.create(attrs.evolve(NEW_CARD, account_vault_api_id=name))
    return await send_sale(gateway, name)


class ContinuousTraffic:
    """Sends writes in several tasks, each under its own integrator id.

    Args:
        gateway: the client.
        send: sends one write.

    Attributes:
        outcomes: integrator id → "done", "unknown" or "not made".
        done: the number of writes that were acknowledged.
    """

    def __init__(self, gateway: AsyncGateway, send: Send = send_either) -> None:
        self.outcomes: dict[str, str] = {}
        self.done = 0
        self._gateway = gateway
        self._send = send
        self._numbers = numbers()
        self._is_stopped = False
        self._unknown: dict[str, OutcomeUnknownError] = {}

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Send writes during a block, then wait for those in progress, and look up the unknown ones."""
        async with anyio.create_task_group() as tasks:
            for _ in range(_SENDERS):
                tasks.start_soon(self._send_until_stopped)
            try:
                yield
            finally:
                self._is_stopped = True
        for name, error in self._unknown.items():
            with suppress(OutcomeUnknownError):
                self.outcomes[name] = "not made" if await error.resolve() is None else "done"

    async def wait_for(self, number: int) -> None:
        """Wait until so many more writes are acknowledged."""
        wanted = self.done + number
        while self.done < wanted:
            await anyio.sleep(_POLL_SECONDS)

    def compare(self, times: Mapping[str, int], count: int) -> Result:
        """Compare the outcomes with the effects: integrator id → how often it was charged or stored."""
        known = {name: outcome == "done" for name, outcome in self.outcomes.items() if outcome != "unknown"}
        return Result(
            count=count,
            double=sum(number - 1 for number in times.values()),
            lost=sum((name in times) != is_made for name, is_made in known.items()),
            unknown=len(self.outcomes) - len(known),
        )

    async def _send_until_stopped(self) -> None:
        while not self._is_stopped:
            name = f"w{next(self._numbers)}"
            self.outcomes[name] = "unknown"
            try:
                await self._send(self._gateway, name)
            except OutcomeUnknownError as error:
                self._unknown[name] = error
            except GatewayError:
                self.outcomes[name] = "not made"
                await anyio.sleep(_PAUSE_SECONDS)
            else:
                self.outcomes[name] = "done"
                self.done += 1
