"""`InboxFile`: an inbox in one SQLite file, used by one thread at a time.

`execute_batch` executes a batch in one transaction, which is on the disk when it returns. Only the statements of a
handler can fail separately: then none of them is applied, and the rest of the batch is. A file of another program is
not changed.

All postbacks of a record have the same *ordering key* and are handled one after the other. The `head` of the key is the
next postback.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final

import attrs
import msgspec

from gateway_async._storage.sqlite import FileFormat, SqliteStore, transaction
from gateway_async.errors import InboxError
from gateway_async.postbacks.inbox._handler_statements import execute_statements
from gateway_async.postbacks.inbox._mapping import (
    LISTING_SECONDS,
    Row,
    claim_of,
    ordering_key_of,
    stored_postback_of,
    was_missed,
    was_passed_on,
)
from gateway_async.postbacks.inbox.protocol import Claim, PostbackState, Statement, StoredPostback

__all__ = ["InboxFile", "Operation"]

_APPLICATION_ID: Final = 0x67774931
"""SQLite's application id in the file's header, which marks it as an inbox: "gwI1"."""

_VERSION: Final = 2
_PRUNED_ROWS: Final = 10_000
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
CREATE INDEX postback_inbox_listed ON postback_inbox (ordering_key) WHERE instr(content, '"reconciled":true');
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
_STORE: Final = """
INSERT INTO postback_inbox (key, ordering_key, deletes, modified, content, received_at)
SELECT json_extract(value, '$.key'), json_extract(value, '$.ordering_key'), json_extract(value, '$.deletes'),
    json_extract(value, '$.modified'), json_extract(value, '$.content'), :now
FROM json_each(:rows) WHERE TRUE
ON CONFLICT (key) DO NOTHING
"""
_FIND_LATEST: Final = """
SELECT newest, deleted, modified, content, received_at <= :listed AS before
FROM (SELECT :ordering_key AS ordering_key) LEFT JOIN postback_inbox_keys USING (ordering_key)
LEFT JOIN postback_inbox ON number = (
    SELECT number FROM postback_inbox WHERE ordering_key = :ordering_key AND modified >= :modified
    ORDER BY modified DESC, number DESC LIMIT 1
)
"""
# The condition matches a partial index of listed postbacks only, because a record may have changed a thousand times.
_FIND_RECONCILED: Final = """
SELECT ordering_key, content FROM postback_inbox
WHERE ordering_key IN (SELECT value FROM json_each(?)) AND instr(content, '"reconciled":true')
"""
_NEW_KEYS: Final = "SELECT json_group_array(key) FROM postback_inbox WHERE number > ?"
_LAST_NUMBER: Final = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'postback_inbox'"
# NOT INDEXED: search by number. Otherwise SQLite would scan the whole inbox by ordering key to group the rows.
_ENQUEUE: Final = """
INSERT INTO postback_inbox_keys (ordering_key, head, due_at)
SELECT ordering_key, min(number), min(received_at)
FROM postback_inbox NOT INDEXED WHERE number > ? GROUP BY ordering_key
ON CONFLICT (ordering_key) DO UPDATE SET head = excluded.head, due_at = excluded.due_at WHERE head IS NULL
"""
_CLAIM: Final = """
UPDATE postback_inbox_keys SET token = :token, due_at = :until
WHERE ordering_key IN (
    SELECT ordering_key FROM postback_inbox_keys WHERE head IS NOT NULL AND due_at <= :now
    ORDER BY due_at LIMIT :limit
)
RETURNING head
"""
_COUNT_ATTEMPTS: Final = """
UPDATE postback_inbox SET attempts = attempts + 1 WHERE number IN (SELECT value FROM json_each(?))
"""
_READ_CLAIMED: Final = """
SELECT number, key, content, attempts,
    coalesce(modified < newest, FALSE)
    OR (NOT deletes AND deleted IS NOT NULL AND coalesce(modified <= deleted, TRUE)) AS superseded
