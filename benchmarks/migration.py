"""The cost of a migration: store cards by `migrate_vaults`, beside a bare loop without a journal.

    python benchmarks/migration.py --rounds 3 --calls 500

Both send the same requests, with separate clients, to a sandbox in another process. Short rounds of both alternate, so
that other load on the machine affects both.
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Final

from cards import cards, journal_folder
from comparison import Goal, Row, beside, run
from sandbox_process import client_of, sandbox_process

from gateway_async import AsyncGateway, CardVaultCreate, GatewayError
from gateway_async.migration.migrate import migrate_vaults

GOAL: Final = Goal(0.95, at_least=True)

Store = Callable[[Sequence[CardVaultCreate]], Awaitable[object]]


async def loop_bare(gateway: AsyncGateway, requests: Sequence[CardVaultCreate], at_once: int) -> None:
    """Store cards without a journal, by a fixed number of workers."""
    remaining = iter(requests)

    async def worker() -> None:
        for request in remaining:
            with contextlib.suppress(GatewayError):
                await gateway.account_vaults.create(request)

    async with asyncio.TaskGroup() as workers:
        for _ in range(at_once):
            workers.create_task(worker())


async def stores_per_second(store: Store, requests: Sequence[CardVaultCreate]) -> float:
    """Store cards, and return how many were stored per second."""
    started = time.perf_counter()
    await store(requests)
    return len(requests) / (time.perf_counter() - started)


async def measure(facts: dict[str, Any], folder: Path, rounds: int, calls: int, at_once: int) -> dict[str, list[float]]:
    """Measure both ways in every round; the first round only warms up."""
    rates: dict[str, list[float]] = {"bare": [], "migrated": []}
    async with client_of(facts) as bare, client_of(facts) as migrated:
        for number in range(rounds + 1):
            journal = folder / f"{number}.journal"
            ways: dict[str, Store] = {
                "bare": lambda requests: loop_bare(bare, requests, at_once),
                "migrated": lambda requests, journal=journal: migrate_vaults(
                    migrated, requests, journal=journal, concurrency=at_once
                ),
            }
            for name in sorted(ways, reverse=number % 2 == 0):
                requests = list(cards(f"{name}-{number}", calls))
                rates[name].append(await stores_per_second(ways[name], requests))
    return {name: rates[name][1:] for name in rates}


def main(rounds: int = 7, calls: int = 3000, at_once: int = 64) -> list[Row]:
    """Measure both ways; return their comparison."""
    with journal_folder() as folder, sandbox_process() as facts:
        rates = asyncio.run(measure(facts, folder, rounds, calls, at_once))
    return [beside("migrate cards", "1/s", rates["migrated"], "bare loop", rates["bare"], GOAL)]


if __name__ == "__main__":
    run(main)
