"""The cost of thousands of waiting terminal calls: their memory, and the delay of other calls of the same client.

    python benchmarks/terminals.py --waiting 2000 --calls 1000

Ordinary calls run one after the other, first alone and then while the terminals wait. The sandbox is a separate
process. Quote the ratios, because the milliseconds depend on the machine.
"""

import argparse
import gc
import statistics
import time

import anyio
import anyio.abc
from sandbox_process import client_of, control, resident_kib, sandbox_process

from gateway_async import AsyncGateway, RouterTransactionCreate


async def ordinary(gateway: AsyncGateway, contact_id: str, calls: int) -> list[float]:
    """Make `calls` reads, and return the seconds that each took."""
    spent = []
    for _ in range(calls):
        began = time.perf_counter()
        await gateway.contacts.get(contact_id)
        spent.append(time.perf_counter() - began)
    return spent


async def longest_pause(pauses: list[float]) -> None:
    """Record the delay of each sleep of 10 ms, in seconds."""
    while True:
        began = time.perf_counter()
        await anyio.sleep(0.01)
        pauses.append(time.perf_counter() - began - 0.01)


async def until_waiting(facts: dict[str, str], waiting: int) -> None:
    """Wait until that many sales are at their terminals."""
    with anyio.fail_after(120):
        while sum(len(each["waiting"]) for each in await states(facts)) < waiting:
            await anyio.sleep(0.5)  # the sandbox is another process, so it is polled


async def states(facts: dict[str, str]) -> list[dict[str, list[object]]]:
    """Read the states of the sandbox's terminals."""
    answer = await anyio.to_thread.run_sync(control, facts, "GET", "terminals")
    return answer["terminals"] if isinstance(answer, dict) else answer


def row(name: str, spent: list[float]) -> str:
    """Format p50 and p99 in milliseconds."""
    p50, p99 = statistics.median(spent) * 1e3, statistics.quantiles(spent, n=100)[98] * 1e3
    return f"{name:28} p50 {p50:8.2f} ms   p99 {p99:8.2f} ms"


async def main(waiting: int, calls: int) -> None:
    """Measure calls alone, with waiting terminals, and while these end."""
    with sandbox_process("--terminals", "manual") as facts:
        terminals = [control(facts, "POST", "terminals", {})["id"] for _ in range(waiting)]
        async with client_of(facts) as gateway, anyio.create_task_group() as tasks:
            await ordinary(gateway, facts["contact_id"], 50)
            alone = await ordinary(gateway, facts["contact_id"], calls)
            gc.collect()
            before, began, done, pauses = resident_kib(), time.perf_counter(), [], []
            tasks.start_soon(longest_pause, pauses)

            async def sell(terminal: str) -> None:
                new = RouterTransactionCreate(action="sale", terminal_id=terminal, transaction_amount="12.50")
                done.append(await gateway.router_transactions.create(new))

            for terminal in terminals:
                tasks.start_soon(sell, terminal)
            await until_waiting(facts, waiting)
            issued, issuing_pause = time.perf_counter() - began, max(pauses)
            pauses.clear()
            weight = (resident_kib() - before) / waiting
            beside = await ordinary(gateway, facts["contact_id"], calls)
            beside_pause = max(pauses)
            pauses.clear()
            began = time.perf_counter()
            await anyio.to_thread.run_sync(control, facts, "POST", "clock", {"advance": 301})
            while len(done) < waiting:
                await anyio.sleep(0.01)
            drained = time.perf_counter() - began
            tasks.cancel_scope.cancel()
    print(row("ordinary calls alone", alone))
    print(row(f"beside {waiting} terminals", beside))
    print(f"p50 ratio {statistics.median(beside) / statistics.median(alone):.2f}")
    print(f"one waiting call weighs      {weight:8.1f} KiB")
    print(f"issued in                    {issued:8.2f} s, loop held up at most {issuing_pause * 1e3:.0f} ms")
    print(f"while they wait              loop held up at most {beside_pause * 1e3:.0f} ms")
    print(f"all answered at once, home in{drained:8.2f} s, loop held up at most {max(pauses) * 1e3:.0f} ms")
    assert all(each.declined for each in done), "a terminal's overall time-out is a decline"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--waiting", type=int, default=2000)
    parser.add_argument("--calls", type=int, default=1000)
    arguments = parser.parse_args()
    anyio.run(main, arguments.waiting, arguments.calls)
