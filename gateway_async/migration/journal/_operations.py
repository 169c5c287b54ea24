"""The operations of a journal as SQL statements, for SQLite and for PostgreSQL.

Each operation is a generator, as `_storage/sql.py` runs them. A database holds the rows of many migrations, and a file
those of one. The stores replace these marks in the statements:

- `@`: the name of the table of started rows, and the beginning of those of the others
- `:is_own`: whether a row belongs to the migration `$1`
- `:is_own_run`: the same, for the table of runs
- `:migration` and `:name`: the column with the name of the migration, and the name, each with a comma
- `:time`: the current time
- `:returning_keys`: the clause that returns what was written

Rows are locked in the order of their keys or numbers, so that two processes cannot wait for each other.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import attrs
import msgspec

from gateway_async._storage.sql import Steps
from gateway_async.errors import JournalError
from gateway_async.migration.journal.protocol import (
    UNRESOLVED_STATES,
    JournalEntry,
    JournalRun,
    RowResult,
    RowStarted,
    RowState,
    gateway_mismatch,
    read_rows_of,
    split_new_rows,
)

_COLUMNS: Final = ", ".join(field.name for field in attrs.fields(JournalEntry))
_START: Final = tuple(field.name for field in attrs.fields(RowStarted))
_RESULT: Final = tuple(field.name for field in attrs.fields(RowResult) if field.name not in ("started", "row_number"))
_NOT_STARTED: Final = ("row_number", "key", "state", "line", "reasons")
_TYPES: Final = {"line": "bigint", "row_number": "bigint", "reasons": "jsonb"}
_NO_ACCOUNT: Final = {"api_id": "", "fingerprint": "", "vault_id": None, "last_four": None, "brand": None}
"""The account of an entry that was not started: none."""


def _given(*names: str) -> str:
    """Return SQL that reads the third value as rows."""
    columns = ", ".join(f"{name} {_TYPES.get(name, 'text')}" for name in names)
    return f"jsonb_to_recordset($3::jsonb) AS given ({columns})"


def _assignments(*names: str) -> str:
    """Return the SET clause of an upsert."""
    return ", ".join(f"{name} = excluded.{name}" for name in names)


_ADD_RUN: Final = """
INSERT INTO @_runs (name, runs, gateway, has_former_keys) SELECT $1::text, 0, $2::text, FALSE
WHERE NOT EXISTS (SELECT 1 FROM @_runs WHERE :is_own_run) ON CONFLICT DO NOTHING
"""
_LOCK_RUN: Final = "SELECT name, gateway, has_former_keys FROM @_runs WHERE :is_own_run FOR UPDATE"
_START_RUN: Final = "UPDATE @_runs SET runs = runs + 1, gateway = $2 WHERE :is_own_run RETURNING runs"
_CREATE_LIMITS: Final = """
CREATE TABLE IF NOT EXISTS @_row_limits (name text PRIMARY KEY, since bigint NOT NULL, reserved bigint NOT NULL)
"""
_ADD_LIMIT: Final = """
INSERT INTO @_row_limits (name, since, reserved) SELECT $1::text, 0, 0
WHERE NOT EXISTS (SELECT 1 FROM @_row_limits WHERE :is_own_run) ON CONFLICT DO NOTHING
"""
_LOCK_LIMIT: Final = "SELECT since, reserved FROM @_row_limits WHERE :is_own_run FOR UPDATE"
_RESERVE: Final = "UPDATE @_row_limits SET since = $2, reserved = $3 WHERE :is_own_run"
_SELECT_BY_KEY: Final = f"SELECT {_COLUMNS} FROM @ WHERE :is_own AND key = ANY($2) ORDER BY key FOR UPDATE"  # noqa: S608
_INSERT_STARTS: Final = f"""
INSERT INTO @ AS vaults (:migration run, read_by, state, changed_at, {", ".join(_START)})
SELECT :name $2, $2, 'sending', :time, given.* FROM {_given(*_START)} WHERE TRUE ORDER BY given.key COLLATE "C"
ON CONFLICT (:migration key)
DO UPDATE SET {_assignments("run", "read_by", "state", "changed_at", *_START)}, reasons = '[]'
WHERE vaults.state = 'rejected' AND vaults.fingerprint <> excluded.fingerprint AND vaults.read_by < $4
:returning_keys
"""  # noqa: S608  constant column names
_UPDATE_READ: Final = f"""
UPDATE @ AS vaults SET read_by = $2, line = given.line, row_number = given.row_number
FROM {_given("key", "line", "row_number")} WHERE :is_own AND vaults.key = given.key
"""  # noqa: S608  constant column names
_CLAIM_UNRESOLVED: Final = "UPDATE @ SET run = $2 WHERE :is_own AND key = ANY($3)"
_UPSERT_RESULTS: Final = f"""
INSERT INTO @ AS vaults (:migration run, changed_at, {", ".join(_RESULT)})
SELECT :name $2, :time, given.* FROM {_given(*_RESULT)} WHERE TRUE ORDER BY given.key COLLATE "C"
ON CONFLICT (:migration key)
DO UPDATE SET {_assignments("run", "changed_at", *_RESULT)} WHERE vaults.state <> 'stored'
"""  # noqa: S608  constant column names
_UPSERT_NOT_STARTED: Final = f"""
INSERT INTO @_not_started AS known (:migration run, changed_at, {", ".join(_NOT_STARTED)})
SELECT :name $2, :time, given.* FROM {_given(*_NOT_STARTED)} WHERE TRUE ORDER BY given.row_number
ON CONFLICT (:migration row_number) DO UPDATE SET {_assignments("changed_at", *_NOT_STARTED[1:])},
    run = CASE WHEN known.run > excluded.run THEN known.run ELSE excluded.run END
