"""`LedgerFile`: intents and outcomes in one SQLite file, for one thread at a time.

The law of this file: what `write` was given is on the disk when it returns, whole or not at all; and a file of another
program is not touched.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from os import fspath
from pathlib import Path
from typing import Any, Final

import attrs
import msgspec

from gateway_async._sqlite_file import Form, ask_pragma, connect, in_plain_words, transaction
from gateway_async.errors import LedgerError
from gateway_async.ledger import Intent

__all__ = ["Entry", "LedgerFile", "Outcome"]

_APPLICATION_ID: Final = 0x67774C31
"""Says in the file's head whose it is: "gwL1"."""

_VERSION: Final = 1
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
    gateway TEXT NOT NULL DEFAULT '',
    outcome TEXT,
    record_id TEXT,
    settled_at TEXT
);
CREATE INDEX open_intents ON intents (terminal_id) WHERE outcome IS NULL;
"""
_FORM: Final = Form(_APPLICATION_ID, _VERSION, _SCHEMA)

_COLUMNS: Final = tuple(field.name for field in attrs.fields(Intent))


def _taken(*names: str) -> str:
    """Fields of the JSON object `value`, as SQL."""
    return ", ".join(f"json_extract(value, '$.{name}') AS {name}" for name in names)


# One statement, and one encoding, for any number of rows: each would cost the thread a turn of the interpreter's lock.
_INTEND: Final = f"""
INSERT OR IGNORE INTO intents ({", ".join(_COLUMNS)}) SELECT {_taken(*_COLUMNS)} FROM json_each(?)
"""  # noqa: S608  our own words
_SETTLE: Final = f"""
UPDATE intents SET outcome = news.outcome, record_id = news.record_id, settled_at = news.settled_at
FROM (
    SELECT {_taken("intent_id", "outcome", "record_id", "settled_at")} FROM json_each(?)
) AS news
WHERE intents.id = news.intent_id AND (intents.outcome IS NULL OR news.outcome = 'done')
"""  # noqa: S608  our own words
_PRUNE: Final = """
DELETE FROM intents
WHERE number IN (SELECT number FROM intents ORDER BY number LIMIT ?) AND outcome IS NOT NULL AND settled_at < ?
"""
_BURY: Final = "UPDATE intents SET certain_at = ? WHERE outcome IS NULL AND terminal_id IS NULL AND certain_at > ?"


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
            self._connection = connect(self.path)
            try:
                _FORM.set_up(self._connection, partial(LedgerError, self.path))
            except BaseException:
                self._connection.close()
                raise

    def write(self, intents: Sequence[Intent], outcomes: Sequence[Outcome]) -> None:
        """Write intents and outcomes, in one transaction."""
        with self._in_plain_words(), transaction(self._connection):
            if intents:
                self._connection.execute(_INTEND, (_json(intents),))
            if outcomes:
                self._connection.execute(_SETTLE, (_json(outcomes),))

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

    def _bury_the_dead(self) -> None:
        """Where nobody else has the file open, who wrote its open intents is dead, and sends nothing any more.

        Then it is not long until nothing of them can be under way; but a customer at a terminal stays there.
        """
        if not Path(self.path).is_file():
            return
        now = datetime.now(UTC)
        certain_at = _written(now + _STILL_ARRIVING)
        with closing(connect(self.path, 0)) as alone, suppress(sqlite3.OperationalError):
            alone.execute("PRAGMA locking_mode = EXCLUSIVE")
            if ask_pragma(alone, "application_id") == _APPLICATION_ID:
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
    def _in_plain_words(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise LedgerError(self.path, in_plain_words(error, "a ledger")) from error


def _intent(row: Sequence[Any]) -> Intent:
    """An intent as the table has it."""
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
    """A time in UTC, in the form of all the others."""
    return str(msgspec.to_builtins(moment.astimezone(UTC)))
