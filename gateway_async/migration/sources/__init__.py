"""Files as sources of rows: CSV, JSON Lines, Parquet.

Memory is bounded, whatever the file holds. A record that cannot be read becomes one row with its problem.
"""
