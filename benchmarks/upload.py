"""Memory and event loop latency of an upload: an invoice with four files of 5 MB, streamed from the disk.

    python benchmarks/upload.py --times 5

It prints the growth of the client's peak memory, and the longest time that its event loop was blocked. The sandbox is
another process.
"""

import argparse
import contextlib
import datetime as dt
import os
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
from sandbox_process import client_of, peak_kib, sandbox_process

from gateway_async import AsyncGateway, Attachment, QuickInvoiceCreate

FILES = 4
FILE_BYTES = 5 * 1024 * 1024
TICK = 0.001
MOST_MIB = 30


def invoice() -> QuickInvoiceCreate:
    """Make the invoice that the files are attached to."""
    return QuickInvoiceCreate(title="Upload", due_date=dt.date(2039, 1, 1), item_list={"Tea": "2.50"})


@contextlib.asynccontextmanager
async def loop_delays() -> AsyncIterator[list[float]]:
    """Record the delays of the event loop, in seconds for each tick."""
    late: list[float] = []

    async def tick() -> None:
        while True:
            due = time.perf_counter() + TICK
            await anyio.sleep(TICK)
            late.append(time.perf_counter() - due)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(tick)
        yield late
        tasks.cancel_scope.cancel()


async def upload(gateway: AsyncGateway, folder: Path, times: int) -> None:
    """Send the files `times` times, and print speed, memory and latency."""
    paths = [folder / f"{place}.bin" for place in range(FILES)]
    for path in paths:
        path.write_bytes(os.urandom(FILE_BYTES))
    await gateway.quick_invoices.create(invoice(), [Attachment("small.bin", b"x")])  # warms up lazy imports
    before = peak_kib()
    began = time.perf_counter()
    async with loop_delays() as late:
        for _ in range(times):
            await gateway.quick_invoices.create(invoice(), [Attachment(path.name, path) for path in paths])
    spent = time.perf_counter() - began
    grown = (peak_kib() - before) / 1024
    sent = times * FILES * FILE_BYTES / 1024 / 1024
    late.sort()
    print(
        f"{times} x {FILES} files of 5 MB: {spent:5.2f} s, {sent / spent:6.1f} MB/s,"
        f" peak RSS {grown:+5.1f} MiB over {before / 1024:.1f},"
        f" loop late by {late[-1] * 1000:.1f} ms at most, {late[len(late) * 99 // 100] * 1000:.1f} ms in 99 of 100"
    )
    assert grown < MOST_MIB, f"{grown:.1f} MiB for {sent:.0f} MB"


async def main(times: int) -> None:
    """Run the uploads with one client and one sandbox."""
    with tempfile.TemporaryDirectory() as folder, sandbox_process() as facts:
        async with client_of(facts, timeout=120.0) as gateway:
            await upload(gateway, Path(folder), times)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=5)
    anyio.run(main, parser.parse_args().times)
