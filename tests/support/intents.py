"""Intents of payments, as a client records them."""

from datetime import UTC, datetime, timedelta

from gateway_async import Intent

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
SALE = Intent(
    id="first",
    call="POST /v2/transactions",
    resource="transactions",
    api_id="mine",
    location_id="loc",
    terminal_id="till",
    sent_at=NOON,
    conclusive_at=NOON + timedelta(seconds=50, microseconds=1),
    sent={"transaction_amount": "12.50"},
    outcome_query={"kind": "record", "expected": {"transaction_amount": "12.50"}},
)
BARE = Intent(
    id="second",
    call="PUT /v2/transactions/t1",
    resource="transactions",
    api_id=None,
    location_id=None,
    terminal_id=None,
    sent_at=NOON,
    conclusive_at=datetime(2099, 1, 1, tzinfo=UTC),
    sent={},
    outcome_query=None,
)
