"""One running gateway: its records in SQLite, its ids, and its postbacks on their way.

The law of this folder: what is committed outlives the request that brought it; no rule for a single noun stands here.
"""
