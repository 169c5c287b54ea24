"""The files of a migration: vault ids, rejects and reports. The page is live, too. Start at `summary.py`."""
