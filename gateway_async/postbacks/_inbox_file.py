"""`InboxFile`: an inbox in one SQLite file, for one thread at a time.

The law of this file: all that `carry_out` was asked is on the disk when it returns, whole or not at all; only what a
handler writes can fail by itself, and then nothing of its own is there and all else is. A file of another program is
not touched.

A *lane* is what is handled one after the other, the postbacks of a record; its `head` is the one whose turn it is.
"""

import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from os import fspath
from pathlib import Path
from typing import Any, Final

import attrs
import msgspec

from gateway_async._sqlite_file import ask_pragma, connect, in_plain_words, set_up, transaction
from gateway_async.errors import InboxError
from gateway_async.postbacks._inbox_writes import carry_out_writes
from gateway_async.postbacks._rows import LISTING_SECONDS, Row, claim_of, lane_of, letter_of, was_missed, was_told
from gateway_async.postbacks.inbox import Claim, Letter, LetterState, Write

__all__ = ["Demand", "InboxFile"]

_APPLICATION_ID: Final = 0x67774931
"""Says in the file's head whose it is: "gwI1"."""

_VERSION: Final = 1
_PRUNED_AT_ONCE: Final = 10_000
_NEVER: Final = 1e12
"""In seconds since 1970: later than any record is modified."""

_SCHEMA: Final = """
CREATE TABLE postback_inbox (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL UNIQUE,
    lane TEXT NOT NULL,
    deletes INTEGER NOT NULL,
    modified REAL,
    content TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'waiting',
    came_at REAL NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    error TEXT NOT NULL DEFAULT '',
    ended_at REAL
);
CREATE INDEX postback_inbox_by_lane ON postback_inbox (lane, state, number);
CREATE INDEX postback_inbox_by_state ON postback_inbox (state, number);
CREATE INDEX postback_inbox_by_end ON postback_inbox (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX postback_inbox_listed ON postback_inbox (lane) WHERE instr(content, '"reconciled":true');
CREATE TABLE postback_inbox_lanes (
    lane TEXT PRIMARY KEY,
    head INTEGER,
    due_at REAL NOT NULL,
    token TEXT,
    newest REAL,
    deleted REAL,
    ended_at REAL
) WITHOUT ROWID;
CREATE INDEX postback_inbox_lanes_due ON postback_inbox_lanes (due_at) WHERE head IS NOT NULL;
CREATE INDEX postback_inbox_lanes_idle ON postback_inbox_lanes (ended_at) WHERE head IS NULL;
"""
# One statement, and one encoding, for any number of rows: each would cost the thread a turn of the interpreter's lock.
_PUT: Final = """
INSERT INTO postback_inbox (key, lane, deletes, modified, content, came_at)
SELECT json_extract(value, '$.key'), json_extract(value, '$.lane'), json_extract(value, '$.deletes'),
    json_extract(value, '$.modified'), json_extract(value, '$.content'), :now
FROM json_each(:rows) WHERE TRUE
ON CONFLICT (key) DO NOTHING
"""
_KNOWN: Final = """
SELECT newest, deleted, modified, content, came_at <= :listed AS before
FROM (SELECT :lane AS lane) LEFT JOIN postback_inbox_lanes USING (lane)
LEFT JOIN postback_inbox ON number = (
    SELECT number FROM postback_inbox WHERE lane = :lane AND modified >= :modified
    ORDER BY modified DESC, number DESC LIMIT 1
)
"""
# In the words of an index, which knows only what was listed: a record may have changed a thousand times.
_LISTED: Final = """
SELECT lane, content FROM postback_inbox
WHERE lane IN (SELECT value FROM json_each(?)) AND instr(content, '"reconciled":true')
"""
_NEW: Final = "SELECT json_group_array(key) FROM postback_inbox WHERE number > ?"
_LAST: Final = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'postback_inbox'"
# NOT INDEXED: by number, and not through the whole inbox in the order of its lanes, as SQLite would like to group.
_LINE_UP: Final = """
INSERT INTO postback_inbox_lanes (lane, head, due_at)
SELECT lane, min(number), min(came_at) FROM postback_inbox NOT INDEXED WHERE number > ? GROUP BY lane
ON CONFLICT (lane) DO UPDATE SET head = excluded.head, due_at = excluded.due_at WHERE head IS NULL
"""
_CLAIM: Final = """
UPDATE postback_inbox_lanes SET token = :token, due_at = :until
WHERE lane IN (
    SELECT lane FROM postback_inbox_lanes WHERE head IS NOT NULL AND due_at <= :now ORDER BY due_at LIMIT :at_most
)
RETURNING head
"""
_COUNT: Final = """
UPDATE postback_inbox SET attempts = attempts + 1 WHERE number IN (SELECT value FROM json_each(?))
"""
_CLAIMED: Final = """
SELECT number, key, content, attempts,
    coalesce(modified < newest, FALSE)
    OR (NOT deletes AND deleted IS NOT NULL AND coalesce(modified <= deleted, TRUE)) AS superseded
FROM postback_inbox JOIN postback_inbox_lanes USING (lane)
WHERE number IN (SELECT value FROM json_each(?)) ORDER BY number
"""
_STANDS: Final = "FROM postback_inbox_lanes WHERE lane = :lane AND head = :number AND token = :token"
_PROLONG: Final = f"UPDATE postback_inbox_lanes SET due_at = :until WHERE lane IN (SELECT lane {_STANDS})"  # noqa: S608  our own words
_END: Final = """
UPDATE postback_inbox SET state = :state, error = '', ended_at = :now WHERE number = :number
RETURNING deletes, modified
"""
_LEARN: Final = """
UPDATE postback_inbox_lanes
SET newest = max(coalesce(newest, :modified), coalesce(:modified, newest)),
    deleted = CASE WHEN :deletes THEN coalesce(:modified, :never) ELSE deleted END
WHERE lane = :lane
"""
_NEXT: Final = """
UPDATE postback_inbox_lanes
SET token = NULL, due_at = :due_at, ended_at = :now,
    head = (SELECT min(number) FROM postback_inbox WHERE lane = :lane AND state = 'waiting')
WHERE lane = :lane
"""
_FAILED: Final = "UPDATE postback_inbox SET error = :error, state = :state WHERE number = :number"
_UNCOUNT: Final = "UPDATE postback_inbox SET attempts = attempts - 1 WHERE number = :number"
_REPLAY: Final = """
UPDATE postback_inbox SET state = 'waiting', attempts = 0, ended_at = NULL WHERE number = ? RETURNING lane
"""
_DISCARD: Final = """
UPDATE postback_inbox SET state = 'discarded', ended_at = :now WHERE number = :number AND state = 'dead' RETURNING 1
"""
_LINE_UP_AGAIN: Final = """
INSERT INTO postback_inbox_lanes (lane, head, due_at) VALUES (:lane, :number, :now)
ON CONFLICT (lane) DO UPDATE SET due_at = :now,
    head = (SELECT min(number) FROM postback_inbox WHERE lane = :lane AND state = 'waiting')
WHERE token IS NULL
"""
_LETTERS: Final = """
SELECT number, key, content, state, came_at, attempts, error, due_at
FROM postback_inbox LEFT JOIN postback_inbox_lanes USING (lane)
WHERE number > :after AND {} ORDER BY number LIMIT :limit
"""
_FORGET_LETTERS: Final = """
DELETE FROM postback_inbox
WHERE number IN (SELECT number FROM postback_inbox WHERE ended_at < :before ORDER BY ended_at LIMIT :limit)
"""
_FORGET_LANES: Final = """
DELETE FROM postback_inbox_lanes
WHERE lane IN (
    SELECT lane FROM postback_inbox_lanes WHERE head IS NULL AND ended_at < :before ORDER BY ended_at LIMIT :limit
)
"""

