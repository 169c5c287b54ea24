"""`LedgerFile`: intents and outcomes in one SQLite file, for one thread at a time.

The law of this file: what `write` was given is on the disk when it returns, whole or not at all; and a file of another
program is not touched.
"""

import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from os import fspath
from pathlib import Path
from typing import Any, Final

import attrs
import msgspec

from gateway_async.errors import LedgerError
from gateway_async.ledger import Intent

__all__ = ["Entry", "LedgerFile", "Outcome", "in_plain_words"]

_APPLICATION_ID: Final = 0x67774C31
"""Says in the file's head whose it is: "gwL1"."""

_VERSION: Final = 1
_BUSY_SECONDS: Final = 10.0
"""How long to wait while another process writes."""

_STILL_ARRIVING: Final = timedelta(seconds=30)
"""How long after its sender's death the gateway may still carry out what it got."""

_PRUNED_AT_ONCE: Final = 10_000

_SCHEMA: Final = """
CREATE TABLE intents (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    call TEXT NOT NULL,
    resource TEXT NOT NULL,
    api_id TEXT,
    location_id TEXT,
    terminal_id TEXT,
    sent_at TEXT NOT NULL,
    certain_at TEXT NOT NULL,
    sent TEXT NOT NULL,
    inquiry TEXT,
    outcome TEXT,
    record_id TEXT,
    settled_at TEXT
);
CREATE INDEX open_intents ON intents (terminal_id) WHERE outcome IS NULL;
"""
_COLUMNS: Final = tuple(field.name for field in attrs.fields(Intent))
_EACH: Final = ", ".join(f"json_extract(value, '$[{place}]')" for place in range(len(_COLUMNS)))

# One statement for any number of rows: each would cost the thread a turn of the interpreter's lock.
_INTEND: Final = f"INSERT OR IGNORE INTO intents ({', '.join(_COLUMNS)}) SELECT {_EACH} FROM json_each(?)"  # noqa: S608
_SETTLE: Final = """
UPDATE intents SET outcome = news.outcome, record_id = news.record_id, settled_at = news.settled_at
FROM (
    SELECT json_extract(value, '$[0]') AS id, json_extract(value, '$[1]') AS outcome,
        json_extract(value, '$[2]') AS record_id, json_extract(value, '$[3]') AS settled_at
    FROM json_each(?)
) AS news
WHERE intents.id = news.id AND (intents.outcome IS NULL OR news.outcome = 'done')
"""
_PRUNE: Final = """
DELETE FROM intents
WHERE number IN (SELECT number FROM intents ORDER BY number LIMIT ?) AND outcome IS NOT NULL AND settled_at < ?
"""
_BURY: Final = "UPDATE intents SET certain_at = ? WHERE outcome IS NULL AND terminal_id IS NULL AND certain_at > ?"

_PRIMARY_CODE: Final = 0xFF
"""The bits of an SQLite error code that say what; the others say in what circumstances."""

_TROUBLES: Final[Mapping[int, str]] = {
    sqlite3.SQLITE_BUSY: "other processes kept it locked",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened or made; is the folder there, and yours to write to?",
    sqlite3.SQLITE_CORRUPT: "it is damaged",
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_IOERR: "the disk failed, or is full",
    sqlite3.SQLITE_NOTADB: "it is not a ledger",
    sqlite3.SQLITE_PERM: "access is not permitted",
    sqlite3.SQLITE_READONLY: "it is read-only",
}
"""What is wrong with a ledger's file, in plain words."""


@attrs.frozen
class Outcome:
    """What became of an intent; the fields are those of `Ledger.settle`."""

    intent_id: str
    outcome: str
    record_id: str | None
    settled_at: datetime


@attrs.frozen
class Entry:
    """An intent and what became of it, as the file has it; an open one has no outcome."""

    intent: Intent
    outcome: str | None
    record_id: str | None
    settled_at: datetime | None


