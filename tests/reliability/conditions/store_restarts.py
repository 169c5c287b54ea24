"""Redis and PostgreSQL that are restarted and paused while clients use them.

Each row starts a server of its own. Without the server's program on this machine, there is no such row.
"""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final

import anyio
import attrs
import httpx

from gateway_async import AsyncGateway, PostgresLedger, RedisTerminalLease
from gateway_async.migration.journal.protocol import Journal
from gateway_async.migration.journal.store import PostgresJournal
from gateway_async.migration.migrate import migrate_vaults
from gateway_async.migration.rate import RedisRate
from gateway_async.sandbox import Sandbox
from tests.postbacks.inboxes import Store
from tests.postbacks.receiver_process import make_receiver
from tests.reliability.condition import Condition, Result, add_up
from tests.reliability.conditions.receiver_kills import compare_effects, make_tables, wait_until_handled
from tests.reliability.continuous_traffic import OPTIONS, ContinuousTraffic, send_sale
from tests.reliability.duplicate_ids import accept_duplicate_ids
from tests.reliability.postback_sender import PostbackSender
from tests.reliability.worker_programs import vault_rows
from tests.support.sales import sale_at
from tests.support.server_programs import ServerProgram, postgres_server, redis_server

_CALM_SECONDS: Final = 0.2
"""The longest time between two restarts."""

_PAUSE_SECONDS: Final = 0.3
_LEASE_SECONDS: Final = 1.5
_MANY: Final = 1_000_000
"""Rows or records of a source that is stopped before its end."""

_RATE: Final = 200.0
"""Calls per second of a migration, so that it leaves time to its neighbours."""

_SEED: Final = 20261123


async def _disturb(server: ServerProgram, count: int, wait_for_progress: Callable[[], Awaitable[object]]) -> None:
    """Restart and pause a server in turn, and wait after each time until the clients have recovered."""
    random = Random(_SEED)  # noqa: S311  no secret
    for number in range(count):
        await anyio.sleep(random.uniform(0, _CALM_SECONDS))
        disturb = partial(server.pause, _PAUSE_SECONDS) if number % 2 else server.restart
        await anyio.to_thread.run_sync(disturb)
        await wait_for_progress()


# --- Redis


async def _disturb_leases(server: ServerProgram, count: int) -> Result:
    """Let two tills sell at one terminal under leases."""
    async with Sandbox(terminal_delay=0.0) as sandbox, _till(sandbox, server) as one, _till(sandbox, server) as other:

        async def sell(_: AsyncGateway, name: str) -> object:
            till = (one, other)[int(name[1:]) % 2]
            return await till.router_transactions.create(sale_at(sandbox.terminal_id, name, "1.00"))

        traffic = ContinuousTraffic(one, sell)
        async with traffic.running():
            await traffic.wait_for(1)
            await _disturb(server, count, partial(traffic.wait_for, 2))
        return traffic.compare(sandbox.ledger()["charged"], count)


@asynccontextmanager
async def _till(sandbox: Sandbox, server: ServerProgram) -> AsyncIterator[AsyncGateway]:
    lease = RedisTerminalLease(server.url, owner="till", seconds=_LEASE_SECONDS)
    async with sandbox.gateway(terminal_lease=lease, **OPTIONS) as gateway:
        yield gateway


async def _disturb_rate(server: ServerProgram, count: int) -> Result:
    """Let a migration keep a rate that is in Redis."""
    with TemporaryDirectory() as folder:
        async with Sandbox() as sandbox:
            rate = RedisRate(server.url, _RATE)
            migration = _Migration(sandbox, Path(folder, "cards.journal"), rate)
            async with migration.running():
                await _disturb(server, count, migration.wait_for_progress)
            await rate.aclose()
            return migration.compare(count)


