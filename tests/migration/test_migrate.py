"""`migrate_vaults` against the sandbox, on a bad day too."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import pytest

from gateway_async import AsyncGateway, CardVaultCreate, ContactCreate, JournalError
from gateway_async.migration.journal.protocol import Journal, JournalRun, RowResult, RowStarted, RowState
from gateway_async.migration.journal.store import PostgresJournal, SqliteJournal
from gateway_async.migration.migrate import migrate_vaults
from gateway_async.migration.report import Report, Totals
from gateway_async.migration.rows.row import VaultRow, create_row_task, fingerprint_of, with_former_key
from gateway_async.migration.sources.files import read_rows
from gateway_async.sandbox import Sandbox
from gateway_async.sandbox.simulators.faults import FaultName
from tests.support.ledgers import ask_postgres
from tests.support.servers import POSTGRES, postgres_only

pytestmark = pytest.mark.anyio
STORE = "POST /v2/accountvaults"
FAULTS: tuple[FaultName, ...] = (
    *("reset_before_commit", "reset_after_commit", "close_after_commit", "error_before_commit", "error_after_commit"),
    *("cut_body", "duplicate_response", "wrong_response", "garbage", "html", "empty"),
)


def card(number: int, **fields: Any) -> CardVaultCreate:
    given: dict[str, Any] = {"account_number": "4111111111111111", "exp_date": "1230", **fields}
    return CardVaultCreate(account_vault_api_id=f"k{number}", **given)


async def test_a_migration(gateway: AsyncGateway, sandbox: Sandbox, tmp_path: Path) -> None:
    """Each row once; the journal has what was stored, and nothing of the card but the last four digits."""
    path = tmp_path / "cards.journal"
    rows = [card(number) for number in range(300)]
    reports: list[int] = []
    report = await migrate_vaults(gateway, rows, journal=path, on_progress=lambda now: reports.append(now.stored))
    assert (report.name, report.stored, report.complete, report.in_flight) == ("cards", 300, True, 0)
    assert reports[-1] == 300
    again = await migrate_vaults(gateway, [*rows, card(300)], journal=path, name="cards")
    assert (again.stored, again.skipped) == (1, 300)
    assert sandbox.ledger()["stored"] == {f"k{number}": 1 for number in range(301)}
    journal = SqliteJournal(path)
    (entry,) = await journal.entries(limit=1)
    await journal.aclose()
    assert (entry.key, entry.last_four, entry.brand, entry.state) == ("k0", "1111", "visa", RowState.STORED)
    assert entry.vault_id
    assert b"411111111111" not in path.read_bytes()


async def test_a_bad_day(gateway: AsyncGateway, sandbox: Sandbox, tmp_path: Path) -> None:
    """A twentieth of all stores goes wrong, in every way: no row is doubled or lost."""
    for seed, fault in enumerate(FAULTS):
        sandbox.fault(STORE, fault, probability=0.05 / len(FAULTS), seed=seed, seconds=0.05)
    report = await migrate_vaults(gateway, map(card, range(600)), journal=tmp_path / "cards.journal")
    assert (report.stored, report.unknown, report.rejected) == (600, 0, 0)
    assert report.failed_attempts > 10
    assert sandbox.ledger()["stored"] == {f"k{number}": 1 for number in range(600)}


async def test_what_the_gateway_refuses(gateway: AsyncGateway, sandbox: Sandbox, tmp_path: Path) -> None:
    rows = [card(1, contact_id="f" * 24), card(2, exp_date="9999"), card(3), card(3, title="another")]
    reasons: dict[str, tuple[str, ...]] = {}

    def note(row: VaultRow, end: RowResult) -> None:
        reasons[row.key] = end.reasons or reasons.get(row.key, ())

    report = await migrate_vaults(gateway, rows, journal=tmp_path / "cards.journal", on_row=note)
    assert (report.stored, report.rejected, report.repeated) == (1, 2, 1)
    assert reasons["k1"][0].startswith("contact_id: ")
    assert reasons["k2"][0].startswith("exp_date: ")
    assert reasons["k3"] == ("key: another row has the same key",)


async def test_what_was_mended_at_the_gateway(gateway: AsyncGateway, tmp_path: Path) -> None:
    path, rows = tmp_path / "cards.journal", [card(1), card(2, contact_api_id="ann")]
    assert (await migrate_vaults(gateway, rows, journal=path)).rejected == 1
    await gateway.contacts.create(ContactCreate(last_name="Ann", contact_api_id="ann"))
    again = await migrate_vaults(gateway, rows, journal=path)
    assert (again.stored, again.skipped, again.rejected) == (0, 1, 1)
    retried = await migrate_vaults(gateway, rows, journal=path, retry_rejected=True)
    assert (retried.stored, retried.skipped, retried.rejected) == (1, 1, 0)


@postgres_only
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_journal_in_postgres(gateway: AsyncGateway, sandbox: Sandbox) -> None:
    reports: list[Report] = []
    rows = [*map(card, range(400)), *map(card, range(0, 400, 40)), card(0, title="another")]

    async def migrate() -> None:
        journal: Journal = PostgresJournal(POSTGRES, "cards", table="journal_of_two")
        reports.append(await migrate_vaults(gateway, rows, journal=journal))

    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(migrate)
            tasks.start_soon(migrate)
    finally:
        ask_postgres("DROP TABLE journal_of_two, journal_of_two_runs, journal_of_two_not_started")
    assert [report.ended for report in reports] == [Totals(stored=400, repeated=11)] * 2
    assert reports[1].totals == reports[0].ended
    assert sandbox.ledger()["stored"] == {f"k{number}": 1 for number in range(400)}


FORMER_TABLES = """
CREATE TABLE migration (name TEXT NOT NULL, runs INTEGER NOT NULL, gateway TEXT NOT NULL DEFAULT '');
CREATE TABLE vaults (
    number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, api_id TEXT NOT NULL, state TEXT NOT NULL,
    fingerprint TEXT NOT NULL, line INTEGER, reasons TEXT NOT NULL DEFAULT '[]', vault_id TEXT, last_four TEXT,
    brand TEXT, run INTEGER NOT NULL, changed_at TEXT NOT NULL
);
PRAGMA application_id = 0x67774A31;
PRAGMA user_version = 1;
INSERT INTO migration VALUES ('cards', 1, '');
"""


@pytest.mark.parametrize("key_column", ["key", "account_vault_api_id"])
async def test_a_run_of_an_earlier_version_goes_on(
    gateway: AsyncGateway, sandbox: Sandbox, tmp_path: Path, key_column: str
) -> None:
    path, cards = tmp_path / "cards.journal", tmp_path / "cards.csv"
    given = [f"{key},4111111111111111,1230" for key in ("1001.0", "1002.0", "1003.0")]
    cards.write_text("\n".join([f"{key_column},account_number,exp_date", *given]))
    rows = [with_former_key(row) async for row in read_rows(cards)]
    assert [row.key for row in rows] == ["1001.0", "1002.0", "1003.0"]
    tasks = [create_row_task(row, row.request, "cards", 1).journal_row for row in rows if row.request]
    with closing(sqlite3.connect(path)) as file:
        file.executescript(FORMER_TABLES)
        for task, state, line in zip(tasks, ("stored", "sending"), (2, 3), strict=False):
            values = (task.key, task.api_id, state, task.fingerprint, line, "v", "1111", 1, "2026-01-01T00:00:00+00:00")
            file.execute(
                "INSERT INTO vaults (key, api_id, state, fingerprint, line, vault_id, last_four, run, changed_at) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                values,
            )
        file.commit()
    for stored, skipped in ((2, 1), (0, 3)):
        report = await migrate_vaults(gateway, read_rows(cards), journal=path)
        assert (report.stored, report.skipped, report.totals) == (stored, skipped, Totals(stored=3))
    assert sandbox.ledger()["stored"] == {task.api_id: 1 for task in tasks[1:]}


@postgres_only
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_tables_of_an_earlier_version_get_what_they_lack() -> None:
    columns = "api_id text, state text, fingerprint text, line bigint, reasons jsonb NOT NULL DEFAULT '[]'"
    columns += ", vault_id text, last_four text, brand text, run bigint, changed_at timestamptz DEFAULT now()"
    ask_postgres("CREATE TABLE journal_former_runs (name text PRIMARY KEY, runs bigint, gateway text)")
    ask_postgres(
        f'CREATE TABLE journal_former (migration text, key text COLLATE "C", {columns}, PRIMARY KEY (migration, key))'
    )
    ask_postgres("INSERT INTO journal_former_runs VALUES ('cards', 3, '')")
    try:
        for name, runs, has_former_keys in (("cards", 4, True), ("others", 1, False)):
            journal = PostgresJournal(POSTGRES, name, table="journal_former")
            assert await journal.start(None) == JournalRun(name, runs, has_former_keys=has_former_keys)
            await journal.record_starts([RowStarted(key="a", api_id="a", fingerprint="f", line=2, row_number=2)])
            assert await journal.counts() == {RowState.SENDING: 1}
            await journal.aclose()
    finally:
        ask_postgres("DROP TABLE journal_former, journal_former_runs, journal_former_not_started")


async def test_a_fingerprint_stays_what_it_is() -> None:
    assert fingerprint_of(VaultRow(key="k", request=card(1, title="x"))) == "39a4b4a39b35ff2d7c2e0e7f130653f3"


async def test_a_journal_belongs_to_one_location(gateway: AsyncGateway, sandbox: Sandbox, tmp_path: Path) -> None:
    path = tmp_path / "cards.journal"
    assert (await migrate_vaults(gateway, [card(1)], journal=path)).stored == 1
    async with sandbox.gateway(location_id="another") as gateway_mismatch:
        with pytest.raises(JournalError, match=rf"location {sandbox.location_id}\), not at .* \(location another\)"):
            await migrate_vaults(gateway_mismatch, [card(1)], journal=path)
    assert (await migrate_vaults(gateway, [card(1)], journal=path)).skipped == 1
