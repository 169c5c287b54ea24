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
    from gateway_async.migration.report import Report, Sample
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
    "RowStarted": "migration.journal.protocol",
    "Columns": "migration.rows.columns",
    "RowResult": "migration.journal.protocol",
    "JournalEntry": "migration.journal.protocol",
    "Finding": "migration.verification_result",
    "Journal": "migration.journal.protocol",
    "JournalError": "errors",
    "Plan": "migration.plan",
    "PostgresJournal": "migration.journal.postgres",
    "Rate": "migration.engine.concurrency_limiter",
    "RedisRate": "migration.engine.redis_rate_limiter",
    "Report": "migration.report",
    "RowState": "migration.journal.protocol",
    "Rows": "migration.sources.files",
    "JournalRun": "migration.journal.protocol",
    "Sample": "migration.report",
    "Shard": "migration.sources.records",
    "SqliteJournal": "migration.journal.sqlite",
    "SteadyRate": "migration.engine.concurrency_limiter",
    "VaultRow": "migration.rows.row",
    "Verdict": "migration.verification_result",
    "Verification": "migration.verification_result",
    "migrate_vaults": "migration.migrate",
    "migrate_vaults_dask": "migration.distributed.dask",
    "plan_migration": "migration.plan",
    "read_rows": "migration.sources.files",
    "shards": "migration.sources.shards",
    "verify_vaults": "migration.verify",
}


if not TYPE_CHECKING:  # otherwise type checkers would accept every misspelt name as `Any`
    __getattr__, __dir__ = lazy_index(__name__, _MODULES)