class _Migration:
    """A migration that runs until it is stopped."""

    def __init__(self, sandbox: Sandbox, journal: Path | Journal, rate: RedisRate | float) -> None:
        self._sandbox = sandbox
        self._journal = journal
        self._rate = rate
        self._is_stopped = False
        self._stored = 0
        self._unknown = 0

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Migrate rows during a block."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._migrate)
            try:
                yield
            finally:
                self._is_stopped = True

    async def wait_for_progress(self) -> None:
        """Wait until more rows are stored."""
        before = self._stored
        while self._stored == before:
            await anyio.sleep(0.01)

    def compare(self, count: int) -> Result:
        """Compare the report with the gateway's records."""
        times = self._sandbox.ledger()["stored"]
        return Result(
            count=count,
            double=sum(number - 1 for number in times.values()),
            lost=max(0, abs(len(times) - self._stored) - self._unknown),
            unknown=self._unknown,
        )

    async def _migrate(self) -> None:
        async with self._sandbox.gateway() as gateway:
            report = await migrate_vaults(
                gateway,
                vault_rows(_MANY),
                journal=self._journal,
                concurrency=16,
                rate=self._rate,
                stop_when=lambda report: self._look_at(report.stored),
            )
        self._stored, self._unknown = report.stored, report.unknown

    def _look_at(self, stored: int) -> str | None:
        self._stored = stored
        return "stopped" if self._is_stopped else None


# --- PostgreSQL


async def _disturb_postgres(server: ServerProgram, count: int) -> Result:
    """Let sales, postbacks and a migration use the server at the same time."""
    async with Sandbox() as sandbox, Sandbox() as vault:
        ledger = PostgresLedger(server.url)
        migration = _Migration(vault, PostgresJournal(server.url, "cards"), _RATE)
        async with sandbox.gateway(ledger=ledger, **OPTIONS) as gateway, _postbacks(server) as postbacks:
            traffic = ContinuousTraffic(gateway, send_sale)

            async def wait_for_progress() -> None:
                await traffic.wait_for(1)
                await migration.wait_for_progress()
                await postbacks.wait_for_progress()

            async with postbacks.running(), traffic.running(), migration.running():
                await wait_for_progress()
                await _disturb(server, count, wait_for_progress)
            results = [traffic.compare(sandbox.ledger()["charged"], count), migration.compare(0)]
            return add_up([*results, await postbacks.compare()])


class _Postbacks:
    """Postbacks that are sent to a receiver until it is stopped."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._receiver = make_receiver("postgres", store.location, store.table)
        self._sender = PostbackSender(_MANY, transport=httpx.ASGITransport(app=self._receiver.asgi))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Send and handle postbacks during a block, then handle the rest."""
        async with self._receiver:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._sender.send)
                try:
                    yield
                finally:
                    self._sender.stop()
            await wait_until_handled(self._store)

    async def wait_for_progress(self) -> None:
        """Wait until another postback is acknowledged."""
        before = self._sender.acknowledged
        while self._sender.acknowledged == before:
            await anyio.sleep(0.01)

    async def compare(self) -> Result:
        """Compare the effects of the handlers with the acknowledged postbacks."""
        return await compare_effects(self._store, self._sender.records, 0)


@asynccontextmanager
async def _postbacks(server: ServerProgram) -> AsyncIterator[_Postbacks]:
    store = Store(server.url, "postbacks")
    try:
        await make_tables(store)
        yield _Postbacks(store)
    finally:
        await store.close()


def _run(
    make_server: Callable[[Path], ServerProgram], disturb: Callable[[ServerProgram, int], Awaitable[Result]], count: int
) -> Result:
    logging.disable(logging.CRITICAL)  # each failure is logged
    try:
        with accept_duplicate_ids(), TemporaryDirectory() as folder, make_server(Path(folder)) as server:
            return anyio.run(disturb, server, count)
    finally:
        logging.disable(logging.NOTSET)


_REDIS: Final = Condition(
    key="restart-redis-leases",
    text="Redis restarted and paused under leases of terminals",
    count=200,
    short_count=2,
    run=partial(_run, redis_server, _disturb_leases),
    needs=("GATEWAY_TEST_REDIS", "redis-server"),
)
_POSTGRES: Final = Condition(
    key="restart-postgres",
    text="PostgreSQL restarted and paused under a ledger, an inbox and a journal",
    count=100,
    short_count=2,
    run=partial(_run, postgres_server, _disturb_postgres),
    needs=("GATEWAY_TEST_POSTGRES", "initdb"),
)

RESTART_CONDITIONS: Final = (
    _REDIS,
    attrs.evolve(
        _REDIS,
        key="restart-redis-rate",
        text="Redis restarted and paused under the rate of a migration",
        run=partial(_run, redis_server, _disturb_rate),
    ),
    _POSTGRES,
)
