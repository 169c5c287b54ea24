"""Record each payment before it is sent, and its outcome afterwards.

Contains the protocol of a ledger, the ledgers in SQLite and PostgreSQL with their stores, and the
reconciliation with the gateway.
Start at `protocol.py`.
"""

from gateway_async.ledger.protocol import DONE, Intent, Ledger, ReadableLedger, Recovered, StoredIntent

__all__ = ["DONE", "Intent", "Ledger", "ReadableLedger", "Recovered", "StoredIntent"]
