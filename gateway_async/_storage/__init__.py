"""Write to SQLite, PostgreSQL and Redis.

Contains what the ledger, the inbox, the journal and the leases share: group commit, opening of files, file modes and
error texts.
Start at `group_commit.py`.
"""