"""  # noqa: S608  constant column names
_DELETE_STARTED: Final = """
DELETE FROM @_not_started WHERE :is_own AND row_number IN (
    SELECT row_number FROM @_not_started WHERE :is_own AND row_number = ANY($2) ORDER BY row_number FOR UPDATE
)
"""
_DELETE_NOT_READ: Final = "DELETE FROM @_not_started WHERE :is_own AND run < $2"
_DELETE_SUPERSEDED: Final = """
DELETE FROM @ WHERE :is_own AND state = 'rejected' AND read_by < $2
AND key IN (SELECT key FROM @_not_started WHERE :is_own)
"""
_DELETE_UNSENT: Final = "DELETE FROM @ WHERE :is_own AND run = $2 AND state = 'sending' AND key = ANY($3)"
_DELETE_REJECTED: Final = "DELETE FROM @ WHERE :is_own AND state = 'rejected'"
_SELECT_PAGE: Final = f"""
SELECT {_COLUMNS} FROM @ WHERE :is_own AND key > $2 AND ($3::text IS NULL OR state = $3) ORDER BY key LIMIT $4
"""  # noqa: S608  constant column names
_SELECT_NOT_STARTED: Final = f"""
SELECT {", ".join(_NOT_STARTED)}, run, changed_at FROM @_not_started
WHERE :is_own AND row_number > $2 AND ($3::text IS NULL OR state = $3) ORDER BY row_number LIMIT $4
"""  # noqa: S608  constant column names
_COUNT_STATES: Final = """
SELECT state, sum(rows) AS count FROM (
    SELECT state, count(*) AS rows FROM @ WHERE :is_own GROUP BY state
    UNION ALL SELECT state, count(*) FROM @_not_started WHERE :is_own GROUP BY state
) AS counted GROUP BY state
"""


def start(location: str, own: str, name: str | None, gateway: str) -> Steps[JournalRun | Exception]:
    """Start a run; `own` is the name of the migration, unless the journal has one already."""
    yield _ADD_RUN, (own, gateway)
    (known,) = yield _LOCK_RUN, (own,)
    if name not in (None, known["name"]):
        return JournalError(location, f"it belongs to the migration {known['name']!r}, not to {name!r}")
    if problem := gateway_mismatch(known["gateway"], gateway):
        return JournalError(location, problem)
    (started,) = yield _START_RUN, (own, known["gateway"] or gateway)
    return JournalRun(known["name"], started["runs"], has_former_keys=bool(known["has_former_keys"]))


def reserve_rows(name: str | None, since: int, number: int, limit: int, *, create: bool) -> Steps[int]:
    """Reserve rows of a limit for all runs since one, and return how many; a negative number gives some back.

    Once a later migration has begun to count, processes that an earlier one left get none.
    """
    if create:
        yield _CREATE_LIMITS, ()
    yield _ADD_LIMIT, (name or "",)
    (known,) = yield _LOCK_LIMIT, (name or "",)
    if since < known["since"]:
        return 0
    before: int = known["reserved"] if known["since"] == since else 0
    reserved = min(number, max(0, limit - before))
    yield _RESERVE, (name or "", since, before + reserved)
    return reserved


def record_starts(
    name: str | None, run: int, since: int, rows: Sequence[RowStarted], *, is_alone: bool
) -> Steps[Sequence[JournalEntry | None]]:
    """Write rows that are about to be sent, and return the known entry of each."""
    now = datetime.now(UTC)
    known = yield from _read_entries(name, [row.key for row in rows])
    entries, new = split_new_rows(rows, known, run, now, since)
    if new:
        inserted = yield _INSERT_STARTS, (name, run, [*new], since)
        lost = {row.key for row in new} - {row["key"] for row in inserted}
        if lost and not is_alone:  # another process was faster
            known |= yield from _read_entries(name, [*lost])
            entries, _ = split_new_rows(rows, known, run, now, since)
    read = read_rows_of(rows, entries, since)
    if read:
        yield _UPDATE_READ, (name, run, [*read])
    yield _DELETE_STARTED, (name, [row.row_number for row in (*new, *read)])
    unresolved = [entry.key for entry in known.values() if entry.state in UNRESOLVED_STATES]
    if unresolved:
        yield _CLAIM_UNRESOLVED, (name, run, unresolved)
    return entries


def record_results(name: str | None, run: int, rows: Sequence[RowResult]) -> Steps[None]:
    """Write the results of rows."""
    started: dict[str, RowResult] = {}  # one statement may not contain a key or a number twice
    for row in rows:
        if row.started and (row.key not in started or started[row.key].state is not RowState.STORED):
            started[row.key] = row
    others = {row.row_number: row for row in rows if not row.started}
    if started:
        yield _UPSERT_RESULTS, (name, run, [*started.values()])
    if others:
        yield _UPSERT_NOT_STARTED, (name, run, [*others.values()])


def delete_unsent(name: str | None, run: int, rows: Sequence[RowStarted]) -> Steps[None]:
    """Remove rows that were started and not sent."""
    yield _DELETE_UNSENT, (name, run, [row.key for row in rows])


def delete_rejected(name: str | None) -> Steps[None]:
    """Remove rejected rows, so that they count as new."""
    yield _DELETE_REJECTED, (name,)


def finish(name: str | None, since: int) -> Steps[None]:
    """Forget what earlier runs recorded of rows that were not started."""
    yield _DELETE_NOT_READ, (name, since)
    yield _DELETE_SUPERSEDED, (name, since)


def entries(name: str | None, state: RowState | None, after: str | None, limit: int) -> Steps[Sequence[JournalEntry]]:
    """Read started rows in the order of their keys."""
    return [_entry(row) for row in (yield _SELECT_PAGE, (name, after or "", state and str(state), limit))]


def not_started(name: str | None, state: RowState | None, after: int, limit: int) -> Steps[Sequence[JournalEntry]]:
    """Read the rows that were not started, by row number."""
    return [_entry(row) for row in (yield _SELECT_NOT_STARTED, (name, after, state and str(state), limit))]


def counts(name: str | None) -> Steps[Mapping[RowState, int]]:
    """Count the rows in each state."""
    return {RowState(row["state"]): int(row["count"]) for row in (yield _COUNT_STATES, (name,))}


def _read_entries(name: str | None, keys: list[str]) -> Steps[dict[str, JournalEntry]]:
    return {row["key"]: _entry(row) for row in (yield _SELECT_BY_KEY, (name, keys))}


def _entry(row: Mapping[str, Any]) -> JournalEntry:
    """Convert a row of a table; SQLite stores a time as text."""
    values = {**_NO_ACCOUNT, **row}
    values["state"] = RowState(values["state"])
    values["reasons"] = tuple(msgspec.json.decode(values["reasons"]))
    if isinstance(values["changed_at"], str):
        values["changed_at"] = datetime.fromisoformat(values["changed_at"])
    return JournalEntry(**values)
