"""What a call costs over our pool and over httpx's own, in the same run on the same machine.

Two questions: how much processor time a small GET takes with more and more calls at once; and how long many waiting
calls take to come home when all are answered at the same moment, and for how long the event loop then stands still.
Only the ratios mean something.

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

from gateway_async._net.transport import LANE, PooledTransport

LEVELS = (1, 50, 500)
UNLIMITED = httpx.Limits(max_connections=None, max_keepalive_connections=None)

POOLS: dict[str, Callable[[], httpx.AsyncBaseTransport]] = {
    "ours": lambda: PooledTransport(max_connections=max(LEVELS)),
    "httpx without a limit": lambda: httpx.AsyncHTTPTransport(limits=UNLIMITED),
}


class Server(asyncio.Protocol):
    """Answers at once with the number of calls that wait: those for `/wait`, until somebody asks for `/go`."""

    def __init__(self, waiting: list[asyncio.Transport]) -> None:
        self.waiting = waiting

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember where to answer."""
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Take what came for one whole request, which it is."""
        if b" /wait " in data:
            self.waiting.append(self.transport)
            return
        self.transport.write(answer(len(self.waiting)))
        while self.waiting and b" /go " in data:
            self.waiting.pop().write(answer(0))


def answer(number: int) -> bytes:
    """Give a small JSON answer."""
    body = b'{"waiting":%d}' % number
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


async def serve() -> None:
    """Serve on a free port, which is the first line of output, until standard input ends."""
    loop = asyncio.get_running_loop()
    waiting: list[asyncio.Transport] = []
    server = await loop.create_server(lambda: Server(waiting), "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


@contextlib.contextmanager
def serving() -> Iterator[str]:
    """Run the server in a process of its own, and give its base URL."""
    command = [sys.executable, __file__, "--serve"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.stdin.close()


async def cpu_per_call(http: httpx.AsyncClient, calls: int, at_once: int) -> float:
    """Processor time of one call, in milliseconds, when `at_once` workers share the calls."""
    turns = repeat(None, calls)

    async def worker() -> None:
        for _ in turns:
            await http.get("/")

    await asyncio.gather(*(http.get("/") for _ in range(at_once)))
    started = time.process_time()
    await asyncio.gather(*(worker() for _ in range(at_once)))
    return (time.process_time() - started) * 1000 / calls


async def coming_home(http: httpx.AsyncClient, waiting: int) -> tuple[float, float]:
    """Seconds until calls that are answered together are all home, and the longest stand-still of the loop."""
    calls = asyncio.gather(*(http.get("/wait", extensions={LANE: "terminal"}) for _ in range(waiting)))
    async with httpx.AsyncClient(base_url=http.base_url) as other:
        while (await other.get("/")).json()["waiting"] < waiting:
            await asyncio.sleep(0.1)
        started = time.perf_counter()
        stops: list[float] = []
        watch = asyncio.create_task(stand_stills(stops))
        await other.get("/go")
        await calls
    seconds = time.perf_counter() - started
    await asyncio.sleep(0.01)
    watch.cancel()
    return seconds, max(stops)


async def stand_stills(stops: list[float]) -> None:
    """Note, again and again, for how long the event loop gave no turn beyond the time that was asked for."""
    while True:
        before = time.perf_counter()
        await asyncio.sleep(0.001)
        stops.append(time.perf_counter() - before - 0.001)


async def measure(url: str, rounds: int, calls: int, waiting: int) -> dict[str, list[float]]:
    """Give every measure of each pool, the rounds of one measure interleaved: the median of them."""
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
            row.extend(await coming_home(http, waiting))
    return rows


def show(rows: dict[str, list[float]], waiting: int) -> None:
    """Print the table, each measure with its ratio to ours."""
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
