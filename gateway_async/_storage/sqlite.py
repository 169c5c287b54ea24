"""`SqliteStore`: an open SQLite file of the ledger, the inbox or the journal, with its format and error texts."""

import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Final

import attrs
import msgspec

from gateway_async._secrets import Secret, is_address
from gateway_async._storage.private_file import check_owner, create_database, restrict_mode
from gateway_async.errors import InvalidRequestError

BUSY_SECONDS: Final = 10.0
"""Maximum seconds to wait while another process writes."""

PRUNING_SECONDS: Final = 60.0

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


_encoder: Final = msgspec.json.Encoder(enc_hook=dict)  # encodes mappings of any type


def json_fields(*names: str) -> str:
    """Return SQL that reads fields of the JSON object `value`."""
    return ", ".join(f"json_extract(value, '$.{name}') AS {name}" for name in names)


def to_json(value: Any) -> str:
    """Encode a value for SQLite's JSON functions."""
    return _encoder.encode(value).decode()


def seal_address(path: str | PathLike[str]) -> str | PathLike[str] | Secret:
    """Return a path unchanged, but an address as a secret.

    Given by mistake, it may have a password.
    """
    return Secret(str(path)) if is_address(str(path)) else path


def database_file(path: str | PathLike[str] | Secret) -> Path:
    """Return the absolute path of a file, from the result of `seal_address`.

    Raises:
        InvalidRequestError: it is an address, whose password the errors of a file would show.
    """
    if isinstance(path, Secret):
        raise InvalidRequestError("path: invalid (expected a file, not an address such as postgresql://…)")
    return Path(path).absolute()


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
    """

    kind: str
    application_id: int
    version: int
    schema: str
    shared_table: str = ""

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

    def _create_tables(self, connection: sqlite3.Connection, shared: bool) -> None:
        for statement in self.schema.split(";"):
            connection.execute(statement)
        if not shared:
            connection.execute(f"PRAGMA user_version = {self.version}")
            connection.execute(f"PRAGMA application_id = {self.application_id}")


class SqliteStore:
    """An open file of one format, for one thread at a time.

    Args:
        path: the file; it is created if it does not exist.
        file_format: its format.
        error: the error of a file that cannot be used, made of its path and the reason.
        shared: whether the file may be a database of the user's own program.

    Raises:
        Exception: an `error`.
    """

    def __init__(
        self,
        path: str | Path,
        file_format: FileFormat,
        error: type[Exception],
        *,
        shared: bool = False,
    ) -> None:
        self.path = fspath(path)
        self._file_format = file_format
        self._error = error
        self._next_pruning = time.monotonic()
        with self._describe_errors():
            self._connection = open_database(self.path, shared=shared)
            try:
                file_format.initialize(self._connection, partial(error, self.path), shared=shared)
            except BaseException:
                self._connection.close()
                raise
        if not shared:  # now the file is known to be one of this package's
            restrict_mode(self.path)

    def close(self) -> None:
        """Close the file; it contains everything that was written."""
        self._connection.close()

    def _prune_if_due(self, prune: Callable[[], None]) -> None:
        """Delete old rows once a minute; a failure is ignored until the next time."""
        if time.monotonic() >= self._next_pruning:
            self._next_pruning = time.monotonic() + PRUNING_SECONDS
            with suppress(self._error):
                prune()

    @contextmanager
    def _describe_errors(self) -> Iterator[None]:
        """Raise errors of SQLite as errors of this store."""
        try:
            yield
        except sqlite3.Error as error:
            raise self._error(self.path, describe_sqlite_error(error, self._file_format.kind)) from error


def _count_tables(connection: sqlite3.Connection, name: str | None = None) -> int:
    """Count the tables and indexes, or those of a name."""
    (count,) = connection.execute(
        "SELECT count(*) FROM sqlite_master WHERE :name IS NULL OR name = :name", {"name": name}
    ).fetchone()
    return int(count)
