"""A part of a file that one worker reads."""

import attrs

__all__ = ["Shard"]


@attrs.frozen
class Shard:
    """Consecutive whole records of a file. It can be pickled, and holds no content of them.

    Attributes:
        start: the first byte; for Parquet the first row group.
        end: the byte after the last, or the row group after the last.
        first_line: the number of its first line; for Parquet of its first row.
        rows: number of its records, including blank lines.
    """

    start: int
    end: int
    first_line: int
    rows: int
