"""A disk that is full under the journal: nothing more is sent, that is said, and it goes on when there is room."""

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path

import anyio
import pytest

from gateway_async import CardVaultCreate
from gateway_async.migration.journal.protocol import RowState
from gateway_async.migration.journal.store import SqliteJournal
from gateway_async.migration.migrate import migrate_vaults
from gateway_async.migration.report import Report
from gateway_async.migration.rows.row import VaultRow
from gateway_async.sandbox import Sandbox
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio
SIZE = "16m"
ROWS = 1200


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(folder)]
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        pytest.skip("only root of a Linux may mount a small disk")
    made = subprocess.run(mount, check=False, capture_output=True, text=True)  # noqa: S603  our own words
    if made.returncode:
        pytest.skip(f"a small disk cannot be mounted here: {made.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)  # noqa: S603, S607  what was mounted above


def fill(disk: Path) -> Path:
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"x" * 4096)
    return filler


class Watch:
    """Fills the disk when some rows are stored, and makes room when the migration has waited for a while.

    Attributes:
        waited: what the report said it waits for, without the place.
        sent: how many attempts had been made when it began to wait, and when it had waited.
    """

    def __init__(self, disk: Path, sandbox: Sandbox) -> None:
        self._disk = disk
        self._sandbox = sandbox
        self._filler: Path | None = None
        self._looks = 0
        self.waited = ""
        self.sent: list[int] = []

    def look(self, report: Report) -> None:
        if report.stored > 100 and self._filler is None:
            self._filler = fill(self._disk)
        if report.waits_for and not self.waited and self._filler:
            self._looks += 1
            if self._looks in {5, 10}:  # what was under way when it began to wait is over
                self.sent.append(len(self._sandbox.ledger()["stored"]))
            if self._looks == 10:
                self.waited = report.waits_for.partition(": ")[2]
                self._filler.unlink()


async def rows(count: int) -> AsyncIterator[VaultRow]:
    for number in range(count):
        request = CardVaultCreate(account_number="4111111111111111", exp_date="1230", account_vault_api_id=f"k{number}")
        yield VaultRow(key=f"{number:0200}", line=number + 1, request=request)


async def test_a_full_disk(disk: Path) -> None:
    """The migration waits, and stores each row once in the end."""
    path = disk / "cards.journal"
    async with Sandbox() as sandbox, sandbox.gateway() as gateway:
        watch = Watch(disk, sandbox)
        with anyio.fail_after(PATIENCE):
            report = await migrate_vaults(gateway, rows(ROWS), journal=path, on_progress=watch.look)
        assert sandbox.ledger()["stored"] == {f"k{number}": 1 for number in range(ROWS)}
    assert watch.waited in {"the disk is full", "the disk failed, or is full"}
    before, after = watch.sent
    assert 100 < before == after < ROWS
    assert (report.stored, report.waits_for, report.complete) == (ROWS, "", True)
    journal = SqliteJournal(path)
    assert await journal.counts() == {RowState.STORED: ROWS}
    await journal.aclose()