Demand = Row | Callable[["InboxFile"], Any]
"""What is asked of a file: a postback to be kept (whether it was new is the answer), or one of its methods."""


class _AllUndoneError(Exception):
    """What one had asked undid what all had asked."""

    def __init__(self, place: int, cause: Exception) -> None:
        self.place = place
        self.cause = cause


class InboxFile:
    """An open inbox file.

    But for `carry_out` and `prune`, its methods stand for what `carry_out` is asked, and work in its transaction.

    Args:
        path: the file; it is made if it is not there.
        shared: whether it may be a database that another program, the user's, has made.
        now: the time, in seconds since 1970.

    Raises:
        InboxError: it cannot be used; every method raises it too.
    """

    def __init__(self, path: str | Path, *, shared: bool = False, now: Callable[[], float] = time.time) -> None:
        self.path = fspath(path)
        self._now = now
        with self._in_plain_words():
            self._connection = connect(self.path)
            try:
                self._set_up(shared)
                self._identity = _identity(self.path)
            except BaseException:
                self._connection.close()
                raise

    def carry_out(self, demands: Sequence[Demand]) -> Sequence[Any]:
        """Do all that is asked, in one transaction; the answers, an exception where what a handler wrote failed."""
        refused: dict[int, Exception] = {}
        while True:
            try:
                with self._in_plain_words(), transaction(self._connection):
                    self._check_place()
                    return self._answers(demands, refused)
            except _AllUndoneError as undone:
                refused[undone.place] = undone.cause

    def claim(self, at_most: int, seconds: float, token: str) -> Sequence[Claim]:
        """Take what is due."""
        now = self._now()
        facts = {"token": token, "until": now + seconds, "now": now, "at_most": at_most}
        heads = _json([head for (head,) in self._connection.execute(_CLAIM, facts).fetchall()])
        if heads == "[]":
            return []
        self._connection.execute(_COUNT, (heads,))
        return [claim_of(row, token) for row in self._rows(_CLAIMED, (heads,))]

    def prolong(self, claims: Sequence[Claim], seconds: float) -> None:
        """Keep claims, those that still stand."""
        until = self._now() + seconds
        self._connection.executemany(_PROLONG, [{**_facts(claim), "until": until} for claim in claims])

    def release(self, claims: Sequence[Claim]) -> None:
        """Give claims back."""
        for claim in claims:
            if self._stands(claim):
                self._connection.execute(_UNCOUNT, _facts(claim))
                self._go_on(claim)

    def done(self, claim: Claim, state: LetterState, writes: Sequence[Write]) -> bool | Exception:
        """Note that a postback is handled, and write what its handler wanted; or say what is wrong with that."""
        if not self._stands(claim):
            return False
        if problem := carry_out_writes(self._connection, writes):
            return problem
        facts = {**_facts(claim), "state": str(state), "now": self._now(), "never": _NEVER}
        ((deletes, modified),) = self._connection.execute(_END, facts).fetchall()
        if state is LetterState.HANDLED:
            self._connection.execute(_LEARN, {**facts, "deletes": deletes, "modified": modified})
        self._go_on(claim)
        return True

    def failed(self, claim: Claim, error: str, again_in: float | None) -> None:
        """Note that a handler failed."""
        if self._stands(claim):
            state = LetterState.DEAD if again_in is None else LetterState.WAITING
            self._connection.execute(_FAILED, {**_facts(claim), "error": error, "state": str(state)})
            self._go_on(claim, again_in or 0)

    def letters(self, state: LetterState | None, after: int, limit: int) -> Sequence[Letter]:
        """What is kept."""
        chosen = _LETTERS.format("TRUE" if state is None else "state = :state")
        facts = {"after": after, "limit": limit, "state": state and str(state)}
        return [letter_of(_timed(row)) for row in self._rows(chosen, facts)]

    def replay(self, number: int) -> bool:
        """Have it handled again."""
        lanes = self._connection.execute(_REPLAY, (number,)).fetchall()
        for (lane,) in lanes:
            self._connection.execute(_LINE_UP_AGAIN, {"lane": lane, "number": number, "now": self._now()})
        return bool(lanes)

    def discard(self, number: int) -> bool:
        """Give a dead one up."""
        facts = {"number": number, "now": self._now()}
        return bool(self._connection.execute(_DISCARD, facts).fetchall())

    def prune(self, age: timedelta) -> None:
        """Forget what ended longer ago; ten thousand at once."""
        facts = {"before": self._now() - age.total_seconds(), "limit": _PRUNED_AT_ONCE}
        with self._in_plain_words(), transaction(self._connection):
            self._connection.execute(_FORGET_LETTERS, facts)
            self._connection.execute(_FORGET_LANES, facts)

    def close(self) -> None:
        """Let go of the file; what was written is in it."""
        self._connection.close()

    # --- in the transaction

    def _answers(self, demands: Sequence[Demand], refused: Mapping[int, Exception]) -> Sequence[Any]:
        news = iter(self._put([each for each in demands if isinstance(each, Row)]))
        return [
            next(news) if isinstance(demand, Row) else refused.get(place) or self._answer(place, demand)
            for place, demand in enumerate(demands)
        ]

    def _answer(self, place: int, demand: Callable[["InboxFile"], Any]) -> Any:
        answer = demand(self)
        if not self._connection.in_transaction:
            raise _AllUndoneError(place, answer)
        return answer

    def _put(self, rows: Sequence[Row]) -> Sequence[bool]:
        """Keep postbacks; which of them are new."""
        new = self._put_together(self._untold([row for row in rows if not row.reconciled]))
        for some in _rounds([row for row in rows if row.reconciled]):
            new |= self._put_together([row for row in some if self._was_missed(row)])
        news: list[bool] = []
        for row in rows:
            news.append(row.key in new)
            new.discard(row.key)  # of two that came at once the first is new
        return news

    def _put_together(self, rows: Sequence[Row]) -> set[str]:
        if not rows:
            return set()
        (last,) = self._connection.execute(_LAST).fetchone()
        self._connection.execute(_PUT, {"rows": _json([_written(row) for row in rows]), "now": self._now()})
        self._connection.execute(_LINE_UP, (last,))
        (keys,) = self._connection.execute(_NEW, (last,)).fetchone()
        return set(msgspec.json.decode(keys))

    def _untold(self, rows: Sequence[Row]) -> Sequence[Row]:
        """Without what was listed, and told, before it was delivered."""
        listed: dict[str, list[str]] = {}
        for lane, content in self._connection.execute(_LISTED, (_json([row.lane for row in rows]),)):
            listed.setdefault(lane, []).append(content)
        return [row for row in rows if not was_told(row, listed.get(row.lane, ()))]

    def _was_missed(self, row: Row) -> bool:
        modified = row.modified and row.modified.timestamp()
        facts = {"lane": row.lane, "modified": modified, "listed": self._now() - LISTING_SECONDS}
        (known,) = self._rows(_KNOWN, facts)
        return was_missed(row, modified, known)

    def _check_place(self) -> None:
        """Whatever is written into a file without a name is lost with the process."""
        if _identity(self.path) != self._identity:
            raise InboxError(self.path, "it was moved, removed or replaced: put it back, or start the program anew")

    def _stands(self, claim: Claim) -> bool:
        return self._connection.execute(f"SELECT 1 {_STANDS}", _facts(claim)).fetchone() is not None

    def _go_on(self, claim: Claim, pause: float = 0) -> None:
        """Give a claim's lane free for what is next in it, after a pause in seconds."""
        now = self._now()
        self._connection.execute(_NEXT, {**_facts(claim), "now": now, "due_at": now + pause})

    def _rows(self, sql: str, values: Any) -> Iterator[dict[str, Any]]:
        cursor = self._connection.execute(sql, values)
        names = [column[0] for column in cursor.description]
        return (dict(zip(names, row, strict=True)) for row in cursor.fetchall())

    # --- the file

    def _set_up(self, shared: bool) -> None:
        set_up(self._connection, lambda: self._is_new(shared), lambda: self._make(shared))

    def _make(self, shared: bool) -> None:
        for statement in _SCHEMA.split(";"):
            self._connection.execute(statement)
        if not shared:
            self._connection.execute(f"PRAGMA user_version = {_VERSION}")
            self._connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")

    def _is_new(self, shared: bool) -> bool:
        """Whether the tables are to be made.

        Raises:
            InboxError: what is in the file is no inbox, or one of a later version.
        """
        application = ask_pragma(self._connection, "application_id")
        if application == _APPLICATION_ID and ask_pragma(self._connection, "user_version") > _VERSION:
            raise InboxError(self.path, "a later version of this package made it")
        if self._count("sqlite_master WHERE name = 'postback_inbox'"):
            return False
        if not shared and (application or self._count("sqlite_master")):
            raise InboxError(self.path, "it is another program's; if that program is yours, say shared=True")
        return True

    def _count(self, what: str) -> int:
        (count,) = self._connection.execute(f"SELECT count(*) FROM {what}").fetchone()  # noqa: S608  our own words
        return int(count)

    @contextmanager
    def _in_plain_words(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise InboxError(self.path, in_plain_words(error, "an inbox")) from error


def _rounds(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    """Rows in rounds without two of one lane: whether a listed state is news hangs on what came before it."""
    while rows:
        firsts: dict[str, Row] = {}
        later = [row for row in rows if firsts.setdefault(row.lane, row) is not row]
        yield list(firsts.values())
        rows = later


def _identity(path: str) -> tuple[int, int] | None:
    """What tells a file from every other; None if there is none."""
    with suppress(OSError):
        found = Path(path).stat()
        return found.st_dev, found.st_ino
    return None


def _written(row: Row) -> dict[str, Any]:
    return {**attrs.asdict(row), "modified": row.modified and row.modified.timestamp()}


def _facts(claim: Claim) -> dict[str, Any]:
    return {"lane": lane_of(claim.postback), "number": claim.number, "token": claim.token}


def _timed(row: Mapping[str, Any]) -> dict[str, Any]:
    times = {name: row[name] and datetime.fromtimestamp(row[name], UTC) for name in ("came_at", "due_at")}
    return {**row, **times}


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
