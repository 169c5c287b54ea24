"""The cost of a ledger: store cards with and without one, against a sandbox in another process.

    python benchmarks/ledger.py --rounds 3 --calls 300

Many short rounds of both alternate, so that other load on the machine affects both.
"""

import asyncio
import contextlib
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from comparison import Goal, Row, beside, run
from sandbox_process import client_of, sandbox_process

from gateway_async import AsyncGateway, CardVaultCreate, SqliteLedger

CARD: Final = CardVaultCreate(account_number="4111111111111111", exp_date="1230")
GOAL: Final = Goal(0.93, at_least=True)


async def store(gateway: AsyncGateway, calls: int, at_once: int) -> float:
    """Store cards with `at_once` workers, and return the stores per second."""
    remaining = iter(range(calls))

    async def worker() -> None:
        for _ in remaining:
            await gateway.account_vaults.create(CARD)

    started = time.perf_counter()
    async with asyncio.TaskGroup() as workers:
        for _ in range(at_once):
            workers.create_task(worker())
    return calls / (time.perf_counter() - started)


async def measure(facts: dict[str, Any], path: Path, rounds: int, calls: int, at_once: int) -> dict[str, list[float]]:
    """Measure the stores per second without and with a ledger."""
    rates: dict[str, list[float]] = {"without": [], "with": []}
    async with client_of(facts) as plain, client_of(facts, ledger=SqliteLedger(path)) as kept:
        gateways = {"without": plain, "with": kept}
        for gateway in gateways.values():
            await store(gateway, at_once * 4, at_once)
        for number in range(rounds):
            for name in sorted(gateways, reverse=number % 2 == 0):
                rates[name].append(await store(gateways[name], calls, at_once))
    return rates


@contextlib.contextmanager
def ledger_path() -> Iterator[Path]:
    """Make a path on a real disk.

    A system temporary folder may be in memory, where a sync costs nothing.
    """
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".ledger-") as folder:
        yield Path(folder, "payments.db")


def main(rounds: int = 15, calls: int = 1000, at_once: int = 64) -> list[Row]:
    """Measure both; return their comparison."""
    with sandbox_process() as facts, ledger_path() as path:
        rates = asyncio.run(measure(facts, path, rounds, calls, at_once))
    return [beside("store cards with a ledger", "1/s", rates["with"], "no ledger", rates["without"], GOAL)]


if __name__ == "__main__":
    run(main)
