"""What a handler has written into an inbox's SQLite file: in the transaction of many, without harm to the others."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Final

from gateway_async._sqlite_file import is_trouble
from gateway_async.postbacks.inbox import Write

__all__ = ["carry_out_writes"]

_ENDING_TRANSACTIONS: Final = frozenset(
    {sqlite3.SQLITE_TRANSACTION, sqlite3.SQLITE_SAVEPOINT, sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH}
)
_CHANGES: Final = frozenset(
    {sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE, sqlite3.SQLITE_DROP_TABLE}
)
_TABLES: Final = frozenset({"postback_inbox", "postback_inbox_lanes"})
_FORBIDDEN: Final = (
    "a handler's statements run in a transaction of the inbox: they cannot begin or end one, attach a database, or "
    "change the inbox's own tables"
)


def carry_out_writes(connection: sqlite3.Connection, writes: Sequence[Write]) -> Exception | None:
    """Carry out all of them or none; the problem, if there is one.

    A statement may undo the whole transaction (`INSERT OR ROLLBACK`); then the connection is in none any more.

    Raises:
        sqlite3.Error: something is wrong with the file, and not with the statements.
    """
    if not writes:
        return None
    connection.execute("SAVEPOINT handled")
    problem = _problem(connection, writes)
    if connection.in_transaction:
        if problem:
            connection.execute("ROLLBACK TO handled")
        connection.execute("RELEASE handled")
    return problem


def _problem(connection: sqlite3.Connection, writes: Sequence[Write]) -> Exception | None:
    try:
        with _guarded(connection):
            for sql, values in writes:
                connection.execute(sql, [_plain(value) for value in values]).close()
    except sqlite3.Error as error:
        if is_trouble(error):
            raise
        return _explained(error)
    except Exception as error:  # noqa: BLE001  a value may have a conversion of its own
        return error
    return None


@contextmanager
def _guarded(connection: sqlite3.Connection) -> Iterator[None]:
    """Nobody's statements can end the transaction of all, nor change the inbox's own tables."""
    connection.set_authorizer(_permission)
    try:
        yield
    finally:
        connection.set_authorizer(None)


def _permission(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    altered = action == sqlite3.SQLITE_ALTER_TABLE and second in _TABLES
    if action in _ENDING_TRANSACTIONS or (action in _CHANGES and first in _TABLES) or altered:
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK


def _explained(error: sqlite3.Error) -> Exception:
    forbidden = getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_AUTH
    return sqlite3.DatabaseError(_FORBIDDEN) if forbidden else error


def _plain(value: object) -> object:
    """A value that SQLite has no type for, as the text that shows all of it."""
    match value:
        case Decimal():
            return f"{value:f}"
        case datetime() if value.tzinfo:
            return value.astimezone(UTC).isoformat()
        case date():
            return value.isoformat()
        case _:
            return value
