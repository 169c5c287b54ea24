"""Record the state of each row, so that no row is stored twice.

Contains the protocol of a journal, and the journals in SQLite and PostgreSQL.
Start at `protocol.py`.
"""
