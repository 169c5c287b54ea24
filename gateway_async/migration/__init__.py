"""Migrate millions of cards into the vault, each stored once.

    report = await migrate_vaults(gateway, read_rows("cards.csv"), journal="cards.journal")

A name that needs an extra loads the extra when it is called.
"""

from gateway_async.errors import JournalError
from gateway_async.migration.dask import migrate_vaults_dask
from gateway_async.migration.journal.protocol import Journal, JournalEntry, JournalRun, RowResult, RowStarted, RowState
from gateway_async.migration.journal.store import PostgresJournal, SqliteJournal
from gateway_async.migration.migrate import migrate_vaults
from gateway_async.migration.plan import Plan, plan_migration
from gateway_async.migration.rate import Rate, RedisRate, SteadyRate
from gateway_async.migration.report import Report, Sample, Totals
from gateway_async.migration.rows.columns import Columns
from gateway_async.migration.rows.row import VaultRow
from gateway_async.migration.sources.boundaries import Shard
from gateway_async.migration.sources.files import Rows, read_rows, shards
from gateway_async.migration.verify import Finding, Verdict, Verification, verify_vaults

__all__ = [
    "Columns",
    "Finding",
    "Journal",
    "JournalEntry",
    "JournalError",
    "JournalRun",
    "Plan",
    "PostgresJournal",
    "Rate",
    "RedisRate",
    "Report",
    "RowResult",
    "RowStarted",
    "RowState",
    "Rows",
    "Sample",
    "Shard",
    "SqliteJournal",
    "SteadyRate",
    "Totals",
    "VaultRow",
    "Verdict",
    "Verification",
    "migrate_vaults",
    "migrate_vaults_dask",
    "plan_migration",
    "read_rows",
    "shards",
    "verify_vaults",
]
