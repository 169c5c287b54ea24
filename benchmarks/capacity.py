"""Measure what one process, one PostgreSQL and one Redis carry.

    python benchmarks/capacity.py --count 5000

GATEWAY_TEST_POSTGRES and GATEWAY_TEST_REDIS are the addresses of the servers; without them their rows are left out. The
figures are processor time on this machine. They are for arithmetic, not for comparisons: a service of yours does more
than these programs.
"""

import argparse
import asyncio
import contextlib
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from secrets import token_hex
from typing import Any, Final

import attrs
import httpx
from cards import NUMBER, cards, journal_folder
from cores import on_server_core, pin_client
from receiver import post, receiver_app, request_bytes, serve
from sandbox_process import resident_kib
from server import CONTACT, SECONDS, allow_many_connections, gateway_at, serving

from gateway_async import (
    AsyncGateway,
    CardVaultCreate,
    PostgresLedger,
    RedisTerminalLease,
    RouterTransactionCreate,
    SqliteLedger,
)
from gateway_async.migration import PostgresJournal, SqliteJournal, migrate_vaults
from gateway_async.postbacks import PostgresInbox, SqliteInbox

POSTGRES: Final = os.environ.get("GATEWAY_TEST_POSTGRES")
REDIS: Final = os.environ.get("GATEWAY_TEST_REDIS")
TICKS: Final = os.sysconf("SC_CLK_TCK")
AT_ONCE: Final = 64
CARD: Final = CardVaultCreate(account_number=NUMBER, exp_date="1230")
RECEIVERS: Final = ("none", "sqlite", "postgres")
POSTBACKS: Final = "receive a postback"

Operate = Callable[[int], Awaitable[object]]


@attrs.frozen
class Row:
    """One line of the table.

    Attributes:
        subject: what was done.
        own: milliseconds of processor time of this process for each operation.
        server: likewise of the database server; None without one.
    """

    subject: str
    own: float
    server: float | None = None

    def __str__(self) -> str:
        server = "" if self.server is None else f"{self.server:.2f}"
        return f"| {self.subject} | {self.own:.2f} | {1000 / self.own:,.0f} | {server} |"


def processor_seconds(name: str) -> float:
    """Return the processor seconds of all processes of a name."""
    total = 0
    for path in Path("/proc").glob("[0-9]*/stat") if name else ():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            _, found, fields = path.read_text(encoding="ascii", errors="replace").partition(f"({name}) ")
            total += sum(map(int, fields.split()[11:15])) if found else 0
    return total / TICKS


async def workers(count: int, operate: Callable[[], Awaitable[object]]) -> None:
    """Run an operation `count` times, `AT_ONCE` at a time."""
    remaining = iter(range(count))

    async def worker() -> None:
        for _ in remaining:
            await operate()

    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(worker())


