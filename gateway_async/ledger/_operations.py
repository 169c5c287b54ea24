"""The operations of a ledger as SQL statements, for SQLite and for PostgreSQL.

Each operation is a generator, as `_storage/sql.py` runs them. The stores replace these marks in the statements:

- `@`: the table's name
- `:owner` and `:mine`: the column that says whose intent it is, and its value for this ledger
- `:is_orphaned`: whether the process that wrote an intent has certainly exited
- `:is_shown`: whether an open intent is shown to this ledger
- `:resolved_at`: when an outcome was recorded
- `:oldest`: the numbers of the oldest intents; not too many, because payments wait while they are deleted
- `:is_old`: whether an intent was resolved longer than `$1` ago
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import attrs
import msgspec

from gateway_async._storage.sql import Steps
from gateway_async.ledger.protocol import Intent, StoredIntent

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_COLUMNS: Final = tuple(field.name for field in attrs.fields(Intent) if field.name != "orphaned")
_TYPES: Final = {"sent_at": "timestamptz", "conclusive_at": "timestamptz"}
_JSON: Final = ("sent", "outcome_query")
_SELECT: Final = f"""
SELECT {", ".join(_COLUMNS)}, :is_orphaned AS orphaned, outcome, record_id, resolved_at FROM @ WHERE
"""  # noqa: S608  constant column names

_RECORD_INTENTS: Final = f"""
INSERT INTO @ (:owner, {", ".join(_COLUMNS)})
SELECT :mine, {", ".join(f"{name}::json" if name in _JSON else name for name in _COLUMNS)}
FROM jsonb_to_recordset($1::jsonb) AS given ({", ".join(f"{name} {_TYPES.get(name, 'text')}" for name in _COLUMNS)})
WHERE TRUE ON CONFLICT (id) DO NOTHING
"""  # noqa: S608  constant column names
# Rows are locked in the order of their ids, so that two processes cannot wait for each other.
_RECORD_OUTCOMES: Final = """
UPDATE @ AS intents SET outcome = new.outcome, record_id = new.record_id, resolved_at = :resolved_at
FROM (
    SELECT stored.number, given.* FROM jsonb_to_recordset($1::jsonb)
    AS given (intent_id text, outcome text, record_id text, resolved_at text)
    JOIN @ AS stored ON stored.id = given.intent_id ORDER BY given.intent_id FOR UPDATE OF stored
) AS new
WHERE intents.number = new.number AND (intents.outcome IS NULL OR new.outcome = 'done')
"""
_OPEN: Final = f"{_SELECT} outcome IS NULL AND :is_shown ORDER BY number"
_OPEN_AT_TERMINAL: Final = f"{_SELECT} outcome IS NULL AND terminal_id = $1 ORDER BY number"
_ENTRIES: Final = f"{_SELECT} id > $1 ORDER BY id LIMIT $2"
_PRUNE: Final = "DELETE FROM @ WHERE number IN (:oldest) AND outcome IS NOT NULL AND :is_old"


@attrs.define
class RecordedOutcome:
    """The outcome of an intent; with the fields of `Ledger.record_outcome`.

    It is not frozen: each payment creates one, and that would take twice as long.
    """

    intent_id: str
    outcome: str
    record_id: str | None
    resolved_at: datetime


def record_intents(intents: list[Intent]) -> Steps[Sequence[None]]:
    """Record intents; one whose id is known changes nothing."""
    yield _RECORD_INTENTS, (intents,)
    return [None] * len(intents)


def record_outcomes(outcomes: list[RecordedOutcome]) -> Steps[Sequence[None]]:
    """Record outcomes; of several for one intent, the first is kept unless a later one is `done`."""
    kept: dict[str, RecordedOutcome] = {}
    for each in outcomes:
        if each.outcome == "done" or each.intent_id not in kept:
            kept[each.intent_id] = each
    yield _RECORD_OUTCOMES, ([*kept.values()],)
    return [None] * len(outcomes)


def open_intents(terminal_id: str | None) -> Steps[Sequence[Intent]]:
    """Read the intents without an outcome, of all terminals or of one, the oldest first."""
    rows = (yield _OPEN, ()) if terminal_id is None else (yield _OPEN_AT_TERMINAL, (terminal_id,))
    return [_stored_intent(row).intent for row in rows]


def entries_after(intent_id: str, limit: int) -> Steps[Sequence[StoredIntent]]:
    """Read intents, open and resolved, in the order of their ids."""
    return [_stored_intent(row) for row in (yield _ENTRIES, (intent_id, limit))]


def prune(age: timedelta) -> Steps[None]:
    """Delete some of the intents that were resolved longer than `age` ago."""
    yield _PRUNE, (age,)


def id_before(moment: datetime) -> str:
    """A text that sorts before all ids from `moment` on.

    An id begins with the microseconds since 1970 of `Intent.sent_at`, as 14 hexadecimal digits.
    """
    return f"{max(moment - _EPOCH, timedelta()) // timedelta(microseconds=1):014x}"


def _stored_intent(row: Any) -> StoredIntent:
    values = {name: row[name] for name in _COLUMNS}
    for name in _TYPES:
        values[name] = _to_datetime(values[name])
    for name in _JSON:
        values[name] = values[name] and msgspec.json.decode(values[name])
    intent = Intent(**values, orphaned=bool(row["orphaned"]))
    return StoredIntent(intent, row["outcome"], row["record_id"], _to_datetime(row["resolved_at"]))


def _to_datetime(moment: Any) -> Any:
    """Convert a time; SQLite stores it as text."""
    return datetime.fromisoformat(moment) if isinstance(moment, str) else moment
