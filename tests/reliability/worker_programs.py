"""The programs that conditions run in worker processes, to kill them."""

import os
import signal
from collections.abc import Callable, Iterator, Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import anyio

from gateway_async import AsyncGateway, CardVaultCreate
from gateway_async.migration.journal.protocol import Journal
from gateway_async.migration.journal.store import PostgresJournal
from gateway_async.migration.migrate import migrate_vaults
from gateway_async.migration.rows.row import VaultRow
from gateway_async.sandbox import Sandbox
from tests.postbacks import receiver_process
from tests.reliability.duplicate_ids import accept_duplicate_ids
from tests.reliability.worker_protections import switch_off

__all__ = ["Program", "migrate", "receive_postbacks", "run", "serve_sandbox", "vault_rows"]

Program = Callable[..., object]


def run(program: Program, without: str, sender: Connection, *arguments: Any) -> None:
    """Run a program in this process; `without` names a protection to switch off."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent kills its workers
    with switch_off(without):
        program(sender, *arguments)


def vault_rows(count: int) -> Iterator[VaultRow]:
    """Yield the rows of a migration, the same each time."""
    for number in range(count):
        request = CardVaultCreate(account_number="4111111111111111", exp_date="1230", account_vault_api_id=f"k{number}")
        yield VaultRow(key=f"key {number}", line=number + 1, request=request)


def migrate(sender: Connection, environment: Mapping[str, str], count: int, store: str, table: str) -> None:
    """Migrate some rows, and send how many were stored, rejected, unknown and skipped.

    The journal is a file, or a table of the PostgreSQL at the address `store`.
    """
    os.environ.update(environment)
    journal = PostgresJournal(store, "cards", table=table) if table else Path(store)
    sender.send(anyio.run(_migrate, count, journal))


async def _migrate(count: int, journal: Path | Journal) -> tuple[int, int, int, int]:
    async with AsyncGateway.from_env() as gateway:
        report = await migrate_vaults(gateway, vault_rows(count), journal=journal, concurrency=32)
    return report.stored, report.rejected, report.unknown, report.skipped


def receive_postbacks(_sender: Connection, port: int, kind: str, location: str, table: str) -> None:
    """Receive postbacks into an inbox and handle them, until killed."""
    anyio.run(receiver_process.main, port, kind, location, table)


def serve_sandbox(sender: Connection, port: int, path: str) -> None:
    """Serve a sandbox with a database file until killed, and send its environment."""
    with accept_duplicate_ids(), Sandbox(port, data=path) as sandbox:
        sender.send(sandbox.environment())
        while True:
            signal.pause()
