"""Execute calls: attempts, deadlines, lookups, the ledger and events.

Start at `execute.py`.
"""
