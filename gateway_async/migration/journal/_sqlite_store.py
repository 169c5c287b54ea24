"""`JournalFile`: a migration's journal in one SQLite file, for one thread at a time.

When a batch returns, all of it is on disk; if it fails, none of it is. A file of another program is not changed.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import attrs
import msgspec

from gateway_async._storage.sqlite import FileFormat, SqliteStore, json_fields, to_json, transaction
from gateway_async.errors import JournalError
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

_APPLICATION_ID: Final = 0x67774A31
"""SQLite application id in the file header: "gwJ1"."""

_VERSION: Final = 1

_SCHEMA: Final = """
CREATE TABLE migration (name TEXT NOT NULL, runs INTEGER NOT NULL, gateway TEXT NOT NULL DEFAULT '');
CREATE TABLE vaults (
    number INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    api_id TEXT NOT NULL,
    state TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    line INTEGER,
    reasons TEXT NOT NULL DEFAULT '[]',
    vault_id TEXT,
    last_four TEXT,
    brand TEXT,
    run INTEGER NOT NULL,
    changed_at TEXT NOT NULL
);
"""
_ADDED_SCHEMA: Final = """
CREATE TABLE not_started (
    row_number INTEGER PRIMARY KEY,
    key TEXT NOT NULL,
    state TEXT NOT NULL,
    line INTEGER,
    reasons TEXT NOT NULL DEFAULT '[]',
    run INTEGER NOT NULL,
    changed_at TEXT NOT NULL
);
ALTER TABLE vaults ADD COLUMN row_number INTEGER NOT NULL DEFAULT 0;
ALTER TABLE vaults ADD COLUMN read_by INTEGER NOT NULL DEFAULT 0;
ALTER TABLE migration ADD COLUMN has_former_keys INTEGER NOT NULL DEFAULT TRUE;
"""
"""Tables and columns that a journal of an earlier version lacks. They are added when it is opened."""

_FORMAT: Final = FileFormat("a journal", _APPLICATION_ID, _VERSION, _SCHEMA + _ADDED_SCHEMA)

# One statement and one JSON encoding for any number of rows: each extra one would wait for the GIL again.
# "WHERE TRUE" tells SQLite's parser that "ON" does not begin a join.
_SELECT_BY_KEY: Final = f"SELECT {', '.join(COLUMNS)} FROM vaults WHERE key IN (SELECT value FROM json_each(?))"  # noqa: S608
_INSERT_STARTS: Final = f"""
INSERT INTO vaults ({", ".join(START_COLUMNS)}, state, run, read_by, changed_at)
SELECT {json_fields(*START_COLUMNS)}, 'sending', ?1, ?1, ?2 FROM json_each(?3) WHERE TRUE
ON CONFLICT (key) DO UPDATE SET {assignments(*START_COLUMNS, "state", "run", "read_by", "changed_at")}, reasons = '[]'
"""  # noqa: S608  constant column names
_UPDATE_READ: Final = f"""
UPDATE vaults SET read_by = ?, line = given.line, row_number = given.row_number
FROM (SELECT {json_fields("key", "line", "row_number")} FROM json_each(?)) AS given WHERE vaults.key = given.key
"""  # noqa: S608  constant column names
_CLAIM_UNRESOLVED: Final = "UPDATE vaults SET run = ? WHERE key IN (SELECT value FROM json_each(?))"
_UPSERT_RESULTS: Final = f"""
INSERT INTO vaults ({", ".join(RESULT_COLUMNS)}, run, changed_at)
SELECT {json_fields(*RESULT_COLUMNS)}, ?, ? FROM json_each(?) WHERE TRUE
ON CONFLICT (key) DO UPDATE SET {assignments(*RESULT_COLUMNS, "run", "changed_at")} WHERE vaults.state <> 'stored'
"""  # noqa: S608  constant column names
_UPSERT_NOT_STARTED: Final = f"""
INSERT INTO not_started ({", ".join(NOT_STARTED_COLUMNS)}, run, changed_at)
SELECT {json_fields(*NOT_STARTED_COLUMNS)}, ?, ? FROM json_each(?) WHERE TRUE
ON CONFLICT (row_number)
DO UPDATE SET {assignments(*NOT_STARTED_COLUMNS[1:], "changed_at")}, run = max(run, excluded.run)
"""  # noqa: S608  constant column names
_DELETE_STARTED: Final = "DELETE FROM not_started WHERE row_number IN (SELECT value FROM json_each(?))"
_DELETE_NOT_READ: Final = "DELETE FROM not_started WHERE run < ?"
_DELETE_SUPERSEDED: Final = """
DELETE FROM vaults WHERE state = 'rejected' AND read_by < ? AND key IN (SELECT key FROM not_started)
"""
_DELETE_UNSENT: Final = """
DELETE FROM vaults WHERE state = 'sending' AND run = ? AND key IN (SELECT value FROM json_each(?))
"""
_SELECT_PAGE: Final = f"""
SELECT {", ".join(COLUMNS)} FROM vaults WHERE key > ? AND (? IS NULL OR state = ?) ORDER BY key LIMIT ?
"""  # noqa: S608  constant column names
_SELECT_NOT_STARTED: Final = f"""
SELECT {", ".join(NOT_STARTED_COLUMNS)}, run, changed_at FROM not_started
WHERE row_number > ? AND (? IS NULL OR state = ?) ORDER BY row_number LIMIT ?
"""  # noqa: S608  constant column names
_COUNT_STATES: Final = """
SELECT state, sum(rows) FROM (
    SELECT state, count(*) AS rows FROM vaults GROUP BY state
    UNION ALL SELECT state, count(*) FROM not_started GROUP BY state
) GROUP BY state
"""


@attrs.frozen
class JournalOperation:
    """An operation on the file."""

    function: Callable[["JournalFile"], Any]
    writes: bool


class JournalFile(SqliteStore):
    """An open journal file. Its other methods are called by the operations of `execute_batch`.

    Args:
        path: the file; created if it does not exist.

    Attributes:
        run: the number of this process's run; 0 before it starts one.

    Raises:
        JournalError: the file cannot be used; `execute_batch` raises it too.
    """

    def __init__(self, path: str | Path) -> None:
        super().__init__(path, _FORMAT, JournalError)
        self.run = 0
        self._since = 0
        with self._describe_errors():
            self._upgrade()

    def execute_batch(self, awaited: Sequence[JournalOperation], deferred: Sequence[JournalOperation]) -> Sequence[Any]:
        """Run all operations in one transaction and return the results of `awaited`.

        Pending results are written first, so that reads see them.
        """
        writes = bool(deferred) or any(each.writes for each in awaited)
        with self._describe_errors(), transaction(self._connection) if writes else nullcontext():
            for each in deferred:
                each.function(self)
            return [each.function(self) for each in awaited]

    def start(self, name: str | None, gateway: str, since: int | None) -> JournalRun | JournalError:
        """Start a run. Return an error if the journal belongs to another migration or gateway."""
        self._connection.execute(
            "INSERT INTO migration SELECT ?, 0, ?, FALSE WHERE NOT EXISTS (SELECT 1 FROM migration)",
            (Path(self.path).stem if name is None else name, gateway),
        )
        own_name, own_gateway, has_former_keys = self._connection.execute(
            "SELECT name, gateway, has_former_keys FROM migration"
        ).fetchone()
        if name not in (None, own_name):
            return JournalError(self.path, f"it belongs to the migration {own_name!r}, not to {name!r}")
        if problem := gateway_mismatch(own_gateway, gateway):
            return JournalError(self.path, problem)
        (self.run,) = self._connection.execute(
            "UPDATE migration SET runs = runs + 1, gateway = ? RETURNING runs", (own_gateway or gateway,)
        ).fetchone()
        self._since = self.run if since is None else since
        return JournalRun(own_name, self.run, has_former_keys=bool(has_former_keys))

    def record_starts(self, rows: Sequence[RowStarted]) -> Sequence[JournalEntry | None]:
        """Write rows that are about to be sent. Return the known entry of each; None for new rows."""
        now = datetime.now(UTC)
        known = {entry.key: entry for entry in self._entries(_SELECT_BY_KEY, (to_json([row.key for row in rows]),))}
        unresolved = [entry.key for entry in known.values() if entry.state in UNRESOLVED_STATES]
        entries, new = split_new_rows(rows, known, self.run, now, self._since)
        read = read_rows_of(rows, entries, self._since)
        if unresolved:
            self._connection.execute(_CLAIM_UNRESOLVED, (self.run, to_json(unresolved)))
        if new:
            self._connection.execute(_INSERT_STARTS, (self.run, _timestamp(now), to_json(new)))
        if read:
            self._connection.execute(_UPDATE_READ, (self.run, to_json(read)))
        self._connection.execute(_DELETE_STARTED, (to_json([row.row_number for row in (*new, *read)]),))
        return entries

    def record_results(self, rows: Sequence[RowResult]) -> None:
        """Write the results of rows."""
        for statement, started in ((_UPSERT_RESULTS, True), (_UPSERT_NOT_STARTED, False)):
            ended = [row for row in rows if row.started is started]
            if ended:
                self._connection.execute(statement, (self.run, _timestamp(datetime.now(UTC)), to_json(ended)))

    def delete_unsent(self, rows: Sequence[RowStarted]) -> None:
        """Remove rows that were started and not sent."""
        self._connection.execute(_DELETE_UNSENT, (self.run, to_json([row.key for row in rows])))

    def delete_rejected(self) -> None:
        """Remove rejected rows, so that they count as new."""
        self._connection.execute("DELETE FROM vaults WHERE state = 'rejected'")

    def finish(self) -> None:
        """Forget what earlier runs recorded of rows that were not started."""
        self._connection.execute(_DELETE_NOT_READ, (self._since,))
        self._connection.execute(_DELETE_SUPERSEDED, (self._since,))

    def entries(self, state: RowState | None, after: str | None, limit: int) -> Sequence[JournalEntry]:
        """Return rows in the order of their keys."""
        return list(self._entries(_SELECT_PAGE, (after or "", state, state, limit)))

    def not_started(self, state: RowState | None, after: int, limit: int) -> Sequence[JournalEntry]:
        """Return rows that were not started, by row number."""
        return list(self._entries(_SELECT_NOT_STARTED, (after, state, state, limit)))

    def counts(self) -> Mapping[RowState, int]:
        """Return the number of rows of each state."""
        rows = self._connection.execute(_COUNT_STATES)
        return {RowState(state): int(count) for state, count in rows}

    def _upgrade(self) -> None:
        """Add what the file of an earlier version lacks."""
        if not self._is_upgraded():
            with transaction(self._connection):
                if not self._is_upgraded():  # check again, now that no other process writes
                    for statement in _ADDED_SCHEMA.split(";"):
                        self._connection.execute(statement)

    def _is_upgraded(self) -> bool:
        found = self._connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'not_started'").fetchone()
        return found is not None

    def _entries(self, statement: str, values: Sequence[Any]) -> Iterator[JournalEntry]:
        cursor = self._connection.execute(statement, values)
        names = [column[0] for column in cursor.description]
        return (_entry(dict(zip(names, row, strict=True))) for row in cursor)


def _entry(given: Mapping[str, Any]) -> JournalEntry:
    """Convert a row of a table to an entry."""
    values = {**NO_ACCOUNT, **given}
    values["state"] = RowState(values["state"])
    values["reasons"] = tuple(msgspec.json.decode(values["reasons"]))
    values["changed_at"] = datetime.fromisoformat(values["changed_at"])
    return JournalEntry(**values)


def _timestamp(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds")
