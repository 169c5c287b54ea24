"""The cost of a call over this package's connection pool and over httpx's own, measured in the same run.

It measures two things:

- the processor time of a small GET, with more and more calls at once
- the time until many waiting calls have finished when all responses arrive at once, and how long the event loop is
  blocked meanwhile

Only the ratios are meaningful.

    python benchmarks/pool.py
"""

import argparse
import asyncio
import contextlib
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import repeat
from typing import cast

import httpx

from gateway_async._http.transport import POOL, PooledTransport

LEVELS = (1, 50, 500)
UNLIMITED = httpx.Limits(max_connections=None, max_keepalive_connections=None)

POOLS: dict[str, Callable[[], httpx.AsyncBaseTransport]] = {
    "ours": lambda: PooledTransport(max_connections=max(LEVELS)),
    "httpx without a limit": lambda: httpx.AsyncHTTPTransport(limits=UNLIMITED),
}


class Server(asyncio.Protocol):
    """Responds with the number of waiting calls; calls of `/wait` wait until a call of `/go`."""

    def __init__(self, waiting: list[asyncio.Transport]) -> None:
        self.waiting = waiting

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport for the responses."""
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Respond to a request, which always arrives in one piece."""
        if b" /wait " in data:
            self.waiting.append(self.transport)
            return
        self.transport.write(answer(len(self.waiting)))
        while self.waiting and b" /go " in data:
            self.waiting.pop().write(answer(0))


def answer(number: int) -> bytes:
    """Return a small JSON response."""
    body = b'{"waiting":%d}' % number
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


async def serve() -> None:
    """Serve on a free port until standard input ends; the first line of output is the port."""
    loop = asyncio.get_running_loop()
    waiting: list[asyncio.Transport] = []
    server = await loop.create_server(lambda: Server(waiting), "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


@contextlib.contextmanager
def serving() -> Iterator[str]:
    """Run the server in a separate process, and yield its base URL."""
    command = [sys.executable, __file__, "--serve"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.stdin.close()


async def cpu_per_call(http: httpx.AsyncClient, calls: int, at_once: int) -> float:
    """Measure the processor time of one call by `at_once` workers, in milliseconds."""
    remaining = repeat(None, calls)

    async def worker() -> None:
        for _ in remaining:
            await http.get("/")

    await asyncio.gather(*(http.get("/") for _ in range(at_once)))
    started = time.process_time()
    await asyncio.gather(*(worker() for _ in range(at_once)))
    return (time.process_time() - started) * 1000 / calls


async def returning_calls(http: httpx.AsyncClient, waiting: int) -> tuple[float, float]:
    """Measure calls whose responses arrive at once.

    Returns:
        The seconds until all calls have finished, and the longest time that the event loop was blocked, in seconds.
    """
    calls = asyncio.gather(*(http.get("/wait", extensions={POOL: "terminal"}) for _ in range(waiting)))
    async with httpx.AsyncClient(base_url=http.base_url) as other:
        while (await other.get("/")).json()["waiting"] < waiting:
            await asyncio.sleep(0.1)
        started = time.perf_counter()
        stops: list[float] = []
        watch = asyncio.create_task(record_delays(stops))
        await other.get("/go")
        await calls
    seconds = time.perf_counter() - started
    await asyncio.sleep(0.01)
    watch.cancel()
    return seconds, max(stops)


async def record_delays(stops: list[float]) -> None:
    """Record the delay of each short sleep, in seconds."""
    while True:
        before = time.perf_counter()
        await asyncio.sleep(0.001)
        stops.append(time.perf_counter() - before - 0.001)


async def measure(url: str, rounds: int, calls: int, waiting: int) -> dict[str, list[float]]:
    """Measure each pool; the rounds of the pools alternate, and each value is their median."""
    rows: dict[str, list[float]] = {name: [] for name in POOLS}
    for at_once in LEVELS:
        times: dict[str, list[float]] = {name: [] for name in POOLS}
        for name in list(POOLS) * rounds:
            async with httpx.AsyncClient(base_url=url, transport=POOLS[name](), timeout=300) as http:
                times[name].append(await cpu_per_call(http, calls, at_once))
        for name, row in rows.items():
            row.append(statistics.median(times[name]))
    for name, row in rows.items():
        async with httpx.AsyncClient(base_url=url, transport=POOLS[name](), timeout=300) as http:
            row.extend(await returning_calls(http, waiting))
    return rows


def show(rows: dict[str, list[float]], waiting: int) -> None:
    """Print each value and its ratio to the first pool's."""
    titles = [*(f"ms/call at {at_once}" for at_once in LEVELS), f"{waiting} home, s", "stand-still, s"]
    ours = next(iter(rows.values()))
    print(f"{'':22}", *(f"{title:>20}" for title in titles))
    for name, row in rows.items():
        cells = (f"{value:.3f} ({value / own:.1f} x)" for value, own in zip(row, ours, strict=True))
        print(f"{name:22}", *(f"{cell:>20}" for cell in cells))


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=3, help="how often each processor time is taken")
    options.add_argument("--calls", type=int, default=500, help="calls of one round")
    options.add_argument("--waiting", type=int, default=1000, help="calls that are answered together")
    options.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.serve:
        asyncio.run(serve())
        return
    with serving() as url:
        show(asyncio.run(measure(url, given.rounds, given.calls, given.waiting)), given.waiting)


if __name__ == "__main__":
    main()
