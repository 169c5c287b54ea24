"""Compare the payments of a ledger with those of the gateway.

`comparison.py` decides about one payment, and is pure. `tables.py` keeps both sides in temporary tables.
Start at `reconciler.py`.
"""
