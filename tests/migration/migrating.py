"""A process that migrates cards, to be killed by `test_killed.py`: a line on standard output at last.

What the gateway says is stored already goes to a file, as soon as it says so: it was sent although it was stored.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio

from gateway_async import AsyncGateway, CardVaultCreate, ValidationError
from gateway_async.migration.migrate import migrate_vaults
from gateway_async.migration.rows.row import VaultRow
from gateway_async.observe import AttemptFailed, Event


def rows(count: int) -> Iterator[VaultRow]:
    """The same each time."""
    for number in range(count):
        request = CardVaultCreate(account_number="4111111111111111", exp_date="1230", account_vault_api_id=f"k{number}")
        yield VaultRow(key=f"key {number}", line=number + 1, request=request)


async def migrate(count: int, journal: str, again: str) -> None:
    """Migrate all rows."""

    def watch(event: Event) -> None:
        if isinstance(event, AttemptFailed) and isinstance(event.error, ValidationError):
            with Path(again).open("a") as file:
                file.write(f"{event.api_id}\n")

    async with AsyncGateway.from_env(observers=[watch]) as gateway:
        report = await migrate_vaults(gateway, rows(count), journal=journal, concurrency=32)
    print(json.dumps([report.stored, report.rejected, report.unknown, report.skipped]))  # noqa: T201


anyio.run(migrate, int(sys.argv[1]), sys.argv[2], sys.argv[3])
