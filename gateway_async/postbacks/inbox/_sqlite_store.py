"""`InboxFile`: an inbox in one SQLite file, used by one thread at a time.

`execute_batch` executes a batch in one transaction, which is on the disk when it returns. Only the statements of a
handler can fail separately: then none of them is applied, and the rest of the batch is. A file of another program is
not changed.
"""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import attrs
import msgspec

from gateway_async._storage.sqlite import FileFormat, SqliteStore, json_fields, to_json, transaction
from gateway_async.errors import InboxError
from gateway_async.postbacks.inbox._handler_statements import execute_statements
from gateway_async.postbacks.inbox._mapping import PostbackRow
from gateway_async.postbacks.inbox._operations import Steps, finish_claim, lock_claim, prune, select_new
from gateway_async.postbacks.inbox.protocol import Claim, PostbackState, Statement

T = TypeVar("T")

_APPLICATION_ID: Final = 0x67774931
"""SQLite's application id in the file's header, which marks it as an inbox: "gwI1"."""

_VERSION: Final = 2
_NEVER: Final = 1e12
"""In seconds since 1970: later than any change of a record."""

_SCHEMA: Final = """
CREATE TABLE postback_inbox (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL UNIQUE,
    ordering_key TEXT NOT NULL,
    deletes INTEGER NOT NULL,
    modified REAL,
    content TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'waiting',
    received_at REAL NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    error TEXT NOT NULL DEFAULT '',
    ended_at REAL
);
CREATE INDEX postback_inbox_by_key ON postback_inbox (ordering_key, state, number);
CREATE INDEX postback_inbox_by_state ON postback_inbox (state, number);
CREATE INDEX postback_inbox_by_end ON postback_inbox (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX postback_inbox_listed ON postback_inbox (ordering_key) WHERE instr(content, '"caught_up":true');
CREATE TABLE postback_inbox_keys (
    ordering_key TEXT PRIMARY KEY,
    head INTEGER,
    due_at REAL NOT NULL,
    token TEXT,
    newest REAL,
    deleted REAL,
    ended_at REAL
) WITHOUT ROWID;
CREATE INDEX postback_inbox_keys_due ON postback_inbox_keys (due_at) WHERE head IS NOT NULL;
CREATE INDEX postback_inbox_keys_idle ON postback_inbox_keys (ended_at) WHERE head IS NULL;
"""
_FORMAT: Final = FileFormat("an inbox", _APPLICATION_ID, _VERSION, _SCHEMA, shared_table="postback_inbox")

# One statement and one encoding for all rows: each further one would make the thread wait for the interpreter's lock.
_COLUMNS: Final = ("key", "ordering_key", "deletes", "modified", "content")
_STORE: Final = f"""
INSERT INTO postback_inbox ({", ".join(_COLUMNS)}, received_at)
SELECT {json_fields(*_COLUMNS)}, :now FROM json_each(:rows) WHERE TRUE
ON CONFLICT (key) DO NOTHING
"""  # noqa: S608  constant column names
_NEW_KEYS: Final = "SELECT json_group_array(key) FROM postback_inbox WHERE number > ?"
_LAST_NUMBER: Final = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'postback_inbox'"
# NOT INDEXED: search by number. Otherwise SQLite would scan the whole inbox by ordering key to group the rows.
_ENQUEUE: Final = """
INSERT INTO postback_inbox_keys (ordering_key, head, due_at)
SELECT ordering_key, min(number), min(received_at)
FROM postback_inbox NOT INDEXED WHERE number > ? GROUP BY ordering_key
ON CONFLICT (ordering_key) DO UPDATE SET head = excluded.head, due_at = excluded.due_at WHERE head IS NULL
"""
_DIALECT: Final = (
    (re.compile("@"), "postback_inbox"),
    (re.compile(":is_caught_up"), """instr(content, '"caught_up":true')"""),
    (re.compile(r"= ANY\((\$\d)\)"), r"IN (SELECT value FROM json_each(\1))"),
    (re.compile(r" FOR UPDATE( SKIP LOCKED)?"), ""),  # a transaction excludes other writers
)
"""PostgreSQL's syntax → SQLite's."""

InboxOperation = PostbackRow | Callable[["InboxFile"], Any]
"""One operation of a batch: a postback to store (the result is whether it was new), or a function of the file."""


class _RolledBackError(Exception):
    """One operation has rolled back the transaction of the whole batch."""

    def __init__(self, index: int, cause: Exception) -> None:
        self.index = index
        self.cause = cause


