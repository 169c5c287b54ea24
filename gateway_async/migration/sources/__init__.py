"""Files as sources of rows: CSV, JSON Lines, Parquet.

Memory is bounded, whatever the file holds. A record that cannot be read becomes one row with its problem.
"""

from gateway_async.migration.sources.files import Format, Rows, read_rows
from gateway_async.migration.sources.records import Shard
from gateway_async.migration.sources.shards import shards

__all__ = ["Format", "Rows", "Shard", "read_rows", "shards"]
