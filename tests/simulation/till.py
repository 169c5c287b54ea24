"""`Till`: a machine with the real client and its real ledger, with crashes and restarts."""

import asyncio
from collections.abc import Coroutine
from contextvars import copy_context
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

from gateway_async import AsyncGateway, GatewayError, SqliteLedger, UserApiKey
from gateway_async._storage.backends import SqliteBackend
from gateway_async.crash_testing.report import CallOutcome
from gateway_async.ledger import StoredIntent
from gateway_async.ledger._operations import entries_after
from gateway_async.sandbox.runtime.gateway import SandboxInfo
from tests.simulation.faults import IN_DOUBT_SECONDS
from tests.simulation.gateway import ADDRESS
from tests.simulation.lease_store import LeaseStore, SimulatedLease
from tests.simulation.ledger_writer import VirtualWriter
from tests.simulation.network import MACHINE, Machine, VirtualNetwork

T = TypeVar("T")

TIMEOUT_SECONDS = 12.0
TERMINAL_SECONDS = 20.0


class Till:
    """A machine that makes payments.

    Args:
        name: the name of the machine.
        ledger: the path of its ledger.
        info: the credentials.
        leases: the leases that it shares with other machines.
        network: connects it to the gateway.

    Attributes:
        client: the client of the running process.
        machine: the running process.
        calls: what the ledger says about every call; empty until the till is closed.
        has_crashed: whether a process has crashed here.
    """

    client: AsyncGateway
    machine: Machine

    def __init__(self, name: str, ledger: Path, info: SandboxInfo, leases: LeaseStore, network: VirtualNetwork) -> None:
        self._name = name
        self._path = ledger
        self._info = info
        self._leases = leases
        self._network = network
        self._ledger: SqliteLedger
        self._tasks: list[asyncio.Task[Any]] = []
        self._on_disk: bytes | None = None
        self.calls: list[CallOutcome] = []
        self.has_crashed = False

    def start(self) -> None:
        """Start a process with a new client."""
        self._on_disk = self._path.read_bytes() if self._path.exists() else None
        self.machine = Machine(self._name)
        self._ledger = SqliteLedger(self._path)
        host, port = ADDRESS
        self.client = AsyncGateway(
            f"http://{host}:{port}",
            developer_id=self._info.developer_id,
            credentials=UserApiKey(self._info.user_id, self._info.user_api_key),
            location_id=self._info.location_id,
            timeout=TIMEOUT_SECONDS,
            terminal_timeout=TERMINAL_SECONDS,
            in_doubt_seconds=IN_DOUBT_SECONDS,
            terminal_lease=SimulatedLease(self._leases, self.machine, self._name),
            ledger=self._ledger,
        )

    def run(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run a task in the process; it ends when the process ends."""
        context = copy_context()
        context.run(MACHINE.set, self.machine)
        task = asyncio.get_running_loop().create_task(work, context=context)
        self._tasks.append(task)
        return task

    def crash(self, *, loses_power: bool) -> None:
        """End the process at once; a loss of power also takes what was not synced to the disk.

        Python cannot end its tasks without running their clean-up. The clean-up therefore finds no network, no ledger
        and no lease store, and what it returns is ignored.
        """
        self._network.log(f"{self._name} {'loses power' if loses_power else 'crashes'}")
        self.has_crashed = True
        self._network.stop(self.machine)
        writer = cast("VirtualWriter", self._ledger._store.writer)
        writer.stop()
        if loses_power and not writer.is_synced:
            self._restore_disk()
        for task in self._tasks:
            task.cancel()

    def _restore_disk(self) -> None:
        """Replace the ledger by what was certainly on the disk."""
        if self._on_disk is None:
            self._path.unlink(missing_ok=True)
        else:
            self._path.write_bytes(self._on_disk)

    async def finish(self) -> None:
        """Wait for all tasks, also for those of crashed processes."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def look_around(self) -> None:
        """Read an empty list and records that do not exist, as a till does that shows what was sold.

        Each read leaves a connection behind.
        """
        transactions = self.client.transactions
        lists = [transactions.list({"transaction_api_id": "missing"}).first() for _ in range(2)]
        reads = [*lists, *[transactions.get("missing") for _ in range(2)]]
        for error in await asyncio.gather(*reads, return_exceptions=True):
            if isinstance(error, BaseException) and not isinstance(error, GatewayError):
                raise error

    async def recover(self, wait: float) -> int:
        """Recover the open intents; return how many are still unknown."""
        unknown = 0
        for each in await self.client.recover(wait=wait):
            self._network.log(f"{self._name} recovers {each.call} {each.api_id}: {each.outcome}")
            unknown += each.outcome == "unknown"
        return unknown

    async def close(self) -> None:
        """Close the client, and read from its ledger what it says about every call."""
        writer = cast("VirtualWriter", self._ledger._store.writer)
        writer.commit()
        entries = cast("SqliteBackend", writer._backend).run(partial(entries_after, "", -1))
        self.calls = [_call_outcome(entry) for entry in entries]
        await self.client.aclose()


def _call_outcome(entry: StoredIntent) -> CallOutcome:
    return CallOutcome(
        call=entry.intent.call,
        api_id=entry.intent.api_id,
        outcome=entry.outcome or "unknown",
        record_id=entry.record_id,
    )
