"""Thousands of terminal calls that wait: their memory, and what they do to the event loop, beside aiohttp.

    pip install -e '.[benchmarks]'
    python benchmarks/terminals.py --waiting 2000 --rounds 1

Each round is a process of its own for each client. It measures:

- the time until the server has received all calls, and the memory that each adds to the process
- how late the event loop wakes up, while all calls wait and while all responses arrive at once
- ordinary calls, one after the other: before, while and after the terminal calls wait
"""

import asyncio
import gc
import json
import statistics
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import ProcessPoolExecutor
from contextlib import asynccontextmanager
from multiprocessing import get_context
from typing import Any, Final

import aiohttp
from comparison import Goal, Row, alone, beside, run
from cores import pin_client
from sandbox_process import resident_kib
from server import CONTACT, HEADERS, READ, SECONDS, allow_many_connections, gateway_at, serving

from gateway_async import RouterTransactionCreate

OURS: Final = "gateway_async"
PEER: Final = "aiohttp"
PAUSE: Final = 0.005
"""Seconds between two looks at the event loop's delay."""

IDLE_SECONDS: Final = 1.0
MEMORY_GOAL: Final = Goal(16)
ISSUE_GOAL: Final = Goal(2)
IDLE_GOAL: Final = Goal(50)
DRAIN_GOAL: Final = Goal(250)
BESIDE_GOAL: Final = Goal(1.3)

Sell = Callable[[int], Coroutine[Any, Any, object]]
Read = Callable[[], Coroutine[Any, Any, object]]
Figures = dict[str, float]


@asynccontextmanager
async def ours(url: str, waiting: int) -> AsyncIterator[tuple[Sell, Read]]:
    """Open the client of this package; yield a terminal call and an ordinary one."""
    async with gateway_at(url, max_terminals=waiting) as gateway:

        def sell(number: int) -> Coroutine[Any, Any, object]:
            new = RouterTransactionCreate(action="sale", terminal_id=f"terminal-{number}", transaction_amount="12.50")
            return gateway.router_transactions.create(new)

        yield sell, lambda: gateway.contacts.get(CONTACT["id"])


@asynccontextmanager
async def with_aiohttp(url: str, _waiting: int) -> AsyncIterator[tuple[Sell, Read]]:
    """Open an aiohttp session without a limit of connections; yield a terminal call and an ordinary one."""
    no_limit, timeout = aiohttp.TCPConnector(limit=0), aiohttp.ClientTimeout(SECONDS)
    async with aiohttp.ClientSession(url, headers=HEADERS, timeout=timeout, connector=no_limit) as session:

        async def sell(number: int) -> object:
            new = {"action": "sale", "terminal_id": f"terminal-{number}", "transaction_amount": "12.50"}
            async with session.post("/v2/routertransactions", json={"routertransaction": new}) as response:
                return json.loads(await response.read())

        async def read() -> object:
            async with session.get(READ) as response:
                return json.loads(await response.read())

        yield sell, read


OPEN: Final = {OURS: ours, PEER: with_aiohttp}


class LoopDelay:
    """Records how late the event loop wakes a sleeping task."""

    def __init__(self) -> None:
        self.longest = 0.0

    async def watch(self) -> None:
        """Sleep again and again, until cancelled."""
        while True:
            began = time.perf_counter()
            await asyncio.sleep(PAUSE)
            self.longest = max(self.longest, time.perf_counter() - began - PAUSE)

    def take(self) -> float:
        """Return the longest delay since the last look, in milliseconds."""
        longest, self.longest = self.longest, 0.0
        return longest * 1000


async def read_times(read: Read, calls: int) -> list[float]:
    """Make ordinary calls one after the other; return their seconds."""
    times = []
    for _ in range(calls):
        began = time.perf_counter()
        await read()
        times.append(time.perf_counter() - began)
    return times


def p99(times: list[float]) -> float:
    """Return the time that 99 of 100 calls do not exceed."""
    return statistics.quantiles(times, n=100)[98]


async def measure(url: str, name: str, waiting: int, calls: int) -> Figures:
    """Measure one client."""
    figures: Figures = {}
    async with OPEN[name](url, waiting) as (sell, read), aiohttp.ClientSession(url) as control:
        await sell_one(sell, control)  # imports and caches are not what is measured
        await read_times(read, calls)
        before = await read_times(read, calls)
        gc.collect()
        memory, began = resident_kib(), time.perf_counter()
        tasks = [asyncio.create_task(sell(number)) for number in range(waiting)]
        await control.get(f"/waiting/{waiting}")
        figures["issued"] = time.perf_counter() - began
        gc.collect()
        figures["memory"] = (resident_kib() - memory) / waiting
        during = await read_times(read, calls)
        delay = LoopDelay()
        watching = asyncio.create_task(delay.watch())
        await asyncio.sleep(IDLE_SECONDS)
        figures["idle"], began = delay.take(), time.perf_counter()
        await control.get("/go")
        await asyncio.gather(*tasks)
        figures["drained"] = time.perf_counter() - began
        await asyncio.sleep(PAUSE * 2)
        figures["draining"] = delay.take()
        watching.cancel()
        after = await read_times(read, calls)
    figures["alone"] = p99(before + after) * 1000
    figures["beside"] = p99(during) * 1000
    return figures


async def sell_one(sell: Sell, control: aiohttp.ClientSession) -> None:
    """Make one terminal call."""
    task = asyncio.create_task(sell(0))
    await control.get("/waiting/1")
    await control.get("/go")
    await task


def measure_in_process(url: str, name: str, waiting: int, calls: int) -> Figures:
    """Measure one client in this process."""
    allow_many_connections()
    pin_client()
    return asyncio.run(measure(url, name, waiting, calls))


def rows_of(figures: dict[str, list[Figures]], waiting: int) -> list[Row]:
    """Compare our figures with those of aiohttp."""

    def both(key: str) -> tuple[list[float], str, list[float]]:
        return [each[key] for each in figures[OURS]], PEER, [each[key] for each in figures[PEER]]

    def own(key: str) -> list[float]:
        return [each[key] for each in figures[OURS]]

    title = f"{waiting} terminals"
    return [
        alone(f"{title}: memory of each", "KiB", own("memory"), MEMORY_GOAL),
        beside(f"{title}: memory of each", "KiB", *both("memory")),
        beside(f"{title}: time to issue", "s", *both("issued"), ISSUE_GOAL),
        beside(f"{title}: time to drain", "s", *both("drained")),
        alone(f"{title}: loop delay, idle", "ms", own("idle"), IDLE_GOAL),
        alone(f"{title}: loop delay, draining", "ms", own("draining"), DRAIN_GOAL),
        beside(f"{title}: loop delay, draining", "ms", *both("draining")),
        beside("p99 of reads at that time", "ms", own("beside"), "reads alone", own("alone"), BESIDE_GOAL),
    ]


def main(rounds: int = 3, waiting: int = 5000, calls: int = 1000) -> list[Row]:
    """Measure both clients; return the comparisons."""
    figures: dict[str, list[Figures]] = defaultdict(list)
    fresh = ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1)
    with serving() as url, fresh:
        for _ in range(rounds):
            for name in OPEN:
                figures[name].append(fresh.submit(measure_in_process, url, name, waiting, calls).result())
    return rows_of(figures, waiting)


if __name__ == "__main__":
    run(main)
