"""`ReconciliationTables`: the payments of the gateway and the calls of a ledger, joined in bounded memory.

SQLite keeps the tables in memory, or in a private temporary file if they are large. The file is deleted when closed.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeVar

import msgspec

from gateway_async._execution.reconciliation.comparison import GatewayPayment, RecordedCall

__all__ = ["ReconciliationTables"]

T = TypeVar("T")

_SCHEMA: Final = """
CREATE TABLE payments (number INTEGER PRIMARY KEY, key TEXT UNIQUE, api_key TEXT, location_key TEXT, facts TEXT);
CREATE INDEX payments_by_api_key ON payments (api_key);
CREATE TABLE calls (
    number INTEGER PRIMARY KEY, key TEXT, api_key TEXT, location_key TEXT, is_create INTEGER, outcome TEXT, facts TEXT
);
CREATE INDEX calls_by_key ON calls (key);
CREATE INDEX calls_by_api_key ON calls (api_key);
"""

_SAME_PAYMENT: Final = """
(calls.key = payments.key OR (calls.api_key = payments.api_key AND (
    calls.location_key IS NULL OR payments.location_key IS NULL OR calls.location_key = payments.location_key
)))
"""
"""An integrator id is unique in its location. A call does not know the location if the gateway has chosen it."""

_CALLS_OF_PAYMENT: Final = f"""
SELECT calls.facts FROM payments JOIN calls ON {_SAME_PAYMENT} WHERE payments.key = ? ORDER BY calls.number
"""  # noqa: S608  constant text
_EARLIER_TWIN: Final = """
SELECT earlier.facts FROM payments JOIN payments AS earlier
ON earlier.api_key = payments.api_key AND earlier.location_key IS payments.location_key
WHERE payments.key = ? AND earlier.number < payments.number ORDER BY earlier.number
"""
_UNMATCHED: Final = f"""
SELECT number, facts FROM calls
WHERE is_create AND outcome IN ('done', 'not_made') AND number > ?
AND NOT EXISTS (SELECT 1 FROM payments WHERE {_SAME_PAYMENT}) ORDER BY number LIMIT ?
"""  # noqa: S608  constant text
_PAYMENTS: Final = "SELECT number, facts FROM payments WHERE number > ? ORDER BY number LIMIT ?"


class ReconciliationTables:
    """The tables of one reconciliation. Its methods block, and only one thread at a time may use it."""

    def __init__(self) -> None:
        self._connection = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._connection.executescript(_SCHEMA)
        self._connection.execute("BEGIN")

    def add_payments(self, payments: Iterable[GatewayPayment]) -> None:
        """Add payments; one that was added before is ignored."""
        rows = ((each.key, each.api_key, each.location_key, _encode(each)) for each in payments)
        self._connection.executemany(
            "INSERT OR IGNORE INTO payments (key, api_key, location_key, facts) VALUES (?, ?, ?, ?)", rows
        )

    def add_calls(self, calls: Iterable[RecordedCall]) -> None:
        """Add calls."""
        rows = (
            (each.key, each.api_key, each.location_key, each.is_create, each.outcome, _encode(each)) for each in calls
        )
        self._connection.executemany(
            "INSERT INTO calls (key, api_key, location_key, is_create, outcome, facts) VALUES (?, ?, ?, ?, ?, ?)", rows
        )

    def payments(self, after: int, limit: int) -> Sequence[tuple[int, GatewayPayment]]:
        """Return a page of payments with their numbers, after a number."""
        return self._page(GatewayPayment, _PAYMENTS, after, limit)

    def unmatched_calls(self, after: int, limit: int) -> Sequence[tuple[int, RecordedCall]]:
        """Return a page of calls without a payment, with their numbers.

        They are done or were certainly not executed.
        """
        return self._page(RecordedCall, _UNMATCHED, after, limit)

    def calls_of(self, payment: GatewayPayment) -> Sequence[RecordedCall]:
        """Return the calls that made or changed a payment, the oldest first."""
        return self._select(RecordedCall, _CALLS_OF_PAYMENT, payment.key)

    def twins_of(self, payment: GatewayPayment) -> Sequence[GatewayPayment]:
        """Return the payments with the same integrator id that were added earlier."""
        return self._select(GatewayPayment, _EARLIER_TWIN, payment.key)

    def close(self) -> None:
        """Delete the tables."""
        self._connection.close()

    def _select(self, kind: type[T], query: str, *values: str) -> Sequence[T]:
        return [msgspec.json.decode(facts, type=kind) for (facts,) in self._connection.execute(query, values)]

    def _page(self, kind: type[T], query: str, *values: int) -> Sequence[tuple[int, T]]:
        rows = self._connection.execute(query, values)
        return [(number, msgspec.json.decode(facts, type=kind)) for number, facts in rows]


def _encode(facts: Any) -> str:
    return msgspec.json.encode(facts).decode()
