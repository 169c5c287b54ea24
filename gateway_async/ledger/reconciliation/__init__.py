"""Compare the payments in a ledger with the gateway's.

`comparison.py` decides about one payment, and is pure. `tables.py` joins both sides in bounded memory.
Start at `reconciler.py`.
"""

from gateway_async.ledger.reconciliation.result import (
    BatchTotals,
    Discrepancy,
    DiscrepancyKind,
    PaymentTotals,
    Reconciliation,
)

__all__ = ["BatchTotals", "Discrepancy", "DiscrepancyKind", "PaymentTotals", "Reconciliation"]