async def measure(subject: str, count: int, operate: Operate, server: str = "") -> Row:
    """Measure operations, after a tenth of them as a warm-up."""
    await operate(count // 10)
    before, own = processor_seconds(server), time.process_time()
    await operate(count)
    own = time.process_time() - own
    used = (processor_seconds(server) - before) / count * 1000 if server else None
    return Row(subject, own / count * 1000, used)


async def client_rows(url: str, folder: Path, count: int) -> AsyncIterator[Row]:
    """Measure calls of one client, without and with a ledger."""

    def store(gateway: AsyncGateway) -> Operate:
        return lambda number: workers(number, lambda: gateway.account_vaults.create(CARD))

    async with gateway_at(url) as gateway:
        read = str(CONTACT["id"])
        yield await measure("read a record", count, lambda number: workers(number, lambda: gateway.contacts.get(read)))
        yield await measure("store a card", count, store(gateway))
    async with gateway_at(url, ledger=SqliteLedger(folder / "ledger.db")) as gateway:
        yield await measure("store a card, with a `SqliteLedger`", count, store(gateway))
    if POSTGRES:
        ledger = PostgresLedger(POSTGRES, table=f"capacity_{token_hex(4)}")
        async with gateway_at(url, ledger=ledger) as gateway:
            yield await measure("store a card, with a `PostgresLedger`", count, store(gateway), "postgres")


async def migration_rows(url: str, folder: Path, count: int) -> AsyncIterator[Row]:
    """Measure migrated cards, with each journal."""

    def migrate(gateway: AsyncGateway, new_journal: Callable[[int], Any]) -> Operate:
        return lambda number: migrate_vaults(gateway, cards("c", number), journal=new_journal(number))

    async with gateway_at(url) as gateway:
        in_file = migrate(gateway, lambda number: SqliteJournal(folder / f"{number}.journal"))
        yield await measure("migrate a card, with a `SqliteJournal`", count, in_file)
        if POSTGRES:
            table = f"capacity_{token_hex(4)}"
            in_database = migrate(gateway, lambda number: PostgresJournal(str(POSTGRES), f"{number}", table=table))
            yield await measure("migrate a card, with a `PostgresJournal`", count, in_database, "postgres")


async def lease_rows(count: int) -> AsyncIterator[Row]:
    """Measure leases of terminals: each is acquired and released."""
    if REDIS:
        lease = RedisTerminalLease(REDIS, owner="capacity")

        async def use() -> None:
            token = token_hex(8)
            await lease.acquire(f"capacity-{token}", token)
            await lease.release(f"capacity-{token}", token)

        yield await measure("acquire and release a lease", count, lambda n: workers(n, use), "redis-server")
        await lease.aclose()


@contextlib.contextmanager
def receiver_process(inbox: str, folder: Path) -> Iterator[tuple[int, int]]:
    """Run a receiver with an inbox in another process; yield its process id and its port."""
    with on_server_core():
        command = [sys.executable, __file__, "--receiver", inbox, "--folder", str(folder)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.pid, int(process.stdout.readline())
    finally:
        process.terminate()
        process.wait(20)


def own_seconds(process_id: int) -> float:
    """Return the processor time of a process."""
    fields = Path(f"/proc/{process_id}/stat").read_text(encoding="ascii").rpartition(") ")[2].split()
    return sum(map(int, fields[11:13])) / TICKS


async def receiver_row(inbox: str, folder: Path, count: int) -> Row:
    """Measure the postbacks that one process receives, with one inbox."""
    titles = {"none": "", "sqlite": ", with a `SqliteInbox`", "postgres": ", with a `PostgresInbox`"}
    requests = [request_bytes(f"{token_hex(4)}{number:016}") for number in range(count)]
    with receiver_process(inbox, folder) as (process_id, port):
        await post(port, [request_bytes(token_hex(12)) for _ in range(count // 10)], AT_ONCE)
        before, own = processor_seconds("postgres"), own_seconds(process_id)
        await post(port, requests, AT_ONCE)
        used = (own_seconds(process_id) - own) / count * 1000
        server = (processor_seconds("postgres") - before) / count * 1000 if inbox == "postgres" else None
    return Row(POSTBACKS + titles[inbox], used, server)


def serve_receiver(inbox: str, folder: Path) -> None:
    """Serve a receiver with an inbox."""
    inboxes: dict[str, Callable[[], Any]] = {
        "none": lambda: None,
        "sqlite": lambda: SqliteInbox(folder / "inbox.db"),
        "postgres": lambda: PostgresInbox(POSTGRES, table=f"capacity_{token_hex(4)}"),
    }
    serve(receiver_app(inboxes[inbox]()))


async def terminal_memory(url: str, count: int) -> float:
    """Return the KiB of memory that a waiting terminal call needs."""
    async with gateway_at(url) as gateway:
        await gateway.contacts.get(str(CONTACT["id"]))
        before = resident_kib()
        sales = [
            RouterTransactionCreate(action="sale", terminal_id=f"t-{number}", transaction_amount="1.00")
            for number in range(count)
        ]
        async with httpx.AsyncClient(base_url=url, timeout=SECONDS) as control, asyncio.TaskGroup() as tasks:
            for sale in sales:
                tasks.create_task(gateway.router_transactions.create(sale))
            await control.get(f"/waiting/{count}")
            used = resident_kib() - before
            await control.get("/go")
    return used / count


async def drop_tables() -> None:
    """Remove the tables of this program."""
    import asyncpg

    connection = await asyncpg.connect(POSTGRES)
    for row in await connection.fetch("SELECT tablename FROM pg_tables WHERE tablename LIKE 'capacity_%'"):
        await connection.execute(f'DROP TABLE IF EXISTS "{row["tablename"]}" CASCADE')
    await connection.close()


async def show(count: int, terminals: int) -> None:
    """Measure everything, and print the table."""
    print("| operation | ms of a core | a second on one core | ms of the server's core |\n|---|---|---|---|")
    with serving() as url, journal_folder() as folder:
        for rows in (client_rows(url, folder, count), migration_rows(url, folder, count), lease_rows(count)):
            async for row in rows:
                print(row, flush=True)
        for inbox in RECEIVERS if POSTGRES else RECEIVERS[:-1]:
            print(await receiver_row(inbox, folder, count), flush=True)
        print(f"\nA waiting terminal call needs {await terminal_memory(url, terminals):.1f} KiB.")
    if POSTGRES:
        await drop_tables()


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--count", type=int, default=20_000, help="operations of each kind")
    options.add_argument("--terminals", type=int, default=4000, help="calls that wait at the same time")
    options.add_argument("--receiver", choices=RECEIVERS, help=argparse.SUPPRESS)
    options.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.receiver:
        serve_receiver(given.receiver, given.folder)
        return
    allow_many_connections()
    pin_client()
    asyncio.run(show(given.count, given.terminals))


if __name__ == "__main__":
    main()
