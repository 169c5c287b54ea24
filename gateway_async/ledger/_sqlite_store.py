"""`LedgerFile`: intents and outcomes in one SQLite file.

Only one thread at a time may use it. A `write` is atomic, and is on disk when it returns. A file of another program is
not touched.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from os import fspath
from pathlib import Path
from typing import Any, Final

import attrs
import msgspec

from gateway_async._storage.sqlite import (
    FileFormat,
    SqliteStore,
    ask_pragma,
    json_fields,
    open_database,
    to_json,
    transaction,
)
from gateway_async.errors import LedgerError
from gateway_async.ledger._operations import EntriesAfter, OpenIntents, RecordedOutcome
from gateway_async.ledger.protocol import Intent, StoredIntent

_APPLICATION_ID: Final = 0x67774C31
"""Identifies a ledger in the file's header: "gwL1"."""

_VERSION: Final = 2
_PRUNED_ROWS: Final = 10_000

_SCHEMA: Final = """
CREATE TABLE intents (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    call TEXT NOT NULL,
    resource TEXT NOT NULL,
    api_id TEXT,
    location_id TEXT,
    terminal_id TEXT,
    sent_at TEXT NOT NULL,
    conclusive_at TEXT NOT NULL,
    sent TEXT NOT NULL,
    outcome_query TEXT,
    gateway TEXT NOT NULL DEFAULT '',
    orphaned INTEGER NOT NULL DEFAULT 0,
    outcome TEXT,
    record_id TEXT,
    resolved_at TEXT
);
CREATE INDEX open_intents ON intents (terminal_id) WHERE outcome IS NULL;
"""
_FORMAT: Final = FileFormat("a ledger", _APPLICATION_ID, _VERSION, _SCHEMA)

_COLUMNS: Final = tuple(field.name for field in attrs.fields(Intent))

# One statement and one JSON encoding for all rows: each further call would wait for the interpreter's lock again.
_RECORD_INTENTS: Final = f"""
INSERT OR IGNORE INTO intents ({", ".join(_COLUMNS)}) SELECT {json_fields(*_COLUMNS)} FROM json_each(?)
"""  # noqa: S608  no user input in the SQL
_RECORD_OUTCOMES: Final = f"""
UPDATE intents SET outcome = new.outcome, record_id = new.record_id, resolved_at = new.resolved_at
FROM (
    SELECT {json_fields("intent_id", "outcome", "record_id", "resolved_at")} FROM json_each(?)
) AS new
WHERE intents.id = new.intent_id AND (intents.outcome IS NULL OR new.outcome = 'done')
"""  # noqa: S608  no user input in the SQL
_PRUNE: Final = """
DELETE FROM intents
WHERE number IN (SELECT number FROM intents ORDER BY number LIMIT ?) AND outcome IS NOT NULL AND resolved_at < ?
"""
_MARK_ORPHANED: Final = "UPDATE intents SET orphaned = 1 WHERE outcome IS NULL"


class LedgerFile(SqliteStore):
    """An open ledger file.

    Args:
        path: the file; it is created if it does not exist.
        keep: how long resolved intents are kept; None keeps them.

    Raises:
        LedgerError: it cannot be used; every method raises it too.
    """

    def __init__(self, path: str | Path, keep: timedelta | None = None) -> None:
        _mark_orphaned(fspath(path))
        super().__init__(path, _FORMAT, LedgerError)
        self._keep = keep

    def execute_batch(
        self, awaited: Sequence[Intent | OpenIntents | EntriesAfter], deferred: Sequence[RecordedOutcome]
    ) -> Sequence[Any]:
        """Write the intents and the outcomes, then run the queries."""
        self.write([each for each in awaited if isinstance(each, Intent)], deferred)
        if self._keep:
            self._prune_if_due(partial(self.prune, datetime.now(UTC) - self._keep))
        return [None if isinstance(each, Intent) else self._run_query(each) for each in awaited]

    def _run_query(self, query: OpenIntents | EntriesAfter) -> Sequence[Intent] | Sequence[StoredIntent] | LedgerError:
        try:
            if isinstance(query, OpenIntents):
                return self.open_intents(query.terminal_id)
            return self.entries(query.intent_id, query.limit)
        except LedgerError as error:
            return error

    def write(self, intents: Sequence[Intent], outcomes: Sequence[RecordedOutcome]) -> None:
        """Write intents and outcomes in one transaction."""
        with self._describe_errors(), transaction(self._connection):
            if intents:
                self._connection.execute(_RECORD_INTENTS, (to_json(intents),))
            if outcomes:
                self._connection.execute(_RECORD_OUTCOMES, (to_json(outcomes),))

    def open_intents(self, terminal_id: str | None = None) -> Sequence[Intent]:
        """Return the intents without an outcome, the oldest first.

        With `terminal_id`, return only the intents of that terminal.
        """
        condition = "outcome IS NULL" + ("" if terminal_id is None else " AND terminal_id = ?") + " ORDER BY number"
        return [entry.intent for entry in self._select(condition, () if terminal_id is None else (terminal_id,))]

    def entries(self, after: str = "", limit: int = -1) -> Sequence[StoredIntent]:
        """Return the entries after an id, in the order of their ids."""
        return [*self._select("id > ? ORDER BY id LIMIT ?", (after, limit))]

    def prune(self, before: datetime) -> None:
        """Delete intents that were resolved before a time.

        Only the ten thousand oldest intents are checked.
        """
        with self._describe_errors():
            self._connection.execute(_PRUNE, (_PRUNED_ROWS, _to_text(before)))

    def _select(self, condition: str, values: Sequence[str | int] = ()) -> Iterator[StoredIntent]:
        columns = ", ".join((*_COLUMNS, "outcome", "record_id", "resolved_at"))
        with self._describe_errors():
            rows = self._connection.execute(
                f"SELECT {columns} FROM intents WHERE {condition}",  # noqa: S608  no user input in the SQL
                values,
            )
            for *row, outcome, record_id, resolved_at in rows:
                yield StoredIntent(
                    _intent(row), outcome, record_id, resolved_at and datetime.fromisoformat(resolved_at)
                )


def _mark_orphaned(path: str) -> None:
    """Mark open intents as orphaned if no other process uses the file.

    The processes that wrote them have then exited. Errors are ignored here: the store opens the file next and reports
    them.
    """
    if not Path(path).is_file():
        return
    with suppress(sqlite3.Error), closing(open_database(path, 0)) as alone:
        alone.execute("PRAGMA locking_mode = EXCLUSIVE")
        if ask_pragma(alone, "application_id") == _APPLICATION_ID:
            alone.execute(_MARK_ORPHANED)


def _intent(row: Sequence[Any]) -> Intent:
    """Build an intent from a row of the table."""
    values = dict(zip(_COLUMNS, row, strict=True))
    for name in ("sent_at", "conclusive_at"):
        values[name] = datetime.fromisoformat(values[name])
    for name in ("sent", "outcome_query"):
        values[name] = values[name] and msgspec.json.decode(values[name])
    values["orphaned"] = bool(values["orphaned"])
    return Intent(**values)


def _to_text(moment: datetime) -> str:
    """Format a time in UTC; all times in the file have this format."""
    return str(msgspec.to_builtins(moment.astimezone(UTC)))
