"""Lists that change while they are read: a program captures each hold that it lists, others void and add holds."""

import random
from collections import Counter
from typing import Final

import anyio
import anyio.lowlevel

from gateway_async import AsyncGateway, GatewayError, StatusError, TransactionStatus
from gateway_async.sandbox import Sandbox
from tests.reliability import protections
from tests.reliability.condition import Condition, Result
from tests.support.sales import sale

_HOLD: Final = sale(None, "1.00", "authonly")
_IN_ROUND: Final = 60
"""Holds at the start of each round."""

_PAGE_SIZES: Final = (1, 7, 10, 25)
_CREATES_AT_ONCE: Final = 20


class _Holds:
    """The holds of one round, and what happened to them."""

    def __init__(self, gateway: AsyncGateway, seed: int) -> None:
        self._gateway = gateway
        self._random = random.Random(seed)  # noqa: S311
        self.listed: list[str] = []
        self.first: set[str] = set()
        self.voided: set[str] = set()
        self.captured = Counter[str]()

    async def create(self, count: int) -> None:
        """Create the holds that are listed from the beginning."""
        left = iter(range(count))

        async def work() -> None:
            for _ in left:
                await self._add()

        async with anyio.create_task_group() as tasks:
            for _ in range(_CREATES_AT_ONCE):
                tasks.start_soon(work)
        self.first = {*self.listed}

    async def _add(self) -> None:
        self.listed.append((await self._gateway.transactions.create(_HOLD)).id)

    async def capture_all(self, page_size: int, sort: str) -> None:
        """Capture each hold that the list yields, while others change the list."""
        filters = {"status_id": TransactionStatus.AUTH_ONLY}
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._change)
            async for hold in self._gateway.transactions.list(filters, sort=sort, page_size=page_size):
                self.captured[hold.id] += 1
                try:
                    await self._gateway.transactions.complete(hold.id)
                except StatusError:  # it was voided since the page was read
                    self.captured[hold.id] -= hold.id not in self.voided
            tasks.cancel_scope.cancel()

    async def _change(self) -> None:
        """Void and add holds."""
        for _ in range(_IN_ROUND // 3):
            waiting = [name for name in self.listed if name not in self.captured and name not in self.voided]
            if waiting and self._random.random() < 0.6:
                name = self._random.choice(waiting)
                self.voided.add(name)
                try:
                    await self._gateway.transactions.void(name)
                except GatewayError:  # it was captured meanwhile
                    self.voided.discard(name)
            else:
                await self._add()


def _apply(count: int) -> Result:
    """Capture so many holds, in rounds with different page sizes and orders."""
    with Sandbox() as sandbox:
        return anyio.run(_capture_rounds, sandbox, count)


async def _capture_rounds(sandbox: Sandbox, count: int) -> Result:
    captured = double = lost = 0
    async with sandbox.gateway() as gateway:
        for number in range(-(-count // _IN_ROUND)):
            holds = _Holds(gateway, seed=number)
            await holds.create(_IN_ROUND)
            size, sort = _PAGE_SIZES[number % len(_PAGE_SIZES)], ("created_ts", "-created_ts", "id")[number % 3]
            await holds.capture_all(size, sort)
            captured += sum(holds.captured.values())
            double += sum(times > 1 for times in holds.captured.values())
            lost += len([name for name in holds.first - holds.voided if not holds.captured[name]])
            async for hold in gateway.transactions.list({"status_id": TransactionStatus.AUTH_ONLY}):
                await gateway.transactions.void(hold.id)  # those that were added behind the reader
    return Result(count=captured, double=double, lost=lost)


LIST_CONDITIONS: Final = (
    Condition(
        key="changing-lists",
        text="a program captures each hold that it lists, while others void and add holds",
        count=6_000,
        short_count=240,
        run=_apply,
        protections={"overlapping-pages": protections.overlapping_pages},
    ),
)
