"""`ReconciliationTables`: the payments of the gateway and the calls of a ledger, joined in bounded memory.

SQLite keeps the tables in memory, or in a private temporary file if they are large. The file is deleted when closed.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

import msgspec

from gateway_async.ledger.reconciliation.comparison import GatewayPayment, RecordedCall

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

_PAYMENTS_WITH_CALLS: Final = f"""
SELECT payments.facts, calls.number, calls.facts FROM payments LEFT JOIN calls ON {_SAME_PAYMENT}
ORDER BY payments.number
"""  # noqa: S608  constant text
_EARLIER_TWINS: Final = """
SELECT earlier.facts FROM payments JOIN payments AS earlier
ON earlier.api_key = payments.api_key AND earlier.location_key IS payments.location_key
WHERE payments.key = ? AND earlier.number < payments.number ORDER BY earlier.number
"""
_CALLS_WITHOUT_PAYMENT: Final = f"""
SELECT facts FROM calls WHERE is_create AND outcome IN ('done', 'not_made')
AND NOT EXISTS (SELECT 1 FROM payments WHERE {_SAME_PAYMENT}) ORDER BY number
"""  # noqa: S608  constant text


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

    def payments_with_calls(self) -> Iterator[tuple[GatewayPayment, Sequence[RecordedCall]]]:
        """Yield each payment with its calls, the oldest first."""
        rows = self._connection.execute(_PAYMENTS_WITH_CALLS)
        for payment, found in groupby(rows, itemgetter(0)):
            calls = [msgspec.json.decode(call, type=RecordedCall) for _, _, call in sorted(found) if call is not None]
            yield msgspec.json.decode(payment, type=GatewayPayment), calls

    def calls_without_payment(self) -> Iterator[RecordedCall]:
        """Yield the calls that made no payment of the list: they are done, or were certainly not executed."""
        for (call,) in self._connection.execute(_CALLS_WITHOUT_PAYMENT):
            yield msgspec.json.decode(call, type=RecordedCall)

    def earlier_twins(self, payment: GatewayPayment) -> Sequence[GatewayPayment]:
        """The payments with the same integrator id that were added earlier."""
        rows = self._connection.execute(_EARLIER_TWINS, (payment.key,))
        return [msgspec.json.decode(twin, type=GatewayPayment) for (twin,) in rows]

    def close(self) -> None:
        """Delete the tables."""
        self._connection.close()


def _encode(facts: Any) -> str:
    return msgspec.json.encode(facts).decode()
