"""The CPU time of a call, beside other clients and beside a bare socket with an HTTP parser.

    pip install -e '.[benchmarks]'
    python benchmarks/calls.py --rounds 3 --calls 300

A call is a small GET, or a POST that stores a card. Workers make 1, 50, 500 and 2000 calls at once. The time is that of
the client's process alone; connections are open before it is taken. The server is another process.
"""

import asyncio
import gc
import time
from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from clients import Call, make_calls
from comparison import Goal, Row, beside, run
from peers import BARE, CLIENTS, OURS
from server import allow_many_connections, serving

LEVELS: Final = (1, 50, 500, 2000)
CONNECTIONS: Final = 100
"""As many calls open the connections of a client, unless more calls are made at once."""

EACH: Final = 4
"""Each worker makes as many calls at least, except with slow clients."""

SLOW_ROUNDS: Final = {1: 3, 50: 3, 500: 1, 2000: 1}
"""Rounds in which slow clients are measured, which need minutes otherwise."""

METHODS: Final = ("GET", "POST")
GOALS: Final = {
    (50, "stripe on aiohttp"): Goal(0.9),
    (50, "stripe on httpx"): Goal(0.12),
    (50, BARE): Goal(5),
}
AIOHTTP_GOALS: Final = {"GET": Goal(0.95), "POST": Goal(1.25)}
OWN_GOAL: Final = Goal(1.2)

Times = dict[tuple[str, int, str], list[float]]
"""The milliseconds for each method, number of calls at once, and client."""


async def cpu_per_call(call: Call, calls: int, at_once: int, warm_up: int) -> float:
    """Measure the CPU time of one call by `at_once` workers, in milliseconds."""
    await make_calls(call, warm_up, at_once)
    gc.collect()
    began = time.process_time()
    await make_calls(call, calls, at_once)
    return (time.process_time() - began) * 1000 / calls


async def measure(url: str, name: str, method: str, calls: int, at_once: int) -> float:
    """Measure one client, with connections of its own."""
    client = CLIENTS[name]
    async with client.open(url) as (get, post):
        warm_up = CONNECTIONS if client.is_slow else max(CONNECTIONS, at_once)
        calls = max(calls, at_once if client.is_slow else EACH * at_once)
        return await cpu_per_call(get if method == "GET" else post, calls, at_once, warm_up)


async def measure_all(url: str, rounds: int, calls: int) -> Times:
    """Measure all clients in every round."""
    times: Times = defaultdict(list)
    for number in range(rounds):
        for at_once in LEVELS:
            for method in METHODS:
                for name, client in CLIENTS.items():
                    if client.is_slow and number >= SLOW_ROUNDS[at_once]:
                        continue
                    times[method, at_once, name].append(await measure(url, name, method, calls, at_once))
    return times


def rows_of(times: Times) -> Iterator[Row]:
    """Compare our times with those of the others."""
    for method in METHODS:
        for at_once in LEVELS:
            for name in CLIENTS:
                mine, other = times[method, at_once, OURS], times[method, at_once, name]
                is_aiohttp = (at_once, name) == (50, "aiohttp")
                goal = AIOHTTP_GOALS[method] if is_aiohttp else GOALS.get((at_once, name))
                if name != OURS:
                    yield beside(f"{method}, {at_once} at once", "ms", mine, name, other, goal)
        own = times[method, 50, OURS]
        yield beside(f"{method}, 2000 at once", "ms", times[method, 2000, OURS], "50 at once", own, OWN_GOAL)


def main(rounds: int = 5, calls: int = 1000) -> list[Row]:
    """Measure all clients; return the comparisons with ours."""
    allow_many_connections()
    with serving() as url:
        return list(rows_of(asyncio.run(measure_all(url, rounds, calls))))


if __name__ == "__main__":
    run(main)
