"""`LedgerDatabase`: intents and outcomes in a table of a PostgreSQL database.

Only one thread at a time may use it. A batch is one transaction, on a connection that holds the ledger's lock.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from secrets import randbits
from time import monotonic
from typing import Any, Final

import attrs
import msgspec

from gateway_async._storage.postgres import Database, read_committed
from gateway_async._storage.sqlite import PRUNING_SECONDS
from gateway_async.errors import LedgerError
from gateway_async.ledger._operations import EntriesAfter, OpenIntents, RecordedOutcome
from gateway_async.ledger.protocol import Intent, StoredIntent

SCHEMA: Final = """
CREATE TABLE @ (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text NOT NULL UNIQUE,
    call text NOT NULL,
    resource text NOT NULL,
    api_id text,
    location_id text,
    terminal_id text,
    sent_at timestamptz NOT NULL,
    conclusive_at timestamptz NOT NULL,
    sent json NOT NULL,
    outcome_query json,
    gateway text NOT NULL DEFAULT '',
    owner bigint NOT NULL,
    recorded_at timestamptz NOT NULL DEFAULT now(),
    outcome text,
    record_id text,
    resolved_at timestamptz
);
CREATE INDEX ON @ (terminal_id) WHERE outcome IS NULL;
CREATE INDEX ON @ (resolved_at) WHERE outcome IS NOT NULL;
"""

_COLUMNS: Final = tuple(field.name for field in attrs.fields(Intent) if field.name != "orphaned")
_JSON_COLUMNS: Final = ("sent", "outcome_query")

_Awaited = Sequence[Intent | OpenIntents | EntriesAfter]

_OWNER_BITS: Final = 63
_CLOSING_SECONDS: Final = 10.0

# A shared lock does not wait for the session of a lost connection, which may hold it for some time yet. The keep-alive
# packets end such a session after a minute. Without `synchronous_commit`, a power loss could lose an intent.
_LOCK: Final = """
SELECT pg_advisory_lock_shared($1),
    set_config('tcp_keepalives_idle', '30', false),
    set_config('tcp_keepalives_interval', '10', false),
    set_config('tcp_keepalives_count', '3', false),
    CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'on', false) END
