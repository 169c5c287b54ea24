"""What the package's SQLite files have in common: how they are opened, shared with other processes, complained of."""

import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import attrs

__all__ = ["BUSY_SECONDS", "Form", "ask_pragma", "connect", "in_plain_words", "is_trouble", "set_up", "transaction"]

BUSY_SECONDS: Final = 10.0
"""How long to wait while another process writes."""

_PRIMARY_CODE: Final = 0xFF
"""The bits of an SQLite error code that say what; the others say in what circumstances."""

_TROUBLES: Final[Mapping[int, str]] = {
    sqlite3.SQLITE_BUSY: "other processes kept it locked",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened or made; is the folder there, and yours to write to?",
    sqlite3.SQLITE_CORRUPT: "it is damaged",
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_IOERR: "the disk failed, or is full",
    sqlite3.SQLITE_NOTADB: "it is not {}",
    sqlite3.SQLITE_PERM: "access is not permitted",
    sqlite3.SQLITE_READONLY: "it is read-only",
}


def is_trouble(error: sqlite3.Error) -> bool:
    """Whether something is wrong with the file itself, and not only with a statement."""
    return _primary_code(error) in _TROUBLES


def in_plain_words(error: sqlite3.Error, kind: str) -> str:
    """What is wrong with a file, which should be a `kind` ("a ledger")."""
    return _TROUBLES[_primary_code(error)].format(kind) if is_trouble(error) else str(error)


def _primary_code(error: sqlite3.Error) -> int:
    code: int = getattr(error, "sqlite_errorcode", 0)  # only errors of SQLite itself have one
    return code & _PRIMARY_CODE


def connect(path: str, patience: float = BUSY_SECONDS) -> sqlite3.Connection:
    """Open a file, or make it, with transactions in the caller's hands; `patience` in seconds."""
    return sqlite3.connect(path, timeout=patience, isolation_level=None)


def _set_wal(connection: sqlite3.Connection) -> None:
    """Have writers append to a log: one sync for each commit, and readers do not wait."""
    until = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError:  # SQLite does not wait by itself while another process does the same
            if time.monotonic() >= until:
                raise
            time.sleep(0.01)
        else:
            return


def ask_pragma(connection: sqlite3.Connection, pragma: str) -> int:
    """The value of a setting that is a number."""
    (value,) = connection.execute(f"PRAGMA {pragma}").fetchone()
    return int(value)


@contextmanager
def transaction(connection: sqlite3.Connection, *, only_reading: bool = False) -> Iterator[None]:
    """All of it or nothing, and nobody else writes meanwhile; or what is read is of one moment."""
    connection.execute("BEGIN" if only_reading else "BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@attrs.frozen
class Form:
    """What tells a file of ours from another program's, and what is in it from the beginning.

    Attributes:
        application_id: stands in the file's head.
        version: of the tables; a greater one is a later package's.
        schema: the statements that make them, with semicolons between.
    """

    application_id: int
    version: int
    schema: str

    def set_up(self, connection: sqlite3.Connection, refuse: Callable[[str], Exception]) -> None:
        """Make the tables in a new file, or see that they are there.

        Raises:
            Exception: what `refuse` makes of the reason: the file is another program's, or a later version's.
        """
        set_up(connection, lambda: self._is_new(connection, refuse), lambda: self._make(connection))

    def _is_new(self, connection: sqlite3.Connection, refuse: Callable[[str], Exception]) -> bool:
        application = ask_pragma(connection, "application_id")
        if application == 0 and not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            return True
        if application != self.application_id:
            raise refuse("it is another program's")
        if ask_pragma(connection, "user_version") > self.version:
            raise refuse("a later version of this package made it")
        return False

    def _make(self, connection: sqlite3.Connection) -> None:
        for statement in self.schema.split(";"):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {self.version}")
        connection.execute(f"PRAGMA application_id = {self.application_id}")


def set_up(connection: sqlite3.Connection, is_new: Callable[[], bool], make: Callable[[], None]) -> None:
    """Have a new file made, once, however many processes open it at the same moment; all commits are synced."""
    with transaction(connection, only_reading=True):  # others may be making it right now
        new = is_new()
    if new:
        _set_wal(connection)
        with transaction(connection):
            if is_new():  # still, now that nobody else writes
                make()
    connection.execute("PRAGMA synchronous = FULL")
