"""Shared parts of the SQLite files: opening, locking and error texts."""

import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import attrs

from gateway_async._storage.private_file import check_owner, create_database, restrict_mode

__all__ = [
    "BUSY_SECONDS",
    "FileFormat",
    "ask_pragma",
    "connect",
    "describe_error",
    "initialize",
    "is_file_error",
    "restrict_database",
    "transaction",
]

BUSY_SECONDS: Final = 10.0
"""Maximum seconds to wait while another process writes."""

_PRIMARY_CODE: Final = 0xFF
"""The bits of an SQLite error code that give the kind of error.

The other bits give details.
"""

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


def is_file_error(error: sqlite3.Error) -> bool:
    """Return whether an error is about the file itself, not about a statement."""
    return _primary_code(error) in _TROUBLES


def describe_error(error: sqlite3.Error, kind: str) -> str:
    """Describe an error of a file, which should be a `kind` ("a ledger")."""
    return _TROUBLES[_primary_code(error)].format(kind) if is_file_error(error) else str(error)


def _primary_code(error: sqlite3.Error) -> int:
    code: int = getattr(error, "sqlite_errorcode", 0)  # only errors of SQLite itself have one
    return code & _PRIMARY_CODE


def connect(path: str, patience: float = BUSY_SECONDS, *, shared: bool = False) -> sqlite3.Connection:
    """Open a file, or create it with mode 0600; the caller controls transactions.

    Args:
        path: the file.
        patience: maximum seconds to wait while another process writes.
        shared: whether the file may belong to another user.

    Raises:
        sqlite3.Error: it cannot be opened or created, or belongs to another user.
    """
    try:
        create_database(path)
    except OSError as error:
        trouble = sqlite3.OperationalError(str(error))
        trouble.sqlite_errorcode = sqlite3.SQLITE_CANTOPEN
        raise trouble from None
    if not shared:
        try:
            check_owner(path, follow=True)
        except PermissionError as error:
            raise sqlite3.DatabaseError(f"it {error.strerror}") from None
    return sqlite3.connect(path, timeout=patience, isolation_level=None)


def _set_wal(connection: sqlite3.Connection) -> None:
    """Switch the file to WAL mode.

    Each commit then needs one sync, and readers do not wait.
    """
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


def restrict_database(connection: sqlite3.Connection) -> None:
    """Remove the permissions of other users from a database and its side files.

    The file must be known to be one of this package's.
    """
    (_, _, path), *_ = connection.execute("PRAGMA database_list").fetchall()
    restrict_mode(path)


def ask_pragma(connection: sqlite3.Connection, pragma: str) -> int:
    """Return the value of a numeric pragma."""
    (value,) = connection.execute(f"PRAGMA {pragma}").fetchone()
    return int(value)


@contextmanager
def transaction(connection: sqlite3.Connection, *, only_reading: bool = False) -> Iterator[None]:
    """Run a block in a transaction; roll back if it raises.

    A writing transaction excludes other writers. With `only_reading`, all reads see the same state of the file.
    """
    connection.execute("BEGIN" if only_reading else "BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@attrs.frozen
class FileFormat:
    """The file format of one kind of store: its identity and its tables.

    Attributes:
        application_id: the identifier in the file's header, which tells it from the files of other programs.
        version: of the tables; a later version of the package has a greater one.
        schema: the statements that create the tables, separated by semicolons.
    """

    application_id: int
    version: int
    schema: str

    def initialize(self, connection: sqlite3.Connection, refuse: Callable[[str], Exception]) -> None:
        """Create the tables in a new file, or check an existing one.

        Raises:
            Exception: the result of `refuse`: the file belongs to another program, or to a later version.
        """
        initialize(connection, lambda: self._is_new(connection, refuse), lambda: self._make(connection))
        restrict_database(connection)

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


def initialize(connection: sqlite3.Connection, is_new: Callable[[], bool], make: Callable[[], None]) -> None:
    """Create a new file's tables exactly once, and sync every commit.

    Several processes may open the file at the same time.
    """
    with transaction(connection, only_reading=True):  # other processes may be creating it now
        new = is_new()
    if new:
        _set_wal(connection)
        with transaction(connection):
            if is_new():  # check again, now that no other process writes
                make()
    connection.execute("PRAGMA synchronous = FULL")
