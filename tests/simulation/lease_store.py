"""`LeaseStore`: the leases of terminals that all machines share, as Redis keeps them."""

import asyncio
import random
from typing import Final

import attrs

from tests.simulation.network import Machine

__all__ = ["LeaseStore", "SimulatedLease"]

_RESPONSE_SECONDS: Final = (0.0005, 0.01)


@attrs.frozen
class _Held:
    token: str
    owner: str
    until: float


@attrs.define
class LeaseStore:
    """The held leases, by terminal."""

    held: dict[str, _Held] = attrs.field(factory=dict)


@attrs.define
class SimulatedLease:
    """A `TerminalLease` of one client process; a stopped one cannot reach the store."""

    store: LeaseStore
    machine: Machine
    owner: str
    seconds: float = 30.0
    wait: float | None = 90.0

    async def acquire(self, terminal_id: str, token: str, seconds: float | None = None) -> str | None:
        """Acquire or renew a lease; return its owner if another process has it."""
        await self._reach_store()
        now = asyncio.get_running_loop().time()
        held = self.store.held.get(terminal_id)
        if held is not None and held.until > now and held.token != token:
            return held.owner
        self.store.held[terminal_id] = _Held(token, self.owner, now + (seconds or self.seconds))
        return None

    async def release(self, terminal_id: str, token: str) -> None:
        """Release a lease."""
        await self._reach_store()
        held = self.store.held.get(terminal_id)
        if held is not None and held.token == token:
            del self.store.held[terminal_id]

    async def aclose(self) -> None:
        """Do nothing: there is no connection."""

    async def _reach_store(self) -> None:
        await asyncio.sleep(random.uniform(*_RESPONSE_SECONDS))
        if not self.machine.is_running:
            raise ConnectionError("the process has ended")
