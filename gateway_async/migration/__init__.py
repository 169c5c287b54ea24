"""Migrate millions of cards into the vault, each stored once.

    report = await migrate_vaults(gateway, read_rows("cards.csv"), journal="cards.journal")

This file is the index of the public names. Each name is loaded when it is first used. A name that needs an extra loads
the extra when it is called.
"""

from typing import TYPE_CHECKING

from gateway_async._lazy_index import lazy_index

if TYPE_CHECKING:
    from gateway_async.errors import JournalError
    from gateway_async.migration.distributed.dask import migrate_vaults_dask
    from gateway_async.migration.engine.concurrency_limiter import Rate, SteadyRate
    from gateway_async.migration.engine.redis_rate_limiter import RedisRate
    from gateway_async.migration.journal.postgres import PostgresJournal
    from gateway_async.migration.journal.protocol import (
        Journal,
        JournalEntry,
        JournalRun,
        RowResult,
        RowStarted,
        RowState,
    )
    from gateway_async.migration.journal.sqlite import SqliteJournal
    from gateway_async.migration.migrate import migrate_vaults
    from gateway_async.migration.plan import Plan, plan_migration
    from gateway_async.migration.report import Report, Sample, Totals
    from gateway_async.migration.rows.columns import Columns
    from gateway_async.migration.rows.row import VaultRow
    from gateway_async.migration.sources.files import Rows, read_rows
    from gateway_async.migration.sources.records import Shard
    from gateway_async.migration.sources.shards import shards
    from gateway_async.migration.verification_result import Finding, Verdict, Verification
    from gateway_async.migration.verify import verify_vaults

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

_MODULES = {
    name: module
    for module, names in {
        "errors": ("JournalError",),
        "migration.distributed.dask": ("migrate_vaults_dask",),
        "migration.engine.concurrency_limiter": ("Rate", "SteadyRate"),
        "migration.engine.redis_rate_limiter": ("RedisRate",),
        "migration.journal.postgres": ("PostgresJournal",),
        "migration.journal.protocol": ("Journal", "JournalEntry", "JournalRun", "RowResult", "RowStarted", "RowState"),
        "migration.journal.sqlite": ("SqliteJournal",),
        "migration.migrate": ("migrate_vaults",),
        "migration.plan": ("Plan", "plan_migration"),
        "migration.report": ("Report", "Sample", "Totals"),
        "migration.rows.columns": ("Columns",),
        "migration.rows.row": ("VaultRow",),
        "migration.sources.files": ("Rows", "read_rows"),
        "migration.sources.records": ("Shard",),
        "migration.sources.shards": ("shards",),
        "migration.verification_result": ("Finding", "Verdict", "Verification"),
        "migration.verify": ("verify_vaults",),
    }.items()
    for name in names
}


if not TYPE_CHECKING:  # otherwise type checkers would accept every misspelled name as `Any`
    __getattr__, __dir__ = lazy_index(__name__, _MODULES)
