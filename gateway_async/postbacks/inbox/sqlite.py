"""`SqliteInbox`: an inbox in one SQLite file, where concurrent postbacks share commits and disk syncs."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from os import PathLike
from pathlib import Path
from time import time
from typing import Final

import attrs
import msgspec

from gateway_async._arguments import retention_period
from gateway_async._storage.sql import QueuedStore, SqliteBackend, Steps
from gateway_async._storage.sqlite import FileFormat, database_file, seal_path
from gateway_async.errors import InboxError, InvalidRequestError
from gateway_async.postbacks.inbox import _operations as operations
from gateway_async.postbacks.inbox._handler_statements import execute_statements
from gateway_async.postbacks.inbox._mapping import PostbackRow
from gateway_async.postbacks.inbox._sql_inbox import SqlInbox
from gateway_async.postbacks.inbox.protocol import Claim, PostbackState, Statement

__all__ = ["SqliteInbox"]

_APPLICATION_ID: Final = 0x67774931
"""SQLite's application id in the file's header, which marks it as an inbox: "gwI1"."""

_VERSION: Final = 2
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
_MARKS: Final = {":is_caught_up": """instr(content, '"caught_up":true')""", ":never": "1e12", "@": "postback_inbox"}

# One statement and one encoding for all rows: each further one would make the thread wait for the interpreter's lock.
_STORE: Final = """
INSERT INTO @ (key, ordering_key, deletes, modified, content, received_at)
SELECT given.*, :now
FROM jsonb_to_recordset($1::jsonb) AS given (key text, ordering_key text, deletes bool, modified float, content text)
WHERE TRUE ON CONFLICT (key) DO NOTHING
"""
_NEW_KEYS: Final = "SELECT json_group_array(key) FROM @ WHERE number > $1"
_LAST_NUMBER: Final = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'postback_inbox'"
# NOT INDEXED: search by number. Otherwise SQLite would scan the whole inbox by ordering key to group the rows.
_ENQUEUE: Final = """
INSERT INTO @_keys (ordering_key, head, due_at)
SELECT ordering_key, min(number), min(received_at)
FROM @ NOT INDEXED WHERE number > $1 GROUP BY ordering_key
ON CONFLICT (ordering_key) DO UPDATE SET head = excluded.head, due_at = excluded.due_at WHERE head IS NULL
"""


class SqliteInbox(SqlInbox):
    """Inbox in an SQLite file, for any number of processes on one machine.

        receiver = PostbackReceiver(username="…", password="…", inbox=SqliteInbox("inbox.db"))

    The file is opened, or created, on first use. A postback is on the disk (WAL, `synchronous=FULL`) before it is
    acknowledged, so it survives `kill -9` and a power failure. Do not place the file on a network share: SQLite's locks
    do not work there. The inbox runs on asyncio and on trio.

    The file holds the records exactly as they were received. It may also contain tables of your own, and
    `Postback.execute` writes to them. Amounts and times are written as text (`"12.50"`, ISO 8601 in UTC). Foreign keys
    are not enforced. Keep the statements of a handler short, because they block every other use of the file.

    Args:
        path: the file; the files `-wal` and `-shm` beside it belong to it. Its folder must exist.
        keep_days: how many days postbacks are kept after they were handled or discarded. During that time, repeated
            deliveries and older states of a record are recognized. A gateway may repeat for 4 days (5 attempts, one
            day apart). Choose more than that, and more than `catch_up` looks back. Waiting and dead postbacks are
            always kept.
        shared: whether the file may be a database of your own program. The inbox then creates its two tables beside
            yours (`postback_inbox`, `postback_inbox_keys`) and switches the file to a write-ahead log.
        now: returns the current time, in seconds since 1970.

    Raises:
        InvalidRequestError: an argument is invalid.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        keep_days: float = 30.0,
        shared: bool = False,
        now: Callable[[], float] = time,
    ) -> None:
        given = seal_path(path)
        del path  # an error's traceback shows local variables
        keep = retention_period(keep_days)
        if not callable(now):
            raise InvalidRequestError("now: must be a function that returns seconds since 1970")
        file = database_file(given)
        open_file = partial(_open_inbox, file, keep=keep, shared=shared, now=now)
        closed = partial(InboxError, str(file), "it is closed")
        super().__init__(str(file), QueuedStore("gateway_async inbox", open_file, closed), _insert)

    async def complete(self, claim: Claim, state: PostbackState, statements: Sequence[Statement] = ()) -> bool:
        """Mark a postback as handled, and execute `statements` in the same transaction."""
        execute = partial(execute_statements, statements=statements) if statements else None
        return await self._store.run(operations.complete, claim, state, execute)


def _open_inbox(
    path: str | Path, *, keep: timedelta | None = None, shared: bool = False, now: Callable[[], float] = time
) -> SqliteBackend:
    """Open an inbox's file; the arguments are those of `SqliteInbox`.

    Raises:
        InboxError: it cannot be used.
    """
    prune = partial(operations.prune, keep) if keep else None
    return SqliteBackend(path, _FORMAT, InboxError, marks=_MARKS, prune=prune, shared=shared, now=now)


def _insert(rows: Sequence[PostbackRow]) -> Steps[set[str]]:
    """Store postbacks, and return the keys of the new ones."""
    ((last,),) = yield _LAST_NUMBER, ()
    values = [{**attrs.asdict(row), "modified": row.modified and row.modified.timestamp()} for row in rows]
    yield _STORE, (values,)
    yield _ENQUEUE, (last,)
    ((keys,),) = yield _NEW_KEYS, (last,)
    return set(msgspec.json.decode(keys))
