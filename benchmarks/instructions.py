"""The user instructions of a call, which other load on the machine does not change. Needs valgrind.

    pip install -e '.[benchmarks]'
    python benchmarks/instructions.py --calls 1000

Each client makes few and many calls, 50 at once, in a process of its own; the difference is the cost of a call. The
system's share, such as sending, is not counted.
"""

import asyncio
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Final

from clients import Calls, bare, make_calls, ours, with_aiohttp
from comparison import Goal, Row, beside, run
from server import serving

AT_ONCE: Final = 50
FEW: Final = 200
"""Calls that fill caches and open connections."""

VALGRIND: Final = (
    shutil.which("valgrind") or "",
    "--tool=cachegrind",
    "--cache-sim=no",
    "--cachegrind-out-file=/dev/null",
)
COUNT: Final = re.compile(r"I\s+refs:\s+([0-9,]+)")
CLIENTS: Final[dict[str, Callable[[str], AbstractAsyncContextManager[Calls]]]] = {
    "gateway_async": ours,
    "aiohttp": with_aiohttp,
    "bare protocol": bare,
}
GOALS: Final = {
    ("GET", "aiohttp"): Goal(0.85),
    ("POST", "aiohttp"): Goal(1.1),
}


def work(url: str, name: str, method: str, calls: int) -> None:
    """Make calls with one client; runs under valgrind."""

    async def make() -> None:
        async with CLIENTS[name](url) as (get, post):
            await make_calls(get if method == "GET" else post, calls, AT_ONCE)

    asyncio.run(make())


def instructions(url: str, name: str, method: str, calls: int) -> int:
    """Count the instructions of a process that makes calls."""
    work = f"from instructions import work; work({url!r}, {name!r}, {method!r}, {calls})"
    path = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        [*VALGRIND, sys.executable, "-c", work],
        env=os.environ | {"PYTHONPATH": path, "PYTHONHASHSEED": "0"},
        stderr=subprocess.PIPE,
        text=True,
        check=True,
    )
    found = COUNT.search(done.stderr)
    assert found, done.stderr
    return int(found[1].replace(",", ""))


def thousands_per_call(url: str, name: str, method: str, calls: int) -> float:
    """Count the instructions of one call, in thousands."""
    few, many = (instructions(url, name, method, number) for number in (FEW, FEW + calls))
    return (many - few) / calls / 1000


def main(rounds: int = 1, calls: int = 500) -> list[Row]:
    """Count the instructions of all clients; return the comparisons with ours, or nothing without valgrind."""
    if not VALGRIND[0]:
        print("valgrind is not installed: no instructions are counted")
        return []
    rows = []
    with serving() as url:
        for method in ("GET", "POST"):
            counts = {name: [thousands_per_call(url, name, method, calls) for _ in range(rounds)] for name in CLIENTS}
            mine = counts.pop("gateway_async")
            rows += [
                beside(f"instructions of a {method}", "k", mine, name, other, GOALS.get((method, name)))
                for name, other in counts.items()
            ]
    return rows


if __name__ == "__main__":
    run(main)
