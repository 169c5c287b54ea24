"""The cost of a migration: store cards by `migrate_vaults`, and by a bare loop without a journal.

Both send the same requests, with separate clients, to a sandbox in another process. Short rounds of both alternate, so
that other load on the machine affects both. Only the ratio is meaningful; it should stay above 0.9. Then one long
migration runs. Its memory over time is printed, and the duplicates and losses in the sandbox's ledger.

    python benchmarks/migration.py --rows 200000
"""

import argparse
import asyncio
import contextlib
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from sandbox_process import client_of, control, resident_kib, sandbox_process

from gateway_async import AsyncGateway, CardVaultCreate, GatewayError
from gateway_async.migration.migrate import migrate_vaults
from gateway_async.migration.report import Report

NUMBER: Final = "4111111111111111"
STORE: Final = "POST /v2/accountvaults"
FAULTS: Final = (
    *("reset_before_commit", "reset_after_commit", "close_after_commit", "error_before_commit", "error_after_commit"),
    *("cut_body", "double_answer", "swap_answer", "wrong_length", "unavailable", "garbage", "html", "empty"),
)
"""The faults that lose or damage a response. The other faults are delays and would measure only those."""

MIB: Final = 1024
SAMPLES: Final = 20


def cards(prefix: str, count: int) -> Iterator[CardVaultCreate]:
    """Generate `count` cards to store, each with an id."""
    for number in range(count):
        yield CardVaultCreate(account_number=NUMBER, exp_date="1230", account_vault_api_id=f"{prefix}-{number}")


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


class Contest:
    """Alternating rounds of both ways to store cards.

    Attributes:
        rates: the stores per second of every round, for each way.
    """

    def __init__(self, gateways: dict[str, AsyncGateway], folder: Path, options: argparse.Namespace) -> None:
        self._gateways = gateways
        self._folder = folder
        self._options = options
        self.rates: dict[str, list[float]] = {"bare": [], "migrated": []}

    async def run(self) -> None:
        """Run all rounds; the first of each only warms up."""
        for number in range(self._options.rounds + 1):
            for name in sorted(self.rates, reverse=number % 2 == 0):
                rate = await self._round(name, number)
                if number:
                    self.rates[name].append(rate)

    async def _round(self, name: str, number: int) -> float:
        requests = list(cards(f"{name}-{number}-{id(self):x}", self._options.calls))
        started = time.perf_counter()
        await (self._bare if name == "bare" else self._migrated)(requests)
        return len(requests) / (time.perf_counter() - started)

    async def _bare(self, requests: Sequence[CardVaultCreate]) -> None:
        await loop_bare(self._gateways["bare"], requests, self._options.at_once)

    async def _migrated(self, requests: Sequence[CardVaultCreate]) -> None:
        journal = self._folder / f"contest-{id(self):x}.journal"
        await migrate_vaults(self._gateways["migrated"], requests, journal=journal, concurrency=self._options.at_once)


def plan_faults(facts: dict[str, Any], share: float) -> None:
    """Plan faults for a share of the stores, spread over all faults."""
    control(facts, "DELETE", "faults")
    for seed, fault in enumerate(FAULTS):
        plan = {"operation": STORE, "fault": fault, "probability": share / len(FAULTS), "seed": seed}
        control(facts, "POST", "faults", plan)


async def contest(facts: dict[str, Any], folder: Path, options: argparse.Namespace) -> dict[str, list[float]]:
    """Measure the stores per second of both ways."""
    async with client_of(facts) as bare, client_of(facts) as migrated:
        both = Contest({"bare": bare, "migrated": migrated}, folder, options)
        await both.run()
    return both.rates


def print_ratio(title: str, rates: dict[str, list[float]]) -> None:
    """Print the rates, and their ratio to those of the bare loop."""
    ratios = [kept / plain for kept, plain in zip(rates["migrated"], rates["bare"], strict=True)]
    for name, rows in rates.items():
        print(f"{title}, {name:8} {statistics.median(rows):7.0f} stores/s  ({min(rows):.0f} to {max(rows):.0f})")
    print(f"{title}, ratio    {statistics.median(ratios):7.2f}  (median of the pairs)")


class Memory:
    """Samples of this process's memory while a migration runs."""

    def __init__(self, rows: int) -> None:
        self._every = max(1, rows // SAMPLES)
        self._next = 0
        self.seen: list[tuple[int, int]] = []

    def look(self, report: Report) -> None:
        """Take a sample at intervals of rows."""
        if report.rows >= self._next:
            self._next = report.rows + self._every
            self.seen.append((report.rows, resident_kib()))


async def migrate(facts: dict[str, Any], folder: Path, options: argparse.Namespace) -> tuple[Report, Memory]:
    """Run one migration of `options.rows` rows."""
    memory = Memory(options.rows)
    async with client_of(facts) as gateway:
        report = await migrate_vaults(
            gateway,
            cards("long", options.rows),
            journal=folder / "long.journal",
            concurrency=options.at_once,
            on_progress=memory.look,
        )
    return report, memory


def check(facts: dict[str, Any], rows: int, report: Report) -> bool:
    """Print the sandbox's counts, and return whether they are right."""
    stored: dict[str, int] = control(facts, "GET", "ledger")["stored"]
    long = {name: count for name, count in stored.items() if name.startswith("long-")}
    double, lost = sum(count > 1 for count in long.values()), rows - len(long)
    print(f"{report.stored} stored, {report.rejected} rejected, {report.unknown} unknown", end="; ")
    print(f"{report.failed_attempts} attempts failed")
    print(f"ledger: {len(long)} ids, {double} double, {lost} lost")
    return not double and not lost and report.stored == rows


@contextlib.contextmanager
def journal_folder() -> Iterator[Path]:
    """Make a folder on a real disk.

    A system temporary folder may be in memory, where a sync costs nothing.
    """
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".migration-") as folder:
        yield Path(folder)


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=7, help="how often each is measured")
    options.add_argument("--calls", type=int, default=4000, help="cards stored in one round")
    options.add_argument("--rows", type=int, default=20_000, help="cards of the long migration")
    options.add_argument("--at-once", type=int, default=64, help="calls under way at once")
    options.add_argument("--faults", type=float, default=0.01, help="the share of stores that go wrong")
    given = options.parse_args()
    with journal_folder() as folder:
        for title, share in (("no faults", 0.0), (f"{given.faults:.0%} faults", given.faults)):
            with sandbox_process() as facts:
                if share:
                    plan_faults(facts, share)
                print_ratio(title, asyncio.run(contest(facts, folder, given)))
        with sandbox_process() as facts:
            plan_faults(facts, given.faults)
            report, memory = asyncio.run(migrate(facts, folder, given))
            print(f"{given.rows} rows in {report.seconds:.0f} s, {given.rows / report.seconds:.0f} stores/s")
            print("memory:", ", ".join(f"{kib // MIB} MiB at {rows}" for rows, kib in memory.seen))
            is_right = check(facts, given.rows, report)
    raise SystemExit(0 if is_right else 1)


if __name__ == "__main__":
    main()
