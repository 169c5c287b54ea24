"""Store postbacks until they are handled.

Contains the protocol of an inbox and its implementations in SQLite and PostgreSQL.
Start at `protocol.py`.
"""
