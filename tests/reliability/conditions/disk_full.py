"""Stores whose disk is full for a while: what was acknowledged is there, and the rest follows when there is room."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final, Self

import anyio
import attrs
import httpx

from gateway_async import SqliteLedger
from gateway_async.migration.journal.protocol import JournalEntry, RowState
from gateway_async.migration.migrate import migrate_vaults
from gateway_async.migration.output.rejects import Rejects
from gateway_async.migration.output.tables import InputFormat, write_vault_ids
from gateway_async.migration.report import Report
from gateway_async.migration.rows.row import VaultRow
from gateway_async.sandbox import Sandbox
from tests.migration.journals import end
from tests.postbacks.inboxes import opened
from tests.postbacks.receiver_process import make_receiver
from tests.reliability.condition import Condition, Result, add_up
from tests.reliability.conditions.receiver_kills import compare_effects, make_tables, wait_until_handled
from tests.reliability.continuous_traffic import OPTIONS, ContinuousTraffic, send_sale
from tests.reliability.duplicate_ids import accept_duplicate_ids
from tests.reliability.postback_sender import CHANGES, PostbackSender
from tests.reliability.worker_programs import vault_rows
from tests.support.ledgers import LedgerFile
from tests.support.sqlite_files import full_disk

_WRITES: Final = 20
"""The maximum number of writes between two times with a full disk."""

_ROWS: Final = 400
"""Rows of a migration for each time with a full disk."""

_FULL_IN_A_MIGRATION: Final = 3
"""How often a disk is full under one migration."""

_FULL_SECONDS: Final = 0.05
_SEED: Final = 20261123


class _Disk:
    """A folder whose disk is full again and again.

    A file may grow by some bytes first, so that some writes are made in part.
    """

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)
        self.random = Random(_SEED)  # noqa: S311  no secret

    def limit(self) -> int:
        """Return a size beyond which no file grows now."""
        largest = max(file.stat().st_size for file in self.folder.iterdir())
        return self.random.randint(1, 2 * largest + 1)

    async def fill(self, count: int, wait_for: Callable[[int], Awaitable[object]]) -> None:
        """Fill the disk so often, each time after some writes."""
        for _ in range(count):
            await wait_for(self.random.randint(1, _WRITES))
            with full_disk(self.limit()):
                await anyio.sleep(self.random.uniform(0, _FULL_SECONDS))


async def _fill_under_ledger(disk: _Disk, count: int) -> Result:
    path = disk.folder / "payments.db"
    async with Sandbox() as sandbox:
        async with sandbox.gateway(ledger=SqliteLedger(path), **OPTIONS) as gateway:
            traffic = ContinuousTraffic(gateway, send_sale)
            async with traffic.running():
                await traffic.wait_for(1)
                await disk.fill(count, traffic.wait_for)
                await traffic.wait_for(1)
        result = traffic.compare(sandbox.ledger()["charged"], count)
    file = LedgerFile(path)
    still_open = len(file.open_intents())
    file.close()
    problems = (f"{still_open} intents are open, and {result.unknown} outcomes unknown",)
    return result if still_open == result.unknown else attrs.evolve(result, problems=problems)


async def _fill_under_sandbox(disk: _Disk, count: int) -> Result:
    path = disk.folder / "sandbox.db"
    async with Sandbox(data=path) as sandbox, sandbox.gateway(**OPTIONS) as gateway:
        traffic = ContinuousTraffic(gateway)
        async with traffic.running():
            await disk.fill(count, traffic.wait_for)
            await traffic.wait_for(1)
    async with Sandbox(data=path) as sandbox:
        page = sandbox.ledger()
    return traffic.compare({**page["charged"], **page["stored"]}, count)


async def _fill_under_inbox(disk: _Disk, count: int) -> Result:
    records = count * _WRITES // CHANGES + 1
    async with opened("sqlite", disk.folder) as store:
        await make_tables(store)
        receiver = make_receiver("sqlite", store.location)
        sender = PostbackSender(records, transport=httpx.ASGITransport(app=receiver.asgi))

        async def wait_for(number: int) -> None:
            wanted = min(sender.acknowledged + number, records * CHANGES - 1)
            while sender.acknowledged < wanted:
                await anyio.sleep(0.001)

        async with receiver, anyio.create_task_group() as tasks:
            tasks.start_soon(sender.send)
            await disk.fill(count, wait_for)
        async with receiver:
            await wait_until_handled(store)
        return await compare_effects(store, records, count)


class _JournalDisk:
    """Fills the disk under a journal each time that some rows were stored, until the migration waits for it."""

    def __init__(self, disk: _Disk, count: int) -> None:
        self.left = count
        self._disk = disk
        self._stored = 0
        self._full = ExitStack()
        self._is_full = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._full.close()

    def watch(self, report: Report) -> None:
        """Look at the report of the migration."""
        if self._is_full and report.waits_for:
            self._full.close()
            self._is_full, self._stored, self.left = False, report.stored, self.left - 1
        elif not self._is_full and not report.waits_for and self.left and report.stored > self._stored:
            self._full.enter_context(full_disk(self._disk.limit()))
            self._is_full = True


async def _fill_under_journal(disk: _Disk, count: int) -> Result:
    """Run migrations until the disk was full often enough; a long journal seldom reaches its limit."""
    results: list[Result] = []
    while (applied := sum(result.count for result in results)) < count and len(results) < count:
        journal = disk.folder / f"{len(results)}.journal"
        results.append(await _migrate_on_full_disk(disk, journal, min(count - applied, _FULL_IN_A_MIGRATION)))
    return add_up(results)


async def _migrate_on_full_disk(disk: _Disk, journal: Path, count: int) -> Result:
    rows = _ROWS * count
    with _JournalDisk(disk, count) as watch:
        async with Sandbox() as sandbox, sandbox.gateway() as gateway:
            report = await migrate_vaults(gateway, vault_rows(rows), journal=journal, on_progress=watch.watch)
            times = sandbox.ledger()["stored"]
    return Result(
        count=count - watch.left,
        double=sum(number - 1 for number in times.values()),
        lost=rows - len(times) + abs(report.stored - len(times)),
        unknown=report.unknown,
    )


async def _fill_under_outputs(disk: _Disk, count: int) -> Result:
    """Write vault ids and rejects again and again; a file is the previous one or complete."""
    problems: list[str] = []
    for number in range(count):
        for path, write in _OUTPUTS.items():
            place = disk.folder / path
            await write(place, number)
            previous, size = place.read_bytes(), disk.random.randint(1, place.stat().st_size)
            with full_disk(size):
                try:
                    await write(place, number + 1)
                    problems.append(f"{path}: no error, with room for {size} bytes")
                except OSError:
                    pass
            if place.read_bytes() != previous:
                problems.append(f"{path}: changed, with room for {size} bytes")
    problems += [f"{left.name}: left behind" for left in disk.folder.glob("*.part")]
    return Result(count=count * len(_OUTPUTS), problems=tuple(problems))


async def _write_vault_ids(path: Path, number: int) -> None:
    await write_vault_ids(path, _entries(number))


async def _entries(number: int) -> AsyncIterator[JournalEntry]:
    now = datetime.now(UTC)
    for key in range(number, number + _LINES):
        row = end(f"{key}", RowState.STORED, vault_id=f"v-{key}", last_four="1111", brand="visa")
        facts = {name: value for name, value in attrs.asdict(row).items() if name != "started"}
        yield JournalEntry(**facts, run=1, changed_at=now)


async def _write_rejects(path: Path, number: int) -> None:
    input_format = InputFormat(format="csv", columns=("key", "account_number"))
    rejects = Rejects(path, lambda: input_format)
    for line in range(number, number + _LINES):
        row = VaultRow(key=f"{line}", line=line, source={"key": f"{line}"}, problems=("exp_date: required",))
        rejects.add(row, end(f"{line}", RowState.REJECTED, reasons=("exp_date: required",)))
    rejects.close()


_LINES: Final = 500
_OUTPUTS: Final[dict[str, Callable[[Path, int], Awaitable[None]]]] = {
    "vault-ids.csv": _write_vault_ids,
    "rejects.csv": _write_rejects,
}

Fill = Callable[[_Disk, int], Awaitable[Result]]

_FILLS: Final[dict[str, tuple[str, Fill]]] = {
    "ledger": ("disk full under a ledger", _fill_under_ledger),
    "inbox": ("disk full under an inbox", _fill_under_inbox),
    "journal": ("disk full under the journal of a migration", _fill_under_journal),
    "sandbox": ("disk full under the database file of a sandbox", _fill_under_sandbox),
    "outputs": ("disk full under vault ids and rejects", _fill_under_outputs),
}


def _run(fill: Fill, count: int) -> Result:
    async def run_in(folder: str) -> Result:
        return await fill(_Disk(folder), count)

    logging.disable(logging.CRITICAL)  # a sandbox logs a traceback for each failed write
    try:
        with accept_duplicate_ids(), TemporaryDirectory() as folder:
            return anyio.run(run_in, folder)
    finally:
        logging.disable(logging.NOTSET)


DISK_CONDITIONS: Final = tuple(
    Condition(key=f"disk-full-{name}", text=text, count=100, short_count=3, run=partial(_run, fill))
    for name, (text, fill) in _FILLS.items()
)
