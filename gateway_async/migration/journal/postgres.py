"""`PostgresJournal`: migrations' journals in a PostgreSQL database, for any number of processes and hosts."""

from functools import partial
from typing import Final

from gateway_async._secrets import Secret
from gateway_async._storage.postgres import COMMAND_SECONDS, Database, read_address
from gateway_async._storage.sql import PooledStore
from gateway_async.errors import JournalError
from gateway_async.migration.journal._sql_journal import SqlJournal

__all__ = ["PostgresJournal"]

_CONNECTIONS: Final = 4

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS @_runs (name text PRIMARY KEY, runs bigint NOT NULL, gateway text NOT NULL DEFAULT '');
CREATE TABLE IF NOT EXISTS @ (
    migration text NOT NULL,
    key text COLLATE "C" NOT NULL,
    api_id text NOT NULL,
    state text NOT NULL,
    fingerprint text NOT NULL,
    line bigint,
    reasons jsonb NOT NULL DEFAULT '[]',
    vault_id text,
    last_four text,
    brand text,
    run bigint NOT NULL,
    changed_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (migration, key)
);
ALTER TABLE @_runs ADD COLUMN IF NOT EXISTS has_former_keys boolean NOT NULL DEFAULT TRUE;
ALTER TABLE @_runs ALTER COLUMN has_former_keys SET DEFAULT FALSE;
ALTER TABLE @ ADD COLUMN IF NOT EXISTS row_number bigint NOT NULL DEFAULT 0;
ALTER TABLE @ ADD COLUMN IF NOT EXISTS read_by bigint NOT NULL DEFAULT 0;
CREATE TABLE IF NOT EXISTS @_not_started (
    migration text NOT NULL,
    row_number bigint NOT NULL,
    key text COLLATE "C" NOT NULL,
    state text NOT NULL,
    line bigint,
    reasons jsonb NOT NULL DEFAULT '[]',
    run bigint NOT NULL,
    changed_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (migration, row_number)
);
"""
"""The tables. Those of an earlier version get what they lack."""

_MARKS: Final = {
    ":is_own_run": "name = $1",
    ":is_own": "migration = $1",
    ":migration": "migration,",
    ":name": "$1,",
    ":time": "now()",
    ":returning_keys": "RETURNING key",
}


class PostgresJournal(SqlJournal):
    """A journal in PostgreSQL (12 or newer), on asyncio; any number of processes and hosts share one.

        await migrate_vaults(gateway, rows, journal=PostgresJournal("postgresql://127.0.0.1/shop", "cards"))

    Three tables hold the journals of any number of migrations. They are created on first use if they do not exist.
    Started rows are committed before they are sent, as durably as the server is configured.

    Args:
        dsn: `postgresql://…`; its password is in no error, repr or traceback.
        name: name of the migration. Ids are made of it.
        table: the name of the first table, with or without a schema; the others have `_runs` and `_not_started` added
            to it.
        create: whether missing tables are created.

    Raises:
        InvalidRequestError: an argument is invalid; `.problems` lists each one.
        ModuleNotFoundError: asyncpg is missing: `pip install 'gateway-async[postgres]'`.
    """

    def __init__(self, dsn: str | Secret, name: str, *, table: str = "vault_migration", create: bool = True) -> None:
        dsn = Secret(dsn)  # an error's traceback shows local variables
        is_name = isinstance(name, str) and name.strip() and name.isprintable()
        address = read_address(dsn, table, () if is_name else ["name: must be printable text, not empty"])
        location = f"{address.shown} ({table}, {name!r})"
        database = Database(
            "PostgresJournal",
            address,
            connections=_CONNECTIONS,
            acquire_seconds=COMMAND_SECONDS,
            table=table,
            marks=_MARKS,
            schema=_SCHEMA,
            created_table="@ @_runs @_not_started",
            create=create,
            error=partial(JournalError, location),
        )
        super().__init__(location, PooledStore(lambda: database), name, is_alone=False)