"""
_RECORD_INTENT: Final = f"""
INSERT INTO @ (owner, {", ".join(_COLUMNS)}) VALUES ({", ".join(f"${n}" for n in range(1, len(_COLUMNS) + 2))})
ON CONFLICT (id) DO NOTHING
"""  # noqa: S608  constant column names
_RECORD_OUTCOME: Final = """
UPDATE @ SET outcome = $2, record_id = $3, resolved_at = now() WHERE id = $1 AND (outcome IS NULL OR $2 = 'done')
"""
_OPEN_AT_TERMINAL: Final = f"""
SELECT {", ".join(_COLUMNS)} FROM @ WHERE outcome IS NULL AND terminal_id = $1 ORDER BY number
"""  # noqa: S608  constant column names
_OPEN: Final = f"""
SELECT {", ".join(_COLUMNS)} FROM @
WHERE outcome IS NULL AND (
    owner = $1
    OR recorded_at + (conclusive_at - sent_at) < now()
    OR owner NOT IN (
        SELECT (classid::bigint << 32) | objid::bigint FROM pg_locks
        WHERE locktype = 'advisory' AND objsubid = 1
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    )
)
ORDER BY number
"""  # noqa: S608  constant column names
_ENTRIES: Final = f"""
SELECT {", ".join(_COLUMNS)}, outcome, record_id, resolved_at FROM @ WHERE id > $1 ORDER BY id LIMIT $2
"""  # noqa: S608  constant column names
_PRUNE: Final = """
DELETE FROM @ WHERE number IN (
    SELECT number FROM @ WHERE outcome IS NOT NULL AND resolved_at < now() - $1::interval
    ORDER BY resolved_at LIMIT $2 FOR UPDATE SKIP LOCKED
)
"""
_PRUNED_ROWS: Final = 10_000
"""Maximum number of rows that are deleted at once, because payments wait meanwhile."""


class LedgerDatabase:
    """A connection to a ledger's database.

    Its methods run their own event loop, so they need a thread without one. Each object has a number of its own, its
    *owner*. While the connection holds the advisory lock of that number, other ledgers know that the owner's process is
    alive. The server releases the lock when the connection ends.

    Args:
        database: the database with the table.
        keep: how long resolved intents are kept.
    """

    def __init__(self, database: Database, keep: timedelta) -> None:
        self._runner = asyncio.Runner()
        self._database = database
        self._keep = keep
        self._owner = randbits(_OWNER_BITS)
        self._connection: Any = None
        self._next_pruning = float("-inf")

    def execute_batch(self, awaited: _Awaited, deferred: Sequence[RecordedOutcome]) -> Sequence[Any]:
        """Write the intents and the outcomes, then run the queries.

        All of it is one transaction.
        """
        return self._runner.run(self._execute_with_retry(awaited, deferred))

    def close(self) -> None:
        """Close the connection, which releases the lock."""
        with self._runner:
            if self._connection is not None:
                self._runner.run(self._close_connection())

    async def _execute_with_retry(self, awaited: _Awaited, deferred: Sequence[RecordedOutcome]) -> Sequence[Any]:
        """Execute a batch, once more if the connection was lost; a repeated write changes nothing."""
        try:
            return await self._execute(awaited, deferred)
        except LedgerError:
            was_lost = self._connection is not None and self._connection.is_closed()
            self._disconnect()
            if not was_lost:
                raise
        return await self._execute(awaited, deferred)

    async def _execute(self, awaited: _Awaited, deferred: Sequence[RecordedOutcome]) -> Sequence[Any]:
        with self._database.describe_errors():
            connection = await self._connect()
            async with read_committed(connection):
                intents = [self._row(each) for each in awaited if isinstance(each, Intent)]
                await self._execute_many(connection, _RECORD_INTENT, intents)
                await self._execute_many(connection, _RECORD_OUTCOME, _outcome_rows(deferred))
                results = [
                    None if isinstance(each, Intent) else await self._run_query(connection, each) for each in awaited
                ]
        await self._prune_if_due()
        return results

    async def _connect(self) -> Any:
        """Return the connection that holds the lock; replace a closed one."""
        if self._connection is None or self._connection.is_closed():
            self._connection = None
            self._connection = await self._database.connect()
            await self._database.fetch(self._connection, _LOCK, self._owner)
        return self._connection

    def _disconnect(self) -> None:
        """End the connection at once, because after a failure it may hang."""
        if self._connection is not None:
            self._connection.terminate()

    async def _close_connection(self) -> None:
        with suppress(LedgerError), self._database.describe_errors():
            await self._connection.close(timeout=_CLOSING_SECONDS)

    async def _execute_many(self, connection: Any, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        if rows:
            await self._database.execute_many(connection, statement, rows)

    async def _run_query(
        self, connection: Any, query: OpenIntents | EntriesAfter
    ) -> Sequence[Intent] | Sequence[StoredIntent]:
        if isinstance(query, OpenIntents):
            return await self._open_intents(connection, query.terminal_id)
        rows = await self._database.fetch(connection, _ENTRIES, query.intent_id, query.limit)
        return [_stored_intent(row) for row in rows]

    async def _open_intents(self, connection: Any, terminal_id: str | None) -> Sequence[Intent]:
        if terminal_id is None:
            rows = await self._database.fetch(connection, _OPEN, self._owner)
        else:
            rows = await self._database.fetch(connection, _OPEN_AT_TERMINAL, _text(terminal_id))
        return [_intent(row) for row in rows]

    async def _prune_if_due(self) -> None:
        """Delete old rows once a minute; a failure is ignored until the next time."""
        if monotonic() >= self._next_pruning:
            self._next_pruning = monotonic() + PRUNING_SECONDS
            with suppress(LedgerError), self._database.describe_errors():
                await self._database.fetch(self._connection, _PRUNE, self._keep, _PRUNED_ROWS)

    def _row(self, intent: Intent) -> tuple[Any, ...]:
        """Convert an intent to the values of a row."""
        values = [getattr(intent, name) for name in _COLUMNS]
        return self._owner, *(
            _json(value) if name in _JSON_COLUMNS else _text(value)
            for name, value in zip(_COLUMNS, values, strict=True)
        )


def _outcome_rows(outcomes: Sequence[RecordedOutcome]) -> list[tuple[Any, ...]]:
    """Convert outcomes to rows, ordered by id.

    Rows are locked in that order, so that two processes cannot wait for each other.
    """
    rows = [(each.intent_id, each.outcome, _text(each.record_id)) for each in outcomes]
    return sorted(rows, key=lambda row: row[0])


def _stored_intent(row: Any) -> StoredIntent:
    return StoredIntent(_intent(row), row["outcome"], row["record_id"], row["resolved_at"])


def _intent(row: Any) -> Intent:
    values = {name: row[name] for name in _COLUMNS}
    for name in _JSON_COLUMNS:
        values[name] = values[name] and msgspec.json.decode(values[name])
    return Intent(**values)


def _json(value: Any) -> str | None:
    return None if value is None else msgspec.json.encode(value).decode()


def _text(value: Any) -> Any:
    """Replace NUL in a text.

    PostgreSQL cannot store it, and the whole batch would fail.
    """
    return value.replace("\0", "?") if isinstance(value, str) else value
