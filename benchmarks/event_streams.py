"""Open pages of the sandbox: what hundreds of event streams cost the API.

    python benchmarks/event_streams.py --streams 300 --rounds 3

Each round reads a contact again and again, without and with open streams, which get an event for each request. The
streams are read by another process.
"""

import asyncio
import contextlib
import statistics
import time
from collections.abc import AsyncIterator
from multiprocessing import get_context
from multiprocessing.synchronize import Event
from typing import Any, Final
from urllib.parse import urlsplit

from comparison import Goal, Row, beside, run
from sandbox_process import client_of, sandbox_process

from gateway_async import AsyncGateway

GOAL: Final = Goal(1.5)
CHUNK: Final = 65_536
SETTLE_SECONDS: Final = 0.5
"""How long a round waits after streams were opened or closed."""


async def read_streams(url: str, count: int, opened: Event) -> None:
    """Open streams and read them, until the process is terminated."""
    host, port = str(urlsplit(url).hostname), urlsplit(url).port

    async def read_one() -> None:
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(f"GET /events HTTP/1.1\r\nhost: {host}\r\n\r\n".encode())
        await reader.read(CHUNK)
        ready.release()
        while await reader.read(CHUNK):
            pass

    ready = asyncio.Semaphore(0)
    async with asyncio.TaskGroup() as tasks:
        for _ in range(count):
            tasks.create_task(read_one())
        for _ in range(count):
            await ready.acquire()
        opened.set()


def run_streams(url: str, count: int, opened: Event) -> None:
    """Read streams in this process."""
    asyncio.run(read_streams(url, count, opened))


@contextlib.asynccontextmanager
async def open_streams(url: str, count: int) -> AsyncIterator[None]:
    """Keep streams open in another process."""
    spawn = get_context("spawn")
    opened = spawn.Event()
    process = spawn.Process(target=run_streams, args=(url, count, opened))
    process.start()
    try:
        await asyncio.to_thread(opened.wait, 30)
        await asyncio.sleep(SETTLE_SECONDS)
        yield
    finally:
        process.terminate()
        process.join()
        await asyncio.sleep(SETTLE_SECONDS)


async def read_p99(gateway: AsyncGateway, contact_id: str, calls: int) -> float:
    """Return the milliseconds that 99 of 100 reads do not exceed."""
    times = []
    for _ in range(calls):
        began = time.perf_counter()
        await gateway.contacts.get(contact_id)
        times.append((time.perf_counter() - began) * 1000)
    return statistics.quantiles(times, n=100)[98]


async def measure(facts: dict[str, Any], rounds: int, calls: int, streams: int) -> tuple[list[float], list[float]]:
    """Measure reads with and without open streams."""
    alone, with_streams = [], []
    async with client_of(facts) as gateway:
        await read_p99(gateway, facts["contact_id"], calls)
        for _ in range(rounds):
            alone.append(await read_p99(gateway, facts["contact_id"], calls))
            async with open_streams(facts["base_url"], streams):
                with_streams.append(await read_p99(gateway, facts["contact_id"], calls))
    return with_streams, alone


def main(rounds: int = 5, calls: int = 2000, streams: int = 300) -> list[Row]:
    """Measure both; return their comparison."""
    with sandbox_process() as facts:
        ours, without = asyncio.run(measure(facts, rounds, calls, streams))
    return [beside(f"p99 of a read, {streams} pages open", "ms", ours, "no page open", without, GOAL)]


if __name__ == "__main__":
    run(main)
