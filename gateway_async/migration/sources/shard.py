"""A part of a file that one worker reads."""

import attrs

__all__ = ["Shard"]


@attrs.frozen
class Shard:
    """Whole records of a file, one after another. It pickles, and holds nothing of what is in them.

    Attributes:
        start: the first byte; of Parquet the first row group.
        end: the byte behind the last, or the row group.
        first_line: the number of its first line, or of the first row of Parquet.
        rows: how many records it has, blank lines too.
    """

    start: int
    end: int
    first_line: int
    rows: int
