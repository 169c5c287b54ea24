"""The cost and gain of Dask: one process and two workers store the same rows in a sandbox in another process.

Rounds of both alternate. On a machine with few cores, the sandbox and the workers share them, so two workers are hardly
faster than one process. Then compare the processor time for each row, which limits what one core can store, and the
cost of a shard.

    python benchmarks/migration_dask.py --postgres postgresql://postgres@127.0.0.1:5432/test

Without `--postgres` the journal is a file, which is enough for one machine.
"""

import argparse
import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import Any

import attrs
from distributed import LocalCluster
from sandbox_process import sandbox_process

from gateway_async import AsyncGateway
from gateway_async.migration import (
    Journal,
    PostgresJournal,
    Report,
    SqliteJournal,
    migrate_vaults,
    migrate_vaults_dask,
    read_rows,
)

CREDENTIALS = ("base_url", "developer_id", "user_id", "user_api_key", "location_id")
WORKERS = 2


@attrs.frozen
class Round:
    """The duration of one migration, and the processor time of its processes."""

    seconds: float
    processor_seconds: float


def processor_seconds() -> float:
    """Return the processor seconds that this process has used so far."""
    return time.process_time()


async def used_by(client: Any) -> float:
    """Return the processor seconds that all workers have used so far."""
    return sum((await client.run(processor_seconds)).values())


def open_journal(postgres: str | None, folder: Path, name: str) -> Callable[[], Journal]:
    """Make a function that opens the journal of a migration."""
    return partial(PostgresJournal, postgres, name) if postgres else partial(SqliteJournal, folder / f"{name}.journal")


def write_cards(path: Path, rows: int) -> None:
    """Write a CSV file with `rows` cards."""
    with path.open("w", encoding="ascii") as file:
        file.write("key,account_number,exp_date\n")
        file.writelines(f"{number},4111111111111111,1230\n" for number in range(rows))


async def one_process(path: Path, journal: Callable[[], Journal]) -> Round:
    """Store all rows in this process."""
    began, used = time.perf_counter(), time.process_time()
    async with AsyncGateway.from_env() as gateway:
        report = await migrate_vaults(gateway, read_rows(path), journal=journal())
    check(report)
    return Round(time.perf_counter() - began, time.process_time() - used)


async def on_dask(client: Any, path: Path, journal: Callable[[], Journal], name: str, rows_per_shard: int) -> Round:
    """Store all rows by the Dask workers."""
    used, began = await used_by(client), time.perf_counter()
    report = await migrate_vaults_dask(client, path, journal=journal, name=name, rows_per_shard=rows_per_shard)
    check(report)
    seconds = time.perf_counter() - began
    return Round(seconds, await used_by(client) - used)


def check(report: Report) -> None:
    """Check that a migration is complete."""
    assert report.complete, report


async def measure(options: argparse.Namespace, folder: Path) -> dict[str, list[Round]]:
    """Measure the rounds of each kind."""
    path, small = folder / "cards.csv", max(options.rows // 40, 1)
    write_cards(path, options.rows)
    rounds: dict[str, list[Round]] = {"one process": [], "two workers": [], f"shards of {small}": []}
    async with (
        LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=None, asynchronous=True) as cluster,
        cluster.get_client() as client,
    ):

        async def measured(kind: str, run: Callable[[Callable[[], Journal], str], Awaitable[Round]]) -> None:
            name = f"bench-{token_hex(4)}"
            rounds[kind].append(await run(open_journal(options.postgres, folder, name), name))

        for _ in range(options.rounds):
            await measured("one process", lambda journal, _: one_process(path, journal))
            await measured("two workers", lambda journal, name: on_dask(client, path, journal, name, options.rows // 4))
            await measured(f"shards of {small}", lambda journal, name: on_dask(client, path, journal, name, small))
    return rounds


def show(rounds: dict[str, list[Round]], rows: int) -> None:
    """Print rates, processor times and ratios."""
    rates = {kind: statistics.median(rows / each.seconds for each in took) for kind, took in rounds.items()}
    costs = {kind: statistics.median(each.processor_seconds / rows for each in took) for kind, took in rounds.items()}
    for kind in rounds:
        print(f"{kind:14} {rates[kind]:7.0f} rows/s, {costs[kind] * 1e6:5.0f} µs of a core for each row")
    alone, whole, small = rounds
    print(f"ratio          {rates[whole] / rates[alone]:7.2f}  two workers beside one process")
    extra = (costs[small] - costs[whole]) * rows / (40 - 4)
    print(f"a shard costs  {extra * 1e3:7.0f} ms of a core, whatever is in it")
    print(
        f"one core stores at most {1 / costs[whole]:.0f} rows/s; a million takes it {costs[whole] * 1e6 / 60:.0f} min"
    )


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", type=int, default=8000, help="in one migration")
    options.add_argument("--rounds", type=int, default=3, help="how often each is measured")
    options.add_argument("--postgres", help="the address of a PostgreSQL for the journals")
    given = options.parse_args()
    with sandbox_process() as facts, tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".migration-") as folder:
        os.environ |= {f"GATEWAY_{name.upper()}": facts[name] for name in CREDENTIALS}
        show(asyncio.run(measure(given, Path(folder))), given.rows)


if __name__ == "__main__":
    main()
