"""The cost of a ledger: store cards with and without one, against a sandbox in another process.

Many short rounds of both alternate on the same gateway, so that other load on the machine affects both. Only the ratio
is meaningful; it should stay above 0.9.

    python benchmarks/ledger.py
"""

import argparse
import asyncio
import contextlib
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sandbox_process import client_of, sandbox_process

from gateway_async import AsyncGateway, CardVaultCreate, SqliteLedger

CARD = CardVaultCreate(account_number="4111111111111111", exp_date="1230")


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


async def measure(facts: dict[str, Any], path: Path, options: argparse.Namespace) -> dict[str, list[float]]:
    """Measure the stores per second without and with a ledger."""
    rates: dict[str, list[float]] = {"without": [], "with": []}
    async with client_of(facts) as plain, client_of(facts, ledger=SqliteLedger(path)) as kept:
        gateways = {"without": plain, "with": kept}
        for gateway in gateways.values():
            await store(gateway, options.at_once * 4, options.at_once)
        for number in range(options.rounds):
            for name in sorted(gateways, reverse=number % 2 == 0):
                rates[name].append(await store(gateways[name], options.calls, options.at_once))
    return rates


@contextlib.contextmanager
def ledger_path() -> Iterator[Path]:
    """Make a path on a real disk.

    A system temporary folder may be in memory, where a sync costs nothing.
    """
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".ledger-") as folder:
        yield Path(folder, "payments.db")


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=15, help="how often each is measured")
    options.add_argument("--calls", type=int, default=1200, help="cards stored in one round")
    options.add_argument("--at-once", type=int, default=64, help="calls under way at once")
    given = options.parse_args()
    with sandbox_process() as facts, ledger_path() as path:
        rates = asyncio.run(measure(facts, path, given))
    middle = {name: statistics.median(rows) for name, rows in rates.items()}
    ratios = [kept / plain for kept, plain in zip(rates["with"], rates["without"], strict=True)]
    for name, rows in rates.items():
        print(f"{name:8} {middle[name]:7.0f} stores/s  ({min(rows):.0f} to {max(rows):.0f})")
    print(f"ratio    {middle['with'] / middle['without']:7.2f}  (median of the pairs: {statistics.median(ratios):.2f})")


if __name__ == "__main__":
    main()
