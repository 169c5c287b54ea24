"""A long migration under faults: its memory over time, and the duplicates and losses in the sandbox's ledger.

    python benchmarks/long_migration.py --rows 200000

It ends with an error if a card was stored twice or lost.
"""

import argparse
import asyncio
from pathlib import Path
from typing import Any, Final

from cards import cards, journal_folder
from sandbox_process import client_of, control, resident_kib, sandbox_process

from gateway_async.migration.migrate import migrate_vaults
from gateway_async.migration.report import Report

STORE: Final = "POST /v2/accountvaults"
FAULTS: Final = (
    *("reset_before_commit", "reset_after_commit", "close_after_commit", "error_before_commit", "error_after_commit"),
    *("cut_body", "duplicate_response", "wrong_response", "wrong_length", "unavailable", "garbage", "html", "empty"),
)
"""The faults that lose or damage a response. The other faults are delays and would measure only those."""

MIB: Final = 1024
SAMPLES: Final = 20


def plan_faults(facts: dict[str, Any], share: float) -> None:
    """Plan faults for a share of the stores, spread over all faults."""
    control(facts, "DELETE", "faults")
    for seed, fault in enumerate(FAULTS):
        plan = {"operation": STORE, "fault": fault, "probability": share / len(FAULTS), "seed": seed}
        control(facts, "POST", "faults", plan)


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


def main() -> None:
    """Migrate, print and check."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", type=int, default=20_000, help="cards to store")
    options.add_argument("--at-once", type=int, default=64, help="calls under way at once")
    options.add_argument("--faults", type=float, default=0.01, help="the share of stores that go wrong")
    given = options.parse_args()
    with journal_folder() as folder, sandbox_process() as facts:
        plan_faults(facts, given.faults)
        report, memory = asyncio.run(migrate(facts, folder, given))
        print(f"{given.rows} rows in {report.seconds:.0f} s, {given.rows / report.seconds:.0f} stores/s")
        print("memory:", ", ".join(f"{kib // MIB} MiB at {rows}" for rows, kib in memory.seen))
        is_right = check(facts, given.rows, report)
    raise SystemExit(0 if is_right else 1)


if __name__ == "__main__":
    main()
