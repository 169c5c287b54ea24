"""Memory and speed of iterating over a long list: `async for vault in gateway.account_vaults.list(...)`.

    python benchmarks/streaming.py --records 10000 100000

Each size runs in a separate process, and the table shows its peak memory. The sandbox is another process.
"""

import argparse
import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import anyio
from sandbox_process import client_of, peak_kib, sandbox_process

from gateway_async.sandbox import Sandbox


async def walk(facts: dict[str, str], records: int, page_size: int) -> None:
    """Iterate over all vaults, and print the time and the memory."""
    seen = 0
    began = time.perf_counter()
    async with client_of(facts) as gateway:
        empty = peak_kib()
        async for _ in gateway.account_vaults.list(page_size=page_size):
            seen += 1
    spent = time.perf_counter() - began
    assert seen == records, f"{seen} of {records} records"
    print(
        f"{records:8} records, pages of {page_size}: {spent:6.2f} s, {records / spent:8.0f} records/s,"
        f" peak RSS {peak_kib() / 1024:6.1f} MiB ({empty / 1024:.1f} before the first call)"
    )


@contextlib.contextmanager
def seeded(data: Path, records: int) -> Iterator[dict[str, str]]:
    """Run a sandbox with `records` vaults."""
    with Sandbox(data=data) as sandbox:
        sandbox.add_vaults(records)
    with sandbox_process("--data", str(data)) as facts:
        yield facts


def measure(records: int, page_size: int) -> None:
    """Measure one size in a separate process."""
    with tempfile.TemporaryDirectory() as folder, seeded(Path(folder) / "sandbox.db", records) as facts:
        pairs = [f"{name}={value}" for name, value in facts.items()]
        command = [sys.executable, __file__, "--walk", *pairs, "--records", str(records), "--page-size", str(page_size)]
        subprocess.run(command, check=True, timeout=600)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--page-size", type=int, default=5000)
    parser.add_argument("--walk", nargs="*", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.walk:
        facts_given = dict(pair.split("=", 1) for pair in arguments.walk)
        anyio.run(walk, facts_given, arguments.records[0], arguments.page_size)
    else:
        for size in arguments.records:
            measure(size, arguments.page_size)
