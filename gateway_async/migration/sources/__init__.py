"""Files as sources of rows: CSV, JSON Lines, Parquet.

The law of these files: memory is bounded whatever the file holds, and what cannot be read is one row that says so.
"""

from gateway_async.migration.sources.cutting import shards
from gateway_async.migration.sources.files import Format, Rows, read_rows
from gateway_async.migration.sources.shard import Shard

__all__ = ["Format", "Rows", "Shard", "read_rows", "shards"]
