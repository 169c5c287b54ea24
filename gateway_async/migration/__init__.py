"""Millions of cards into the vault, each once: sources, a journal, a pace, a report.

    report = await migrate_vaults(gateway, read_rows("cards.csv"), journal="cards.journal")

This file is the index of the public names; each is loaded when it is first used. What needs an extra loads it when it
is called.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gateway_async.errors import JournalError
    from gateway_async.migration.columns import Columns
    from gateway_async.migration.dask import migrate_vaults_dask
    from gateway_async.migration.journal import Begin, End, Entry, Journal, RowState, Run
    from gateway_async.migration.migrate import migrate_vaults
    from gateway_async.migration.pace import Rate, SteadyRate
    from gateway_async.migration.plan import Plan, plan_migration
    from gateway_async.migration.postgres_journal import PostgresJournal
    from gateway_async.migration.redis_rate import RedisRate
    from gateway_async.migration.report import Report, Sample
    from gateway_async.migration.rows import VaultRow
    from gateway_async.migration.sources.cutting import shards
    from gateway_async.migration.sources.files import Rows, read_rows
    from gateway_async.migration.sources.shard import Shard
    from gateway_async.migration.sqlite_journal import SqliteJournal
    from gateway_async.migration.verification import Finding, Verdict, Verification
    from gateway_async.migration.verify import verify_vaults

__all__ = [
    "Begin",
    "Columns",
    "End",
    "Entry",
    "Finding",
    "Journal",
    "JournalError",
    "Plan",
    "PostgresJournal",
    "Rate",
    "RedisRate",
    "Report",
    "RowState",
    "Rows",
    "Run",
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

_PLACES = {
    "Begin": "migration.journal",
    "Columns": "migration.columns",
    "End": "migration.journal",
    "Entry": "migration.journal",
    "Finding": "migration.verification",
    "Journal": "migration.journal",
    "JournalError": "errors",
    "Plan": "migration.plan",
    "PostgresJournal": "migration.postgres_journal",
    "Rate": "migration.pace",
    "RedisRate": "migration.redis_rate",
    "Report": "migration.report",
    "RowState": "migration.journal",
    "Rows": "migration.sources.files",
    "Run": "migration.journal",
    "Sample": "migration.report",
    "Shard": "migration.sources.shard",
    "SqliteJournal": "migration.sqlite_journal",
    "SteadyRate": "migration.pace",
    "VaultRow": "migration.rows",
    "Verdict": "migration.verification",
    "Verification": "migration.verification",
    "migrate_vaults": "migration.migrate",
    "migrate_vaults_dask": "migration.dask",
    "plan_migration": "migration.plan",
    "read_rows": "migration.sources.files",
    "shards": "migration.sources.cutting",
    "verify_vaults": "migration.verify",
}


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        value = globals()[name] = getattr(import_module(f"gateway_async.{_PLACES[name]}"), name)
        return value
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
