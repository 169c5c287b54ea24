"""The commands of docs/guides/ledger.md that back up and restore a ledger."""

import shutil
import subprocess
from pathlib import Path

import asyncpg
import attrs
import pytest

from gateway_async import PostgresLedger, SqliteLedger
from tests.support.intents import SALE

from .documents import blocks

FILE, DUMP, RESTORE = (
    line.removeprefix("$ ")
    for block in blocks("docs/guides/ledger.md", "console")
    if block.headline == "Backup and restore"
    for line in block.text.splitlines()
)


def run(command: str, folder: Path) -> None:
    """Run a command of the document."""
    if not shutil.which(command.split(maxsplit=1)[0]):
        pytest.skip(f"install {command.split(maxsplit=1)[0]}")
    subprocess.run(command, cwd=folder, shell=True, check=True, stdout=subprocess.PIPE)  # noqa: S602  our own text


@pytest.mark.asyncio
async def test_a_copy_of_a_file_is_a_ledger(tmp_path: Path) -> None:
    """The copy is made while the file is in use, and has the open calls."""
    ledger = SqliteLedger(tmp_path / "payments.db")
    await ledger.record_intent(SALE)
    run(FILE, tmp_path)
    await ledger.aclose()
    copy = SqliteLedger(tmp_path / "backup.db")
    assert [intent.id for intent in await copy.open_intents()] == [SALE.id]
    await copy.aclose()


@pytest.mark.asyncio
async def test_a_restored_table_is_a_ledger(tmp_path: Path, ledger_database: str) -> None:
    """The dump is made while the table is in use; the restored one has the open calls, and takes new ones."""
    if not ledger_database:
        pytest.skip("set GATEWAY_TEST_POSTGRES=postgresql://postgres@127.0.0.1:5432/test")
    ledger = PostgresLedger(ledger_database)
    await ledger.record_intent(SALE)
    run(DUMP, tmp_path)
    await ledger.aclose()
    connection = await asyncpg.connect(ledger_database)
    await connection.execute("DROP TABLE payment_ledger")
    await connection.close()
    run(RESTORE, tmp_path)
    restored = PostgresLedger(ledger_database)
    await restored.record_intent(attrs.evolve(SALE, id="new"))
    assert [intent.id for intent in await restored.open_intents()] == [SALE.id, "new"]
    await restored.aclose()
