"""Record the state of each row, so that no row is stored twice: in SQLite or PostgreSQL. Start at `protocol.py`."""
