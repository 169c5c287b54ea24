"""`PostgresJournal`: migrations' journals in a PostgreSQL database, for any number of processes and hosts."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

import msgspec

from gateway_async._secrets import Secret
from gateway_async._storage.postgres import COMMAND_SECONDS, Address, Database, is_table_name
from gateway_async.errors import InvalidRequestError, JournalError
from gateway_async.migration.journal.protocol import (
    COLUMNS,
    NO_ACCOUNT,
    NOT_STARTED_COLUMNS,
    RESULT_COLUMNS,
    START_COLUMNS,
    UNRESOLVED_STATES,
    JournalEntry,
    JournalRun,
    RowResult,
    RowStarted,
    RowState,
    assignments,
    gateway_mismatch,
    read_rows_of,
    split_new_rows,
)

__all__ = ["PostgresJournal"]

_CONNECTIONS: Final = 4

_CREATE: Final = """
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


def _json_rows(*names: str, order: str = 'key COLLATE "C"') -> str:
    """Return SQL that reads the third parameter as rows, in order.

    Rows are locked in that order, so that two processes cannot wait for each other.
    """
    types = {"line": "bigint", "row_number": "bigint", "reasons": "jsonb"}
    columns = ", ".join(f"{name} {types.get(name, 'text')}" for name in names)
    return f"jsonb_to_recordset($3::jsonb) AS given ({columns}) ORDER BY given.{order}"


_START: Final = """
INSERT INTO @_runs AS known VALUES ($1, 1, $2) ON CONFLICT (name)
DO UPDATE SET runs = known.runs + 1, gateway = CASE known.gateway WHEN '' THEN $2 ELSE known.gateway END
RETURNING runs, gateway, has_former_keys
"""
_ALL: Final = ", ".join(COLUMNS)
_SELECT_BY_KEY: Final = f"SELECT {_ALL} FROM @ WHERE migration = $1 AND key = ANY($2) ORDER BY key FOR UPDATE"  # noqa: S608
_INSERT_STARTS: Final = f"""
INSERT INTO @ AS vaults (migration, run, read_by, state, {", ".join(START_COLUMNS)})
SELECT $1, $2, $2, 'sending', given.* FROM {_json_rows(*START_COLUMNS)}
ON CONFLICT (migration, key)
DO UPDATE SET {assignments(*START_COLUMNS, "state", "run", "read_by", "changed_at")}, reasons = '[]'
WHERE vaults.state = 'rejected' AND vaults.fingerprint <> excluded.fingerprint AND vaults.read_by < $4
RETURNING key
"""  # noqa: S608  constant column names
_UPDATE_READ: Final = f"""
UPDATE @ AS vaults SET read_by = $2, line = given.line, row_number = given.row_number
FROM (SELECT * FROM {_json_rows("key", "line", "row_number")}) AS given
WHERE vaults.migration = $1 AND vaults.key = given.key
"""  # noqa: S608  constant column names
_CLAIM_UNRESOLVED: Final = "UPDATE @ SET run = $2 WHERE migration = $1 AND key = ANY($3)"
_UPSERT_RESULTS: Final = f"""
INSERT INTO @ AS vaults (migration, run, {", ".join(RESULT_COLUMNS)})
SELECT $1, $2, given.* FROM {_json_rows(*RESULT_COLUMNS)}
ON CONFLICT (migration, key) DO UPDATE SET {assignments("run", *RESULT_COLUMNS, "changed_at")}
WHERE vaults.state <> 'stored'
"""  # noqa: S608  constant column names
_UPSERT_NOT_STARTED: Final = f"""
INSERT INTO @_not_started AS known (migration, run, {", ".join(NOT_STARTED_COLUMNS)})
SELECT $1, $2, given.* FROM {_json_rows(*NOT_STARTED_COLUMNS, order="row_number")}
ON CONFLICT (migration, row_number)
DO UPDATE SET {assignments(*NOT_STARTED_COLUMNS[1:], "changed_at")}, run = greatest(known.run, excluded.run)
"""  # noqa: S608  constant column names
_DELETE_STARTED: Final = """
DELETE FROM @_not_started WHERE migration = $1 AND row_number IN
(SELECT row_number FROM @_not_started WHERE migration = $1 AND row_number = ANY($2) ORDER BY row_number FOR UPDATE)
"""
_DELETE_NOT_READ: Final = "DELETE FROM @_not_started WHERE migration = $1 AND run < $2"
_DELETE_SUPERSEDED: Final = """
DELETE FROM @ WHERE migration = $1 AND state = 'rejected' AND read_by < $2
AND key IN (SELECT key FROM @_not_started WHERE migration = $1)
"""
_DELETE_UNSENT: Final = "DELETE FROM @ WHERE migration = $1 AND run = $2 AND state = 'sending' AND key = ANY($3)"
_DELETE_REJECTED: Final = "DELETE FROM @ WHERE migration = $1 AND state = 'rejected'"
_SELECT_PAGE: Final = f"""
SELECT {_ALL} FROM @ WHERE migration = $1 AND key > $2 AND ($3::text IS NULL OR state = $3) ORDER BY key LIMIT $4
"""  # noqa: S608  constant column names
_SELECT_NOT_STARTED: Final = f"""
SELECT {", ".join(NOT_STARTED_COLUMNS)}, run, changed_at FROM @_not_started
WHERE migration = $1 AND row_number > $2 AND ($3::text IS NULL OR state = $3) ORDER BY row_number LIMIT $4
"""  # noqa: S608  constant column names
_COUNT_STATES: Final = """
SELECT state, sum(rows) AS count FROM (
    SELECT state, count(*) AS rows FROM @ WHERE migration = $1 GROUP BY state
    UNION ALL SELECT state, count(*) FROM @_not_started WHERE migration = $1 GROUP BY state
) AS counted GROUP BY state
"""


