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
    UNRESOLVED_STATES,
    JournalEntry,
    JournalRun,
    RowResult,
    RowStarted,
    RowState,
    gateway_mismatch,
    split_new_rows,
)

__all__ = ["JournalFile", "Operation"]

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
_FORMAT: Final = FileFormat("a journal", _APPLICATION_ID, _VERSION, _SCHEMA)

_COLUMNS: Final = tuple(field.name for field in attrs.fields(JournalEntry))
_START_COLUMNS: Final = tuple(field.name for field in attrs.fields(RowStarted))
_RESULT_COLUMNS: Final = tuple(field.name for field in attrs.fields(RowResult) if field.name != "started")


def _assignments(*names: str) -> str:
    """Return the SET clause of an upsert."""
    return ", ".join(f"{name} = excluded.{name}" for name in names)


# One statement and one JSON encoding for any number of rows: each extra one would wait for the GIL again.
# "WHERE TRUE" tells SQLite's parser that "ON" does not begin a join.
_SELECT_BY_KEY: Final = f"SELECT {', '.join(_COLUMNS)} FROM vaults WHERE key IN (SELECT value FROM json_each(?))"  # noqa: S608
_INSERT_STARTS: Final = f"""
INSERT INTO vaults ({", ".join(_START_COLUMNS)}, state, run, changed_at)
SELECT {json_fields(*_START_COLUMNS)}, 'sending', ?, ? FROM json_each(?) WHERE TRUE
ON CONFLICT (key) DO UPDATE SET {_assignments(*_START_COLUMNS, "state", "run", "changed_at")}, reasons = '[]'
"""  # noqa: S608  constant column names
_CLAIM_UNRESOLVED: Final = "UPDATE vaults SET run = ? WHERE key IN (SELECT value FROM json_each(?))"
_UPSERT_RESULTS: Final = f"""
INSERT INTO vaults ({", ".join(_RESULT_COLUMNS)}, run, changed_at)
SELECT {json_fields(*_RESULT_COLUMNS)}, ?, ? FROM json_each(?) WHERE TRUE
ON CONFLICT (key) DO UPDATE SET {_assignments(*_RESULT_COLUMNS, "run", "changed_at")} WHERE vaults.state <> 'stored'
"""  # noqa: S608  constant column names
_UPSERT_INVALID: Final = f"{_UPSERT_RESULTS} AND vaults.state = 'rejected'"
_DELETE_UNSENT: Final = """
DELETE FROM vaults WHERE state = 'sending' AND run = ? AND key IN (SELECT value FROM json_each(?))
"""
_SELECT_PAGE: Final = f"""
SELECT {", ".join(_COLUMNS)} FROM vaults WHERE key > ? AND (? IS NULL OR state = ?) ORDER BY key LIMIT ?
"""  # noqa: S608  constant column names


@attrs.frozen
class Operation:
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

    def execute_batch(self, awaited: Sequence[Operation], deferred: Sequence[Operation]) -> Sequence[Any]:
        """Run all operations in one transaction and return the results of `awaited`.

        Pending results are written first, so that reads see them.
        """
        writes = bool(deferred) or any(each.writes for each in awaited)
        with self._describe_errors(), transaction(self._connection) if writes else nullcontext():
            for each in deferred:
                each.function(self)
            return [each.function(self) for each in awaited]

    def start(self, name: str | None, gateway: str) -> JournalRun | JournalError:
        """Start a run. Return an error if the journal belongs to another migration or gateway."""
        self._connection.execute(
            "INSERT INTO migration SELECT ?, 0, ? WHERE NOT EXISTS (SELECT 1 FROM migration)",
            (Path(self.path).stem if name is None else name, gateway),
        )
        own_name, own_gateway = self._connection.execute("SELECT name, gateway FROM migration").fetchone()
        if name not in (None, own_name):
            return JournalError(self.path, f"it belongs to the migration {own_name!r}, not to {name!r}")
        if problem := gateway_mismatch(own_gateway, gateway):
            return JournalError(self.path, problem)
        (self.run,) = self._connection.execute(
            "UPDATE migration SET runs = runs + 1, gateway = ? RETURNING runs", (own_gateway or gateway,)
        ).fetchone()
        return JournalRun(own_name, self.run)

    def record_starts(self, rows: Sequence[RowStarted]) -> Sequence[JournalEntry | None]:
        """Write rows that are about to be sent. Return the known entry of each; None for new rows."""
        now = datetime.now(UTC)
        known = {entry.key: entry for entry in self._entries(_SELECT_BY_KEY, (to_json([row.key for row in rows]),))}
        unresolved = [entry.key for entry in known.values() if entry.state in UNRESOLVED_STATES]
        entries, new = split_new_rows(rows, known, self.run, now)
        if unresolved:
            self._connection.execute(_CLAIM_UNRESOLVED, (self.run, to_json(unresolved)))
        if new:
            self._connection.execute(_INSERT_STARTS, (self.run, _timestamp(now), to_json(new)))
        return entries

    def record_results(self, rows: Sequence[RowResult]) -> None:
        """Write the results of rows."""
        for statement, started in ((_UPSERT_RESULTS, True), (_UPSERT_INVALID, False)):
            ended = [row for row in rows if row.started is started]
            if ended:
                self._connection.execute(statement, (self.run, _timestamp(datetime.now(UTC)), to_json(ended)))

    def delete_unsent(self, rows: Sequence[RowStarted]) -> None:
        """Remove rows that were started and not sent."""
        self._connection.execute(_DELETE_UNSENT, (self.run, to_json([row.key for row in rows])))

    def delete_rejected(self) -> None:
        """Remove rejected rows, so that they count as new."""
        self._connection.execute("DELETE FROM vaults WHERE state = 'rejected'")

    def entries(self, state: RowState | None, after: str | None, limit: int) -> Sequence[JournalEntry]:
        """Return rows in the order of their keys."""
        return list(self._entries(_SELECT_PAGE, (after or "", state, state, limit)))

    def counts(self) -> Mapping[RowState, int]:
        """Return the number of rows of each state."""
        rows = self._connection.execute("SELECT state, count(*) FROM vaults GROUP BY state")
        return {RowState(state): int(count) for state, count in rows}

    def _entries(self, statement: str, values: Sequence[Any]) -> Iterator[JournalEntry]:
        return map(_entry, self._connection.execute(statement, values))


def _entry(row: Sequence[Any]) -> JournalEntry:
    """Convert a row of the table to an entry."""
    values = dict(zip(_COLUMNS, row, strict=True))
    values["state"] = RowState(values["state"])
    values["reasons"] = tuple(msgspec.json.decode(values["reasons"]))
    values["changed_at"] = datetime.fromisoformat(values["changed_at"])
    return JournalEntry(**values)


def _timestamp(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds")
