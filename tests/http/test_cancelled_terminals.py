"""Hundreds of router calls are cancelled in each phase: nothing stays behind, and the pool is as large as before."""

import asyncio
import functools
import ssl

import anyio
import anyio.abc
import attrs
import pytest

from gateway_async import AsyncGateway, RouterTransactionCreate
from gateway_async._execution import lease_holder, lookup
from gateway_async._http.transport import PooledTransport
from gateway_async.telemetry.health import PoolUse
from tests.support.scripted_server import Peer, Script, gateway_at, never_respond, serving, until
from tests.support.waiting import PATIENCE

# Each lookup of a cancelled call takes its time, so on one event loop.
pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio"])]

ROUNDS = 2
AT_ONCE = 200
"""As many connections as a pool sets up at a time."""


@attrs.frozen
class Phase:
    """Where the calls are when they are cancelled."""

    script: Script = never_respond
    secured: bool = False
    steps: int = 0


PHASES = {
    "taking a lease": Phase(steps=2),
    "just begun": Phase(steps=3),
    "connecting": Phase(secured=True),
    "sending": Phase(steps=12),
    "waiting": Phase(),
}


class Leases:
    """A store of leases that takes a moment, and remembers what is held."""

    def __init__(self) -> None:
        self.owner = "till-7"
        self.seconds = 30.0
        self.wait: float | None = None
        self.held: set[tuple[str, str]] = set()
        self.most = 0

    async def acquire(self, terminal_id: str, token: str, seconds: float | None = None) -> str | None:  # noqa: ARG002  stores are given it
        """Done, and then heard of: what is cancelled in between has been taken."""
        self.held.add((terminal_id, token))
        self.most = max(self.most, len(self.held))
        await anyio.lowlevel.checkpoint()
        return None

    async def release(self, terminal_id: str, token: str) -> None:
        """Done after a moment."""
        await anyio.lowlevel.checkpoint()
        self.held.discard((terminal_id, token))

    async def aclose(self) -> None:
        """Hold nothing."""


def client(peer: Peer, transport: PooledTransport, leases: Leases, *, secured: bool = False) -> AsyncGateway:
    """A client with a slot for each call at a terminal, whose lookups give up soon."""
    return gateway_at(
        peer.secure_url if secured else peer.url,
        timeout=0.2,
        max_terminals=AT_ONCE,
        block_unresolved_terminals=False,
        terminal_lease=leases,
        transport=transport,
    )


@pytest.mark.parametrize("phase", PHASES.values(), ids=PHASES)
async def test_cancellations(phase: Phase, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave no connection, slot, queue, lease or task behind; the pool is as large as before."""
    monkeypatch.setattr(lookup, "LOOKUP_SECONDS", 0.2)  # no lookup gets a response before its time limit
    monkeypatch.setattr(lease_holder, "_RELEASE_SECONDS", PATIENCE)  # one pass of the loop ends 200 calls
    leases, transport = Leases(), PooledTransport(max_terminals=AT_ONCE, verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
    async with serving(phase.script) as peer, client(peer, transport, leases, secured=phase.secured) as gateway:
        await anyio.wait_all_tasks_blocked()
        tasks = asyncio.all_tasks()
        for _ in range(ROUNDS):
            await begin_and_cancel(gateway, peer, phase)
        pool = transport._pools["terminal"]
        await peer.deserted()
        assert pool.use() == PoolUse(in_use=0, waiting=0, limit=AT_ONCE)
        assert pool._connect_slots.value == pool._connect_slots.max_value
        assert (pool._busy, pool._connecting) == (set(), set())
        assert gateway._executor._terminals._queues == {}
        assert (leases.most, leases.held) == (AT_ONCE, set())
        await until(lambda: asyncio.all_tasks() == tasks)  # the server needs a moment for its own


async def begin_and_cancel(gateway: AsyncGateway, peer: Peer, phase: Phase) -> None:
    """Start two hundred calls at as many terminals, and cancel them where the phase says."""
    async with anyio.create_task_group() as tasks:
        for number in range(AT_ONCE):
            tasks.start_soon(functools.partial(gateway.router_transactions.create, sale(number)))
        for _ in range(phase.steps):
            await anyio.lowlevel.checkpoint()
        if not phase.steps:
            await until(lambda: peer.open >= AT_ONCE)
        tasks.cancel_scope.cancel()


def sale(number: int) -> RouterTransactionCreate:
    """A sale at a terminal of its own."""
    return RouterTransactionCreate(action="sale", terminal_id=f"t{number}", transaction_amount="12.50")