class InboxFile(SqliteStore):
    """An open inbox file.

    All methods except `execute_batch` and `prune` run in the transaction of `execute_batch`.

    Args:
        path: the file; it is created if it is missing.
        keep: how long postbacks are kept after they were handled; None keeps them.
        shared: whether the file may be a database that the user's own program has created.
        now: returns the current time, in seconds since 1970.

    Raises:
        InboxError: the file cannot be used; every method raises it too.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        keep: timedelta | None = None,
        shared: bool = False,
        now: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(path, _FORMAT, InboxError, shared=shared)
        self._keep = keep
        self._now = now
        self._identity = _identity(self.path)

    def execute_batch(self, operations: Sequence[InboxOperation], _deferred: Sequence[Any] = ()) -> Sequence[Any]:
        """Execute all operations in one transaction and return their results.

        The result is an exception where the statements of a handler failed.
        """
        results = self._execute_together(operations)
        if self._keep:
            self._prune_if_due(partial(self.prune, self._keep))
        return results

    def _execute_together(self, operations: Sequence[InboxOperation]) -> Sequence[Any]:
        failures: dict[int, Exception] = {}
        while True:
            try:
                with self._describe_errors(), transaction(self._connection):
                    self._check_path()
                    return self._run_operations(operations, failures)
            except _RolledBackError as rolled_back:
                failures[rolled_back.index] = rolled_back.cause

    def run(self, steps: Steps[T]) -> T:
        """Execute an operation."""
        try:
            statement = next(steps)
            while True:
                statement = steps.send(self._fetch(*statement))
        except StopIteration as end:
            return cast("T", end.value)

    def complete(self, claim: Claim, state: PostbackState, statements: Sequence[Statement]) -> bool | Exception:
        """Mark a postback as handled and execute its handlers' statements.

        Returns:
            Whether the claim was still valid, or the error of a statement.
        """
        if not self.run(lock_claim(claim)):
            return False
        if problem := execute_statements(self._connection, statements):
            return problem
        self.run(finish_claim(claim, state))
        return True

    def prune(self, age: timedelta) -> None:
        """Delete some postbacks and keys that ended longer than `age` ago."""
        with self._describe_errors(), transaction(self._connection):
            self.run(prune(age))

    # --- in the transaction

    def _run_operations(self, operations: Sequence[InboxOperation], failures: Mapping[int, Exception]) -> Sequence[Any]:
        are_new = iter(self._store([each for each in operations if isinstance(each, PostbackRow)]))
        return [
            next(are_new)
            if isinstance(operation, PostbackRow)
            else failures.get(index) or self._run_operation(index, operation)
            for index, operation in enumerate(operations)
        ]

    def _run_operation(self, index: int, operation: Callable[["InboxFile"], Any]) -> Any:
        result = operation(self)
        if not self._connection.in_transaction:
            raise _RolledBackError(index, result)
        return result

    def _store(self, rows: Sequence[PostbackRow]) -> Sequence[bool]:
        """Store postbacks, and return for each whether it was new."""
        new = self._insert(self.run(select_new([row for row in rows if not row.caught_up])))
        for some in _split_by_key([row for row in rows if row.caught_up]):
            new |= self._insert(self.run(select_new(some)))
        are_new: list[bool] = []
        for row in rows:
            are_new.append(row.key in new)
            new.discard(row.key)  # of two with the same key in one batch, only the first is new
        return are_new

    def _insert(self, rows: Sequence[PostbackRow]) -> set[str]:
        if not rows:
            return set()
        (last,) = self._connection.execute(_LAST_NUMBER).fetchone()
        values = [{**attrs.asdict(row), "modified": _to_sqlite(row.modified)} for row in rows]
        self._connection.execute(_STORE, {"rows": to_json(values), "now": self._now()})
        self._connection.execute(_ENQUEUE, (last,))
        (keys,) = self._connection.execute(_NEW_KEYS, (last,)).fetchone()
        return set(msgspec.json.decode(keys))

    def _check_path(self) -> None:
        """Check that the path still leads to the open file.

        Data in an unlinked file would be lost with the process.
        """
        if _identity(self.path) != self._identity:
            raise InboxError(self.path, "it was moved, removed or replaced: put it back, or restart the program")

    def _fetch(self, statement: str, values: Sequence[Any]) -> Sequence[dict[str, Any]]:
        """Execute a statement of an operation and return its rows."""
        numbered = {str(number): _to_sqlite(value) for number, value in enumerate(values, start=1)}
        cursor = self._connection.execute(_translate(statement), {**numbered, "now": self._now(), "never": _NEVER})
        names = [column[0] for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


@lru_cache
def _translate(statement: str) -> str:
    for pattern, replacement in _DIALECT:
        statement = pattern.sub(replacement, statement)
    return statement


def _to_sqlite(value: Any) -> Any:
    match value:
        case timedelta():
            return value.total_seconds()
        case datetime():
            return value.timestamp()
        case list():
            return to_json(value)
        case _:
            return value


def _split_by_key(rows: Sequence[PostbackRow]) -> Iterator[Sequence[PostbackRow]]:
    """Split rows into rounds with distinct ordering keys.

    Each state is compared with the states stored before, so rows of one key cannot be stored together.
    """
    while rows:
        firsts: dict[str, PostbackRow] = {}
        later = [row for row in rows if firsts.setdefault(row.ordering_key, row) is not row]
        yield list(firsts.values())
        rows = later


def _identity(path: str) -> tuple[int, int] | None:
    """Return the device and inode of a file, if it exists."""
    with suppress(OSError):
        found = Path(path).stat()
        return found.st_dev, found.st_ino
    return None
