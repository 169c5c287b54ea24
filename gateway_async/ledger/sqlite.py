"""`SqliteLedger`: a ledger in one SQLite file."""

import sqlite3
from contextlib import closing, suppress
from datetime import timedelta
from functools import partial
from os import PathLike, fspath
from pathlib import Path
from typing import Final

from gateway_async._arguments import retention_period
from gateway_async._storage.sql import SqliteBackend
from gateway_async._storage.sqlite import FileFormat, ask_pragma, database_file, open_database, seal_path
from gateway_async.errors import LedgerError
from gateway_async.ledger import _operations as operations
from gateway_async.ledger._sql_ledger import SqlLedger

__all__ = ["SqliteLedger"]

_APPLICATION_ID: Final = 0x67774C31
"""Identifies a ledger in the file's header: "gwL1"."""

_VERSION: Final = 2

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

_MARKS: Final = {
    ":owner": "orphaned",
    ":mine": "FALSE",
    ":is_orphaned": "orphaned",
    ":is_shown": "TRUE",
    ":resolved_at": "new.resolved_at",
    ":oldest": "SELECT number FROM @ ORDER BY number LIMIT 10000",
    ":is_old": "resolved_at < strftime('%Y-%m-%dT%H:%M:%fZ', :now - $1, 'unixepoch')",
    "@": "intents",
}
_MARK_ORPHANED: Final = "UPDATE intents SET orphaned = 1 WHERE outcome IS NULL"


class SqliteLedger(SqlLedger):
    """A ledger in an SQLite file; each client needs its own object.

        AsyncGateway(..., ledger=SqliteLedger("payments.db"))

    Any number of ledgers can share one file. The file is opened or created on first use. An intent is on disk (WAL,
    `synchronous=FULL`) before its call is sent, and survives `kill -9` and a loss of power. Several processes of one
    machine may use one file at the same time. Do not put it on a network share, because SQLite's locks do not work
    there. It runs on asyncio and on trio, and under several event loops. In a process that was forked after its first
    use it is closed.

    Of a card or an account, the file contains only the last four digits, by which a stored card is recognized.

    Args:
        path: the file; the files with the suffixes `-wal` and `-shm` belong to it. Its folder must exist.
        keep_days: days for which resolved intents are kept for inspection. Open intents are kept until they are
            resolved.

    Raises:
        InvalidRequestError: an argument is invalid.
    """

    def __init__(self, path: str | PathLike[str], *, keep_days: float = 30.0) -> None:
        given = seal_path(path)
        del path  # an error's traceback shows local variables
        retention = retention_period(keep_days)
        file = database_file(given)
        super().__init__(str(file), partial(_open_ledger, file, retention), retention)


def _open_ledger(path: str | Path, keep: timedelta | None = None) -> SqliteBackend:
    """Open a ledger's file; with `keep`, resolved intents are deleted after that time.

    Raises:
        LedgerError: it cannot be used.
    """
    _mark_orphaned(fspath(path))
    prune = partial(operations.prune, keep) if keep else None
    return SqliteBackend(path, _FORMAT, LedgerError, marks=_MARKS, prune=prune)


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
