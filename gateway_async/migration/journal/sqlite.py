"""`SqliteJournal`: a migration's journal in one SQLite file.

The caller waits for started rows to be on disk. Results are written with the next batch.
"""

from functools import partial
from os import PathLike
from pathlib import Path
from typing import Final

from gateway_async._storage.sql import QueuedStore, SqliteBackend
from gateway_async._storage.sqlite import FileFormat, database_file, seal_path
from gateway_async.errors import JournalError
from gateway_async.migration.journal._sql_journal import SqlJournal

__all__ = ["SqliteJournal"]

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

_FORMAT: Final = FileFormat(
    "a journal", _APPLICATION_ID, _VERSION, _SCHEMA, added_schema=_ADDED_SCHEMA, added_table="not_started"
)

_MARKS: Final = {
    ":is_own_run": "TRUE",
    ":is_own": "TRUE",
    ":migration": "",
    ":name": "",
    ":time": "strftime('%Y-%m-%dT%H:%M:%f+00:00', :now, 'unixepoch')",
    ":returning_keys": "",  # each row that a statement returns would wait for the interpreter's lock
    "@_runs": "migration",
    "@_not_started": "not_started",
    "@": "vaults",
}


class SqliteJournal(SqlJournal):
    """A journal in an SQLite file, for any number of processes of one machine.

        await migrate_vaults(gateway, rows, journal=SqliteJournal("cards.journal"))

    For several machines use `PostgresJournal`.

    The file is opened or created when it is first needed. A row is on disk (WAL, `synchronous=FULL`) before it is sent,
    so it survives `kill -9` and a loss of power. Do not put the file on a network share: SQLite's locks do not work
    there. It runs on asyncio and on trio.

    Of a card the file holds the last four digits and the brand. A migration without a name has the name of the file,
    without its last suffix.

    Args:
        path: the file; `-wal` and `-shm` beside it belong to it. Its folder must exist.

    Raises:
        InvalidRequestError: `path` is invalid.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        given = seal_path(path)
        del path  # an error's traceback shows local variables
        file = database_file(given)
        closed = partial(JournalError, str(file), "it is closed")
        store = QueuedStore("gateway_async journal", partial(_open_journal, file), closed)
        super().__init__(str(file), store, None, is_alone=True)


def _open_journal(path: str | Path) -> SqliteBackend:
    """Open a journal's file.

    Raises:
        JournalError: it cannot be used.
    """
    return SqliteBackend(path, _FORMAT, JournalError, marks=_MARKS)
