"""Execute a handler's statements in an inbox's SQLite file, isolated from other operations of the transaction."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Final

from gateway_async._storage.sqlite import is_file_error
from gateway_async.postbacks.inbox.protocol import Statement

_ENDING_TRANSACTIONS: Final = frozenset(
    {sqlite3.SQLITE_TRANSACTION, sqlite3.SQLITE_SAVEPOINT, sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH}
)
_CHANGES: Final = frozenset(
    {sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE, sqlite3.SQLITE_DROP_TABLE}
)
_TABLES: Final = frozenset({"postback_inbox", "postback_inbox_keys"})
_FORBIDDEN: Final = (
    "a handler's statements run in a transaction of the inbox: they cannot begin or end one, attach a database, or "
    "change the inbox's own tables"
)


def execute_statements(connection: sqlite3.Connection, statements: Sequence[Statement]) -> Exception | None:
    """Execute all statements or none, and return the first error.

    A statement may roll back the whole transaction (`INSERT OR ROLLBACK`). Then the connection is not in a transaction
    any more.

    Raises:
        sqlite3.Error: the file failed, and not one of the statements.
    """
    connection.execute("SAVEPOINT handled")
    problem = _execute_guarded(connection, statements)
    if connection.in_transaction:
        if problem:
            connection.execute("ROLLBACK TO handled")
        connection.execute("RELEASE handled")
    return problem


def _execute_guarded(connection: sqlite3.Connection, statements: Sequence[Statement]) -> Exception | None:
    try:
        with _guard(connection):
            for sql, values in statements:
                connection.execute(sql, [_to_sqlite(value) for value in values]).close()
    except sqlite3.Error as error:
        if is_file_error(error):
            raise
        return _explain(error)
    except Exception as error:  # noqa: BLE001  the conversion of a value may raise anything
        return error
    return None


@contextmanager
def _guard(connection: sqlite3.Connection) -> Iterator[None]:
    """Protect the shared transaction and the inbox's own tables."""
    connection.set_authorizer(_authorize)
    try:
        yield
    finally:
        connection.set_authorizer(None)


def _authorize(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    altered = action == sqlite3.SQLITE_ALTER_TABLE and second in _TABLES
    if action in _ENDING_TRANSACTIONS or (action in _CHANGES and first in _TABLES) or altered:
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK


def _explain(error: sqlite3.Error) -> Exception:
    forbidden = getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_AUTH
    return sqlite3.DatabaseError(_FORBIDDEN) if forbidden else error


def _to_sqlite(value: object) -> object:
    """Convert a value without an SQLite type to text, without loss."""
    match value:
        case Decimal():
            return f"{value:f}"
        case datetime() if value.tzinfo:
            return value.astimezone(UTC).isoformat()
        case date():
            return value.isoformat()
        case _:
            return value
