"""Write to SQLite, PostgreSQL and Redis.

Contains what the ledger, the inbox, the journal and the leases share: running of operations, group commit, opening of
files, file modes and error texts.
Start at `sql.py`.
"""
