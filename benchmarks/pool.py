"""What a call costs over our pool and over httpx's own, side by side on this machine.

Two questions: the processor time of a small GET with so many calls at once, and how long many calls that were
answered at the same moment take to come home. Only the ratios mean something.

    python benchmarks/pool.py --calls 4000 --waiting 1000
"""

import argparse
import asyncio
import contextlib
import itertools
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator

import httpx

from gateway_async._net.progress import PROGRESS, Progress
from gateway_async._net.transport import LANE, PooledTransport

LEVELS = (1, 50, 500)
TIMEOUT = httpx.Timeout(120)
ANSWER = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n{"ok":true}'


class Server(asyncio.Protocol):
    """Answers `/` at once, and everyone who asked for `/wait` at the moment that someone asks for `/go`."""

    waiting: list[asyncio.Transport] = []  # noqa: RUF012, one list for all connections is the point

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        if data.startswith(b"GET /wait"):
            self.waiting.append(self.transport)
            return
        if data.startswith(b"GET /go"):
            for transport in self.waiting:
                transport.write(ANSWER)
            self.waiting.clear()
        self.transport.write(ANSWER)


async def serve() -> None:
    """Serve on a free port, printed on the first line, until the parent closes our standard input."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Server, "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


@contextlib.contextmanager
def running_server() -> Iterator[str]:
    """Start the server in a process of its own, and give its base URL."""
    command = [sys.executable, __file__, "--serve"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.terminate()


async def cpu_per_call(client: httpx.AsyncClient, calls: int, at_once: int) -> float:
    """Processor milliseconds of one call, with `at_once` workers that share `calls` calls."""
    turns = iter(range(calls))

    async def worker() -> None:
        for _ in turns:
            await client.get("/", extensions={PROGRESS: Progress()} if TRACK else None)

    await asyncio.gather(*(client.get("/") for _ in range(at_once)))
    started = time.process_time()
    await asyncio.gather(*(worker() for _ in range(at_once)))
    return (time.process_time() - started) / calls * 1000


TRACK = False
