"""The SQLite files of the stores: opening, format, transactions and error texts."""

import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Final, cast

import attrs

from gateway_async._secrets import Secret, is_address
from gateway_async._storage.dialect import CREATED_TABLES, Marks, translate
from gateway_async._storage.private_file import check_owner, create_database
from gateway_async.errors import InvalidRequestError

BUSY_SECONDS: Final = 10.0
"""Maximum seconds to wait while another process writes."""

_PRIMARY_CODE: Final = 0xFF
"""The bits of an SQLite error code that give the kind of error.

The other bits give details.
"""

_FILE_ERRORS: Final[Mapping[int, str]] = {
    sqlite3.SQLITE_BUSY: "another process is using it",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened or created (does its folder exist, and can you write to it?)",
    sqlite3.SQLITE_CORRUPT: "it is damaged",
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_IOERR: "the disk failed, or is full",
    sqlite3.SQLITE_NOTADB: "it is not {}",
    sqlite3.SQLITE_PERM: "access is not permitted",
    sqlite3.SQLITE_READONLY: "it is read-only",
}


def file_identity(path: str) -> tuple[int, int] | None:
    """The device and inode of a file, if it exists."""
    with suppress(OSError):
        found = os.stat(path)  # noqa: PTH116  for each transaction, and twice as fast
        return found.st_dev, found.st_ino
    return None


def seal_path(path: Any) -> Path | Secret:
    """Make a file's path absolute; seal anything else, because it may be an address with a password."""
    text = fspath(path) if isinstance(path, PathLike) else path
    if isinstance(text, str) and text and "\0" not in text and not is_address(text):
        return Path(text).absolute()
    return Secret(text)


def check_path(path: Path | Secret, problems: Sequence[str] = ()) -> Path:
    """Check the result of `seal_path`, and unpack the path of the file.

    Raises:
        InvalidRequestError: it is not a path, or there are `problems` with other arguments.
    """
    if isinstance(path, Secret):
        problems = ["path: invalid (expected a file, not an address such as postgresql://…)", *problems]
    if problems:
        raise InvalidRequestError(problems)
    return cast("Path", path)


def is_file_error(error: sqlite3.Error) -> bool:
    """Whether an error is about the file, not a statement."""
    return _primary_code(error) in _FILE_ERRORS


def describe_sqlite_error(error: sqlite3.Error, kind: str) -> str:
    """Describe an error of a file of a `kind` ("a ledger")."""
    return _FILE_ERRORS[_primary_code(error)].format(kind) if is_file_error(error) else str(error)


def _primary_code(error: sqlite3.Error) -> int:
    code: int = getattr(error, "sqlite_errorcode", 0)  # only errors of SQLite itself have one
    return code & _PRIMARY_CODE


def open_database(path: str, busy_seconds: float = BUSY_SECONDS, *, shared: bool = False) -> sqlite3.Connection:
    """Open a file, or create it with mode 0600; the caller controls transactions.

    Args:
        path: the file.
        busy_seconds: maximum seconds to wait while another process writes.
        shared: whether the file may belong to another user.

    Raises:
        sqlite3.Error: it cannot be opened or created, or belongs to another user.
    """
    try:
        create_database(path)
    except OSError as error:
        cannot_open = sqlite3.OperationalError(str(error))
        cannot_open.sqlite_errorcode = sqlite3.SQLITE_CANTOPEN
        raise cannot_open from None
    if not shared:
        try:
            check_owner(path, follow=True)
        except PermissionError as error:
            raise sqlite3.DatabaseError(f"it {error.strerror}") from None
    return sqlite3.connect(path, timeout=busy_seconds, isolation_level=None)


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


def ask_pragma(connection: sqlite3.Connection, pragma: str) -> int:
    """Read the value of a numeric pragma."""
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
    """The tables of one kind of store in an SQLite file.

    Attributes:
        kind: the kind of file, for messages, such as "a ledger".
        error: the error of a file that cannot be used, made of its path and the reason.
        application_id: the identifier in the file's header, which tells it from the files of other programs.
        version: the version of the tables. A file of another version is rejected.
        schema: the statements that create the tables, in PostgreSQL's syntax. They run if one of the tables is missing.
        marks: the marks in the statements.
        can_be_shared: whether the tables may be in another program's database.
    """

    kind: str
    error: Callable[[str, str], Exception]
    application_id: int
    version: int
    schema: str
    marks: Marks = ()
    can_be_shared: bool = False

    def initialize(self, connection: sqlite3.Connection, path: str, *, shared: bool = False) -> None:
        """Create missing tables, or check the existing ones; sync every commit.

        Several processes may open the file at the same time; one of them creates the tables.

        Raises:
            Exception: an `error`: the file belongs to another program, or to another version.
        """
        with transaction(connection, only_reading=True):  # other processes may be creating them now
            has_tables = self.has_tables(connection, path, shared=shared)
        if not has_tables:
            _set_wal(connection)
            with transaction(connection):
                if not self.has_tables(connection, path, shared=shared):  # again, now that no other process writes
                    self._create_tables(connection, shared)
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA fullfsync = ON")  # on macOS, `fsync` leaves data in the cache of the disk

    def has_tables(self, connection: sqlite3.Connection, path: str, *, shared: bool = False) -> bool:
        """Check that the file has this format or is empty; return whether it has all tables. Nothing is changed.

        Raises:
            Exception: an `error`: the file belongs to another program, or to another version.
        """
        application, version = ask_pragma(connection, "application_id"), ask_pragma(connection, "user_version")
        existing = _existing_names(connection)
        tables = CREATED_TABLES.findall(translate(self.schema, self.marks))
        has_tables = existing.issuperset(tables)
        if application == self.application_id and version != self.version:
            age = "a later" if version > self.version else "an earlier"
            reason = f"{age} version of this package made it (format {version}, expected {self.version})"
            raise self.error(path, reason)
        if application == self.application_id and tables[0] not in existing:  # one transaction creates both
            raise self.error(path, f"it is not {self.kind}, although its header says so")
        is_own = application == self.application_id or shared or (self.can_be_shared and has_tables)
        if not is_own and (application or existing):
            hint = "; if that program is yours, pass shared=True" if self.can_be_shared else ""
            raise self.error(path, f"it is another program's{hint}")
        return has_tables

    def _create_tables(self, connection: sqlite3.Connection, shared: bool) -> None:
        for statement in translate(self.schema, self.marks).split(";"):
            connection.execute(statement)
        if not shared:
            connection.execute(f"PRAGMA user_version = {self.version}")
            connection.execute(f"PRAGMA application_id = {self.application_id}")


def _existing_names(connection: sqlite3.Connection) -> set[str]:
    return {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