class PostgresJournal:
    """A journal in PostgreSQL (12 or newer), on asyncio; any number of processes and hosts share one.

        await migrate_vaults(gateway, rows, journal=PostgresJournal("postgresql://127.0.0.1/shop", "cards"))

    Three tables hold the journals of any number of migrations. They are created on first use if they do not exist.
    Started rows are committed before they are sent, as durably as the server is configured.

    Args:
        dsn: `postgresql://…`; its password is in no error, repr or traceback.
        name: name of the migration. Ids are made of it.
        table: the name of the first table, with or without a schema; the others have `_runs` and `_not_started` added
            to it.

    Raises:
        InvalidRequestError: an argument is invalid; `.problems` lists each one.
        ModuleNotFoundError: asyncpg is missing: `pip install 'gateway-async[postgres]'`.
    """

    def __init__(self, dsn: str | Secret, name: str, *, table: str = "vault_migration") -> None:
        dsn = Secret(dsn)  # an error's traceback shows local variables
        address, problem = Address.parse(dsn)
        problems = [*([f"dsn: {problem}"] if problem else []), *_problems(name, table)]
        if address is None or problems:
            raise InvalidRequestError(problems)
        self._name = name
        self._run = self._since = 0
        self._location = f"{address.shown} ({table}, {name!r})"
        self._database = Database(
            "PostgresJournal",
            address,
            connections=_CONNECTIONS,
            acquire_seconds=COMMAND_SECONDS,
            table=table,
            schema=_CREATE,
            created_table="@ @_runs @_not_started",
            error=partial(JournalError, self._location),
        )

    async def start(self, name: str | None, gateway: str = "", *, since: int | None = None) -> JournalRun:
        """Start a run."""
        if name not in (None, self._name):
            raise JournalError(self._location, f"it belongs to the migration {self._name!r}, not to {name!r}")
        async with self._database.transaction() as connection:
            (run,) = await self._fetch(connection, _START, gateway)
            if problem := gateway_mismatch(run["gateway"], gateway):
                raise JournalError(self._location, problem)
            self._run = run["runs"]
        self._since = self._run if since is None else since
        return JournalRun(self._name, self._run, has_former_keys=run["has_former_keys"])

    async def record_starts(self, rows: Sequence[RowStarted]) -> Sequence[JournalEntry | None]:
        """Write rows that are about to be sent. Return the known entry of each."""
        now = datetime.now(UTC)
        async with self._database.transaction() as connection:
            known = await self._read_entries(connection, [row.key for row in rows])
            entries, new = split_new_rows(rows, known, self._run, now, self._since)
            inserted = await self._fetch(connection, _INSERT_STARTS, self._run, _json(new), self._since) if new else []
            inserted_elsewhere = {row.key for row in new} - {row["key"] for row in inserted}
            if inserted_elsewhere:  # another process was faster
                known |= await self._read_entries(connection, [*inserted_elsewhere])
                entries, _ = split_new_rows(rows, known, self._run, now, self._since)
            read = read_rows_of(rows, entries, self._since)
            if read:
                await self._fetch(connection, _UPDATE_READ, self._run, _json(read))
            await self._fetch(connection, _DELETE_STARTED, [row.row_number for row in (*new, *read)])
            unresolved = [entry.key for entry in known.values() if entry.state in UNRESOLVED_STATES]
            if unresolved:
                await self._fetch(connection, _CLAIM_UNRESOLVED, self._run, unresolved)
        return entries

    async def record_results(self, rows: Sequence[RowResult]) -> None:
        """Write the results of rows; they are committed when this returns."""
        async with self._database.transaction() as connection:
            # one statement may not contain a key or a number twice
            started = {row.key: row for row in rows if row.started}
            others = {row.row_number: row for row in rows if not row.started}
            for statement, ended in ((_UPSERT_RESULTS, started), (_UPSERT_NOT_STARTED, others)):
                if ended:
                    await self._fetch(connection, statement, self._run, _json([*ended.values()]))

    async def delete_unsent(self, rows: Sequence[RowStarted]) -> None:
        """Remove rows that were not sent."""
        async with self._database.transaction() as connection:
            await self._fetch(connection, _DELETE_UNSENT, self._run, [row.key for row in rows])

    async def delete_rejected(self) -> None:
        """Remove rejected rows, so that they count as new."""
        async with self._database.transaction() as connection:
            await self._fetch(connection, _DELETE_REJECTED)

    async def finish(self) -> None:
        """Forget what earlier runs recorded of rows that were not started."""
        async with self._database.transaction() as connection:
            await self._fetch(connection, _DELETE_NOT_READ, self._since)
            await self._fetch(connection, _DELETE_SUPERSEDED, self._since)

    async def flush(self) -> None:
        """Do nothing: every change is committed when its method returns."""

    async def entries(
        self, state: RowState | None = None, *, after: str | None = None, limit: int = 5000
    ) -> Sequence[JournalEntry]:
        """Return started rows in the order of their keys."""
        async with self._database.transaction() as connection:
            rows = await self._fetch(connection, _SELECT_PAGE, after or "", state and str(state), limit)
        return [_entry(row) for row in rows]

    async def not_started(
        self, state: RowState | None = None, *, after: int = 0, limit: int = 5000
    ) -> Sequence[JournalEntry]:
        """Return rows that were not started, by row number."""
        async with self._database.transaction() as connection:
            rows = await self._fetch(connection, _SELECT_NOT_STARTED, after, state and str(state), limit)
        return [_entry(row) for row in rows]

    async def counts(self) -> Mapping[RowState, int]:
        """Return the number of rows of each state."""
        async with self._database.transaction() as connection:
            rows = await self._fetch(connection, _COUNT_STATES)
        return {RowState(row["state"]): int(row["count"]) for row in rows}

    async def aclose(self) -> None:
        """Close the connections, in 10 seconds at most; a second close is harmless."""
        await self._database.aclose()

    def __repr__(self) -> str:
        return f"PostgresJournal({vars(self).get('_location', '')!r})"  # also of one whose arguments are wrong

    # --- in a transaction

    async def _read_entries(self, connection: Any, keys: Sequence[str]) -> dict[str, JournalEntry]:
        return {row["key"]: _entry(row) for row in await self._fetch(connection, _SELECT_BY_KEY, keys)}

    async def _fetch(self, connection: Any, statement: str, *values: Any) -> Sequence[Mapping[str, Any]]:
        return await self._database.fetch(connection, statement, self._name, *values)


def _problems(name: str, table: str) -> Iterator[str]:
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        yield "name: must be printable text, not empty"
    if not is_table_name(table):
        yield "table: must be a name of small letters, digits and _, with or without a schema"


def _entry(row: Mapping[str, Any]) -> JournalEntry:
    values = {**NO_ACCOUNT, **row}
    values["state"] = RowState(values["state"])
    values["reasons"] = tuple(msgspec.json.decode(values["reasons"]))
    return JournalEntry(**values)


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
