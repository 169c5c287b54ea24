"""Execute calls: attempts, deadlines, lookups, the ledger and events.

Contains the executor and its parts; `terminals/` has what only terminal calls need.
Start at `executor.py`.
"""
