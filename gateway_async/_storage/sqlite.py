"""The SQLite files of the ledger, the inbox and the journal: opening, format, error texts and syntax."""

import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from functools import lru_cache
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Final

import attrs
import msgspec

from gateway_async._secrets import Secret, is_address
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


_SYNTAX: Final[Sequence[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]]] = (
    (
        re.compile(r"jsonb_to_recordset\((\$\d)::jsonb\)\s+AS (\w+) \(([^)]+)\)"),
        lambda found: f"(SELECT {_json_fields(found[3])} FROM json_each({found[1]})) AS {found[2]}",  # noqa: S608  constant names
    ),
    (re.compile(r"= ANY\((\$\d)\)"), r"IN (SELECT value FROM json_each(\1))"),
    (re.compile(r' ORDER BY given\.\w+( COLLATE "C")?'), ""),
    (re.compile(r" FOR UPDATE( OF \w+)?( SKIP LOCKED)?"), ""),  # a transaction excludes other writers
    (re.compile(r"::\w+"), ""),
)
"""PostgreSQL's syntax → SQLite's."""

_encoder: Final = msgspec.json.Encoder(enc_hook=dict)  # encodes mappings of any type


@lru_cache(512)
def translate(statement: str, marks: tuple[tuple[str, str], ...]) -> str:
    """Rewrite a statement of PostgreSQL for SQLite, with its marks replaced."""
    for mark, replacement in marks:
        statement = statement.replace(mark, replacement)
    for pattern, rewritten in _SYNTAX:
        statement = pattern.sub(rewritten, statement)
    return statement


def _json_fields(columns: str) -> str:
    """Return SQL that reads the columns from the JSON object `value`."""
    names = [column.split()[0] for column in columns.split(",")]
    return ", ".join(f"json_extract(value, '$.{name}') AS {name}" for name in names)


def to_sqlite(value: Any) -> Any:
    """Convert a value of a statement: lists to JSON, and times to seconds."""
    match value:
        case list():
            return _encoder.encode(value).decode()
        case timedelta():
            return value.total_seconds()
        case datetime():
            return value.timestamp()
        case _:
            return value


def file_identity(path: str) -> tuple[int, int] | None:
    """Return the device and inode of a file, if it exists."""
    with suppress(OSError):
        found = Path(path).stat()
        return found.st_dev, found.st_ino
    return None


def seal_path(path: Any) -> Path | Secret:
    """Return the absolute path of a file; anything else as a secret, because it may be an address with a password."""
    text = fspath(path) if isinstance(path, PathLike) else path
    if isinstance(text, str) and text and "\0" not in text and not is_address(text):
        return Path(text).absolute()
    return Secret(text)


def database_file(path: Path | Secret) -> Path:
    """Return the file of the result of `seal_path`.

    Raises:
        InvalidRequestError: it is not a path.
    """
    if isinstance(path, Secret):
        raise InvalidRequestError("path: invalid (expected a file, not an address such as postgresql://…)")
    return path


def is_file_error(error: sqlite3.Error) -> bool:
    """Return whether an error is about the file, not a statement."""
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
        kind: the kind of file, for messages, such as "a ledger".
        application_id: the identifier in the file's header, which tells it from the files of other programs.
        version: the version of the tables. A file of another version is rejected.
        schema: the statements that create the tables, separated by semicolons.
        shared_table: the table that marks a store in another program's database; "" if a file cannot be shared.
        added_schema: the statements for tables and columns that files of an earlier release lack.
        added_table: one of those tables.
    """

    kind: str
    application_id: int
    version: int
    schema: str
    shared_table: str = ""
    added_schema: str = ""
    added_table: str = ""

    def initialize(
        self, connection: sqlite3.Connection, refuse: Callable[[str], Exception], *, shared: bool = False
    ) -> None:
        """Create the tables in a new file, or check an existing one; sync every commit.

        Several processes may open the file at the same time; one of them creates the tables.

        Raises:
            Exception: the result of `refuse`: the file belongs to another program, or to another version.
        """
        with transaction(connection, only_reading=True):  # other processes may be creating it now
            new = self._is_new(connection, refuse, shared)
        if new:
            _set_wal(connection)
            with transaction(connection):
                if self._is_new(connection, refuse, shared):  # check again, now that no other process writes
                    self._create_tables(connection, shared)
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA fullfsync = ON")  # on macOS, `fsync` leaves data in the cache of the disk
        if not self._is_upgraded(connection):
            with transaction(connection):
                if not self._is_upgraded(connection):  # check again, now that no other process writes
                    self._execute_all(connection, self.added_schema)

    def _is_new(self, connection: sqlite3.Connection, refuse: Callable[[str], Exception], shared: bool) -> bool:
        """Return whether the tables have to be created."""
        application = ask_pragma(connection, "application_id")
        if application == self.application_id:
            version = ask_pragma(connection, "user_version")
            if version != self.version:
                age = "a later" if version > self.version else "an earlier"
                raise refuse(f"{age} version of this package made it (format {version}, expected {self.version})")
            return False
        if self.shared_table and _count_tables(connection, self.shared_table):
            return False
        if not shared and (application or _count_tables(connection)):
            hint = "; if that program is yours, pass shared=True" if self.shared_table else ""
            raise refuse(f"it is another program's{hint}")
        return True

    def _is_upgraded(self, connection: sqlite3.Connection) -> bool:
        return not self.added_table or _count_tables(connection, self.added_table) > 0

    def _execute_all(self, connection: sqlite3.Connection, statements: str) -> None:
        for statement in statements.split(";"):
            connection.execute(statement)

    def _create_tables(self, connection: sqlite3.Connection, shared: bool) -> None:
        self._execute_all(connection, self.schema + self.added_schema)
        if not shared:
            connection.execute(f"PRAGMA user_version = {self.version}")
            connection.execute(f"PRAGMA application_id = {self.application_id}")


def _count_tables(connection: sqlite3.Connection, name: str | None = None) -> int:
    """Count the tables and indexes, or those of a name."""
    (count,) = connection.execute(
        "SELECT count(*) FROM sqlite_master WHERE :name IS NULL OR name = :name", {"name": name}
    ).fetchone()
    return int(count)