FROM postback_inbox JOIN postback_inbox_keys USING (ordering_key)
WHERE number IN (SELECT value FROM json_each(?)) ORDER BY number
"""
_CLAIMED: Final = "FROM postback_inbox_keys WHERE ordering_key = :ordering_key AND head = :number AND token = :token"
_EXTEND: Final = (
    f"UPDATE postback_inbox_keys SET due_at = :until WHERE ordering_key IN (SELECT ordering_key {_CLAIMED})"  # noqa: S608  constant text only
)
_FINISH: Final = """
UPDATE postback_inbox SET state = :state, error = '', ended_at = :now WHERE number = :number
RETURNING deletes, modified
"""
_RECORD_NEWEST: Final = """
UPDATE postback_inbox_keys
SET newest = max(coalesce(newest, :modified), coalesce(:modified, newest)),
    deleted = CASE WHEN :deletes THEN coalesce(:modified, :never) ELSE deleted END
WHERE ordering_key = :ordering_key
"""
_ADVANCE: Final = """
UPDATE postback_inbox_keys
SET token = NULL, due_at = :due_at, ended_at = :now,
    head = (SELECT min(number) FROM postback_inbox WHERE ordering_key = :ordering_key AND state = 'waiting')
WHERE ordering_key = :ordering_key
"""
_FAILED: Final = "UPDATE postback_inbox SET error = :error, state = :state WHERE number = :number"
_UNDO_ATTEMPT: Final = "UPDATE postback_inbox SET attempts = attempts - 1 WHERE number = :number"
_REPLAY: Final = """
UPDATE postback_inbox SET state = 'waiting', attempts = 0, ended_at = NULL WHERE number = ? RETURNING ordering_key
"""
_DISCARD: Final = """
UPDATE postback_inbox SET state = 'discarded', ended_at = :now WHERE number = :number AND state = 'dead' RETURNING 1
"""
_REQUEUE: Final = """
INSERT INTO postback_inbox_keys (ordering_key, head, due_at) VALUES (:ordering_key, :number, :now)
ON CONFLICT (ordering_key) DO UPDATE SET due_at = :now,
    head = (SELECT min(number) FROM postback_inbox WHERE ordering_key = :ordering_key AND state = 'waiting')
