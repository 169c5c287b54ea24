"""`LeaseStore`: the leases of terminals that all machines share, as Redis keeps them."""

import asyncio
import random
from typing import Final

import attrs

from tests.simulation.network import Machine
from tests.simulation.schedule import LeaseLoss

_RESPONSE_SECONDS: Final = (0.0005, 0.01)
_TRUSTED_SECONDS: Final = 0.1
"""Seconds for which a client trusts a granted lease without asking again."""


@attrs.frozen
class _Held:
    token: str
    machine: Machine
    until: float


@attrs.define
class LeaseStore:
    """The store of leases.

    Attributes:
        loss: how a machine loses its next lease, until that has happened.
        held: the held leases, by terminal.
        has_lost: whether a machine has lost a lease.
    """

    loss: LeaseLoss | None = None
    held: dict[str, _Held] = attrs.field(factory=dict)
    has_lost: bool = False

    def grant(self, terminal_id: str, token: str, machine: Machine, seconds: float) -> None:
        """Grant or renew a lease."""
        now = asyncio.get_running_loop().time()
        machine.leased_until = now + seconds
        self.held[terminal_id] = _Held(token, machine, machine.leased_until)
        loss = self.loss
        if loss is not None and loss.till == machine.name and loss.at <= now:
            self.loss, self.has_lost = None, True
            machine.stalled_until = now + loss.stalled
            machine.cut_off_until = now + loss.cut_off
            if loss.is_flushed:
                del self.held[terminal_id]
                machine.leased_until = now + _TRUSTED_SECONDS


@attrs.define
class SimulatedLease:
    """A `TerminalLease` of one client process; a stopped one cannot reach the store.

    The lease is short, so it may end while a connection is opened.
    """

    store: LeaseStore
    machine: Machine
    owner: str
    seconds: float = 6.0
    wait: float | None = 90.0

    async def acquire(self, terminal_id: str, token: str, seconds: float | None = None) -> str | None:
        """Acquire or renew a lease; return its owner if another process has it."""
        await self._reach_store()
        now = asyncio.get_running_loop().time()
        held = self.store.held.get(terminal_id)
        if held is not None and held.until > now and held.token != token:
            return held.machine.name
        self.store.grant(terminal_id, token, self.machine, seconds or self.seconds)
        return None

    async def release(self, terminal_id: str, token: str) -> None:
        """Release a lease."""
        await self._reach_store()
        held = self.store.held.get(terminal_id)
        if held is not None and held.token == token:
            self.machine.leased_until = 0.0
            del self.store.held[terminal_id]

    async def aclose(self) -> None:
        """Do nothing: there is no connection."""

    async def _reach_store(self) -> None:
        await asyncio.sleep(random.uniform(*_RESPONSE_SECONDS))
        await self.machine.wait_while_stalled()
        if not self.machine.is_running:
            raise ConnectionError("the process has ended")
        if asyncio.get_running_loop().time() < self.machine.cut_off_until:
            raise ConnectionError("the lease store is unreachable")