class LedgerFile:
    """An open ledger file.

    Args:
        path: the file; it is made if it is not there.

    Raises:
        LedgerError: it cannot be used; every method raises it too.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = fspath(path)
        with self._in_plain_words():
            self._bury_the_dead()
            self._connection = _connected(self.path, _BUSY_SECONDS)
            try:
                self._set_up()
            except BaseException:
                self._connection.close()
                raise

    def write(self, intents: Iterable[Intent], outcomes: Iterable[Outcome]) -> None:
        """Write intents and outcomes, in one transaction."""
        rows = [_row(intent) for intent in intents]
        news = [(each.intent_id, each.outcome, each.record_id, _written(each.settled_at)) for each in outcomes]
        with self._in_plain_words(), self._transaction() as connection:
            if rows:
                connection.execute(_INTEND, (_json(rows),))
            if news:
                connection.execute(_SETTLE, (_json(news),))

    def open_intents(self, terminal_id: str | None = None) -> Sequence[Intent]:
        """The intents without an outcome, the oldest first; only those of a terminal where one is named."""
        chosen = "outcome IS NULL" + ("" if terminal_id is None else " AND terminal_id = ?")
        return [entry.intent for entry in self._entries(chosen, () if terminal_id is None else (terminal_id,))]

    def entries(self, *, open_only: bool = False) -> Iterator[Entry]:
        """What is kept, the oldest first: everything, or what has no outcome."""
        return self._entries("outcome IS NULL" if open_only else "TRUE")

    def prune(self, before: datetime) -> None:
        """Forget what was settled before that time; it looks at the ten thousand oldest only."""
        with self._in_plain_words():
            self._connection.execute(_PRUNE, (_PRUNED_AT_ONCE, _written(before)))

    def close(self) -> None:
        """Let go of the file; what was written is in it."""
        self._connection.close()

    def _set_up(self) -> None:
        if self._is_new():
            _set_wal(self._connection)
            with self._transaction() as connection:
                if self._is_new():  # still, now that nobody else writes
                    for statement in _SCHEMA.split(";"):
                        connection.execute(statement)
                    connection.execute(f"PRAGMA user_version = {_VERSION}")
                    connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        self._connection.execute("PRAGMA synchronous = FULL")

    def _is_new(self) -> bool:
        """Whether there is nothing in the file yet.

        Raises:
            LedgerError: what is in it is no ledger, or one of a later version.
        """
        application, version = _asked(self._connection, "application_id"), _asked(self._connection, "user_version")
        if application == 0 and not self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            return True
        if application != _APPLICATION_ID:
            raise LedgerError(self.path, "it is another program's")
        if version > _VERSION:
            raise LedgerError(self.path, "a later version of this package made it")
        return False

    def _bury_the_dead(self) -> None:
        """Where nobody else has the file open, who wrote its open intents is dead, and sends nothing any more.

        Then it is not long until nothing of them can be under way; but a customer at a terminal stays there.
        """
        if not Path(self.path).is_file():
            return
        now = datetime.now(UTC)
        certain_at = _written(now + _STILL_ARRIVING)
        with closing(_connected(self.path, 0)) as alone, suppress(sqlite3.OperationalError):
            alone.execute("PRAGMA locking_mode = EXCLUSIVE")
            if _asked(alone, "application_id") == _APPLICATION_ID:
                alone.execute(_BURY, (certain_at, certain_at))

    def _entries(self, chosen: str, values: Sequence[str] = ()) -> Iterator[Entry]:
        columns = ", ".join((*_COLUMNS, "outcome", "record_id", "settled_at"))
        with self._in_plain_words():
            rows = self._connection.execute(
                f"SELECT {columns} FROM intents WHERE {chosen} ORDER BY number",  # noqa: S608  our own words
                values,
            )
            for *row, outcome, record_id, settled_at in rows:
                yield Entry(_intent(row), outcome, record_id, settled_at and datetime.fromisoformat(settled_at))

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield self._connection
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    @contextmanager
    def _in_plain_words(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise LedgerError(self.path, in_plain_words(error)) from error


def in_plain_words(error: sqlite3.Error) -> str:
    """What is wrong with a ledger's file."""
    code = getattr(error, "sqlite_errorcode", 0)  # only errors of SQLite itself have one
    return _TROUBLES.get(code & _PRIMARY_CODE, str(error))


def _connected(path: str, patience: float) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=patience, isolation_level=None)


def _set_wal(connection: sqlite3.Connection) -> None:
    """Have writers append to a log: one sync for each commit, and readers do not wait."""
    until = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError:  # SQLite does not wait by itself while another process does the same
            if time.monotonic() >= until:
                raise
            time.sleep(0.01)
        else:
            return


def _asked(connection: sqlite3.Connection, pragma: str) -> int:
    (value,) = connection.execute(f"PRAGMA {pragma}").fetchone()
    return int(value)


def _row(intent: Intent) -> list[Any]:
    """An intent as the table has it."""
    changed = {
        "sent_at": _written(intent.sent_at),
        "certain_at": _written(intent.certain_at),
        "sent": _json(intent.sent),
        "inquiry": None if intent.inquiry is None else _json(intent.inquiry),
    }
    return [changed[name] if name in changed else getattr(intent, name) for name in _COLUMNS]


def _intent(row: Sequence[Any]) -> Intent:
    """The way back."""
    values = dict(zip(_COLUMNS, row, strict=True))
    for name in ("sent_at", "certain_at"):
        values[name] = datetime.fromisoformat(values[name])
    for name in ("sent", "inquiry"):
        values[name] = values[name] and msgspec.json.decode(values[name])
    return Intent(**values)


def _json(value: Any) -> str:
    return _encoder.encode(value).decode()


_encoder = msgspec.json.Encoder(enc_hook=dict)  # mappings of any kind


def _written(moment: datetime) -> str:
    """A time in UTC, always of the same form, so that later ones are greater."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")
