"""Record each payment before it is sent, and its outcome afterwards.

Contains the protocol of a ledger, and the ledger in an SQLite file with its store.
Start at `protocol.py`.
"""

from gateway_async.ledger.protocol import DONE, Intent, Ledger, Recovered

__all__ = ["DONE", "Intent", "Ledger", "Recovered"]
