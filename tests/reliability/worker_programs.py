"""The programs that conditions run in worker processes, to kill them."""

import json
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import anyio
import attrs

from gateway_async import AsyncGateway
from gateway_async.migration.journal.protocol import Journal
from gateway_async.migration.journal.store import PostgresJournal
from gateway_async.migration.migrate import migrate_vaults
from gateway_async.migration.rows.row import VaultRow
from gateway_async.sandbox import Sandbox
from tests.postbacks import receiver_process
from tests.reliability.duplicate_ids import accept_duplicate_ids
from tests.reliability.worker_protections import WITHOUT, switch_off
from tests.support.processes import Process, start_function
from tests.support.sales import NEW_CARD


def start_worker(program: Callable[..., object], *arguments: Any) -> Process:
    """Start a program of this file in a process, without the protection that is switched off."""
    return start_function(run, program.__name__, os.environ.get(WITHOUT, ""), *arguments, stderr=None)


class RestartedWorker:
    """A program of this file in one process after the other.

    Args:
        program: the program.
        arguments: its arguments.
        reports: whether it prints an object when it is ready.

    Attributes:
        report: the object.
    """

    report: Any

    def __init__(self, program: Callable[..., object], *arguments: Any, reports: bool = False) -> None:
        self._program = program
        self._arguments = arguments
        self._reports = reports
        self._start()

    def restart(self) -> None:
        """Kill it and start the next."""
        self.kill()
        self._start()

    def kill(self) -> None:
        """Kill it.

        Raises:
            RuntimeError: it has ended by itself.
        """
        if not self._worker.crash():
            raise RuntimeError(f"{self._program.__name__} has ended by itself")

    def _start(self) -> None:
        self._worker = start_worker(self._program, *self._arguments)
        if self._reports:
            self.report = self._worker.receive()


def run(program: str, without: str, *arguments: Any) -> None:
    """Run a program in this process; `without` names a protection to switch off."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent kills its workers
    with switch_off(without):
        globals()[program](*arguments)


def send(value: object) -> None:
    """Print an object for the parent."""
    print(json.dumps(value), flush=True)  # noqa: T201


def vault_rows(count: int) -> Iterator[VaultRow]:
    """Yield the rows of a migration, the same each time."""
    for number in range(count):
        request = attrs.evolve(NEW_CARD, account_vault_api_id=f"k{number}")
        yield VaultRow(key=f"key {number}", line=number + 1, request=request)


def migrate(environment: Mapping[str, str], count: int, store: str, table: str) -> None:
    """Migrate some rows, and send how many were stored, rejected, unknown and skipped.

    The journal is a file, or a table of the PostgreSQL at the address `store`.
    """
    os.environ.update(environment)
    journal = PostgresJournal(store, "cards", table=table) if table else Path(store)
    send(anyio.run(_migrate, count, journal))


async def _migrate(count: int, journal: Path | Journal) -> tuple[int, int, int, int]:
    async with AsyncGateway.from_env() as gateway:
        report = await migrate_vaults(gateway, vault_rows(count), journal=journal, concurrency=32)
    return report.stored, report.rejected, report.unknown, report.skipped


def receive_postbacks(port: int, kind: str, location: str, table: str) -> None:
    """Receive postbacks into an inbox and handle them, until killed."""
    anyio.run(receiver_process.main, port, kind, location, table)


def serve_sandbox(port: int, path: str) -> None:
    """Serve a sandbox with a database file until killed, and send its environment."""
    with accept_duplicate_ids(), Sandbox(port, data=path) as sandbox:
        send(sandbox.environment())
        while True:
            signal.pause()