WHERE token IS NULL
"""
_LIST_POSTBACKS: Final = """
SELECT number, key, content, state, received_at, attempts, error, due_at
FROM postback_inbox LEFT JOIN postback_inbox_keys USING (ordering_key)
WHERE number > :after AND {} ORDER BY number LIMIT :limit
"""
_PRUNE_POSTBACKS: Final = """
DELETE FROM postback_inbox
WHERE number IN (SELECT number FROM postback_inbox WHERE ended_at < :before ORDER BY ended_at LIMIT :limit)
"""
_PRUNE_KEYS: Final = """
DELETE FROM postback_inbox_keys
WHERE ordering_key IN (
    SELECT ordering_key FROM postback_inbox_keys WHERE head IS NULL AND ended_at < :before
    ORDER BY ended_at LIMIT :limit
)
"""

Operation = Row | Callable[["InboxFile"], Any]
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

    def execute_batch(self, operations: Sequence[Operation], _deferred: Sequence[Any] = ()) -> Sequence[Any]:
        """Execute all operations in one transaction and return their results.

        The result is an exception where the statements of a handler failed.
        """
        results = self._execute_together(operations)
        if self._keep:
            self._prune_if_due(partial(self.prune, self._keep))
        return results

    def _execute_together(self, operations: Sequence[Operation]) -> Sequence[Any]:
        failures: dict[int, Exception] = {}
        while True:
            try:
                with self._describe_errors(), transaction(self._connection):
                    self._check_path()
                    return self._run_operations(operations, failures)
            except _RolledBackError as rolled_back:
                failures[rolled_back.index] = rolled_back.cause

    def claim(self, limit: int, seconds: float, token: str) -> Sequence[Claim]:
        """Claim due postbacks."""
        now = self._now()
        values = {"token": token, "until": now + seconds, "now": now, "limit": limit}
        heads = _json([head for (head,) in self._connection.execute(_CLAIM, values).fetchall()])
        if heads == "[]":
            return []
        self._connection.execute(_COUNT_ATTEMPTS, (heads,))
        return [claim_of(row, token) for row in self._rows(_READ_CLAIMED, (heads,))]

    def extend(self, claims: Sequence[Claim], seconds: float) -> None:
        """Extend the claims that are still valid."""
        until = self._now() + seconds
        self._connection.executemany(_EXTEND, [{**_claim_values(claim), "until": until} for claim in claims])

    def release(self, claims: Sequence[Claim]) -> None:
        """Release claims without counting the attempt."""
        for claim in claims:
            if self._is_valid(claim):
                self._connection.execute(_UNDO_ATTEMPT, _claim_values(claim))
                self._end_claim(claim)

    def complete(self, claim: Claim, state: PostbackState, statements: Sequence[Statement]) -> bool | Exception:
        """Mark a postback as handled and execute its handlers' statements.

        Returns:
            Whether the claim was still valid, or the error of a statement.
        """
        if not self._is_valid(claim):
            return False
        if problem := execute_statements(self._connection, statements):
            return problem
        values = {**_claim_values(claim), "state": str(state), "now": self._now(), "never": _NEVER}
        ((deletes, modified),) = self._connection.execute(_FINISH, values).fetchall()
        if state is PostbackState.HANDLED:
            self._connection.execute(_RECORD_NEWEST, {**values, "deletes": deletes, "modified": modified})
        self._end_claim(claim)
        return True

    def fail(self, claim: Claim, error: str, retry_in: float | None) -> None:
        """Record the failure of a handler."""
        if self._is_valid(claim):
            state = PostbackState.DEAD if retry_in is None else PostbackState.WAITING
            self._connection.execute(_FAILED, {**_claim_values(claim), "error": error, "state": str(state)})
            self._end_claim(claim, retry_in or 0)

    def list(self, state: PostbackState | None, after: int, limit: int) -> Sequence[StoredPostback]:
        """List stored postbacks."""
        chosen = _LIST_POSTBACKS.format("TRUE" if state is None else "state = :state")
        values = {"after": after, "limit": limit, "state": state and str(state)}
        return [stored_postback_of(_with_datetimes(row)) for row in self._rows(chosen, values)]

    def replay(self, number: int) -> bool:
        """Make a postback waiting again."""
        keys = self._connection.execute(_REPLAY, (number,)).fetchall()
        for (ordering_key,) in keys:
            self._connection.execute(_REQUEUE, {"ordering_key": ordering_key, "number": number, "now": self._now()})
        return bool(keys)

    def discard(self, number: int) -> bool:
        """Give up a dead postback."""
        values = {"number": number, "now": self._now()}
        return bool(self._connection.execute(_DISCARD, values).fetchall())

    def prune(self, age: timedelta) -> None:
        """Delete some postbacks and keys that ended longer than `age` ago.

        It deletes up to 10,000 of each.
        """
        values = {"before": self._now() - age.total_seconds(), "limit": _PRUNED_ROWS}
        with self._describe_errors(), transaction(self._connection):
            self._connection.execute(_PRUNE_POSTBACKS, values)
            self._connection.execute(_PRUNE_KEYS, values)

    # --- in the transaction

    def _run_operations(self, operations: Sequence[Operation], failures: Mapping[int, Exception]) -> Sequence[Any]:
        are_new = iter(self._store([each for each in operations if isinstance(each, Row)]))
        return [
            next(are_new)
            if isinstance(operation, Row)
            else failures.get(index) or self._run_operation(index, operation)
            for index, operation in enumerate(operations)
        ]

    def _run_operation(self, index: int, operation: Callable[["InboxFile"], Any]) -> Any:
        result = operation(self)
        if not self._connection.in_transaction:
            raise _RolledBackError(index, result)
        return result

    def _store(self, rows: Sequence[Row]) -> Sequence[bool]:
        """Store postbacks, and return for each whether it was new."""
        new = self._insert(self._without_passed_on([row for row in rows if not row.reconciled]))
        for some in _split_by_key([row for row in rows if row.reconciled]):
            new |= self._insert([row for row in some if self._was_missed(row)])
        are_new: list[bool] = []
        for row in rows:
            are_new.append(row.key in new)
            new.discard(row.key)  # of two with the same key in one batch, only the first is new
        return are_new

    def _insert(self, rows: Sequence[Row]) -> set[str]:
        if not rows:
            return set()
        (last,) = self._connection.execute(_LAST_NUMBER).fetchone()
        self._connection.execute(_STORE, {"rows": _json([_to_json(row) for row in rows]), "now": self._now()})
        self._connection.execute(_ENQUEUE, (last,))
        (keys,) = self._connection.execute(_NEW_KEYS, (last,)).fetchone()
        return set(msgspec.json.decode(keys))

    def _without_passed_on(self, rows: Sequence[Row]) -> Sequence[Row]:
        """Return the rows whose change `reconcile` has not already passed on."""
        listed: dict[str, list[str]] = {}
        for ordering_key, content in self._connection.execute(
            _FIND_RECONCILED, (_json([row.ordering_key for row in rows]),)
        ):
            listed.setdefault(ordering_key, []).append(content)
        return [row for row in rows if not was_passed_on(row, listed.get(row.ordering_key, ()))]

    def _was_missed(self, row: Row) -> bool:
        modified = row.modified and row.modified.timestamp()
        values = {"ordering_key": row.ordering_key, "modified": modified, "listed": self._now() - LISTING_SECONDS}
        (known,) = self._rows(_FIND_LATEST, values)
        return was_missed(row, modified, known)

    def _check_path(self) -> None:
        """Check that the path still leads to the open file.

        Data in an unlinked file would be lost with the process.
        """
        if _identity(self.path) != self._identity:
            raise InboxError(self.path, "it was moved, removed or replaced: put it back, or restart the program")

    def _is_valid(self, claim: Claim) -> bool:
        return self._connection.execute(f"SELECT 1 {_CLAIMED}", _claim_values(claim)).fetchone() is not None

    def _end_claim(self, claim: Claim, pause: float = 0) -> None:
        """End a claim; the next postback of its ordering key is due after `pause` seconds."""
        now = self._now()
        self._connection.execute(_ADVANCE, {**_claim_values(claim), "now": now, "due_at": now + pause})

    def _rows(self, sql: str, values: Any) -> Iterator[dict[str, Any]]:
        cursor = self._connection.execute(sql, values)
        names = [column[0] for column in cursor.description]
        return (dict(zip(names, row, strict=True)) for row in cursor.fetchall())


def _split_by_key(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    """Split rows into rounds with distinct ordering keys.

    Each state is compared with the states stored before, so rows of one key cannot be stored together.
    """
    while rows:
        firsts: dict[str, Row] = {}
        later = [row for row in rows if firsts.setdefault(row.ordering_key, row) is not row]
        yield list(firsts.values())
        rows = later


def _identity(path: str) -> tuple[int, int] | None:
    """Return the device and inode of a file, if it exists."""
    with suppress(OSError):
        found = Path(path).stat()
        return found.st_dev, found.st_ino
    return None


def _to_json(row: Row) -> dict[str, Any]:
    return {**attrs.asdict(row), "modified": row.modified and row.modified.timestamp()}


def _claim_values(claim: Claim) -> dict[str, Any]:
    return {"ordering_key": ordering_key_of(claim.postback), "number": claim.number, "token": claim.token}


def _with_datetimes(row: Mapping[str, Any]) -> dict[str, Any]:
    times = {name: row[name] and datetime.fromtimestamp(row[name], UTC) for name in ("received_at", "due_at")}
    return {**row, **times}


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
