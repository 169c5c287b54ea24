"""`shards`: split a file into parts of whole records, so that several workers can read it at once."""

from contextlib import closing
from itertools import chain
from os import PathLike

from gateway_async.errors import InvalidRequestError
from gateway_async.migration.rows.columns import Columns
from gateway_async.migration.sources.files import Format, Rows, read_rows
from gateway_async.migration.sources.parquet import parquet_shards
from gateway_async.migration.sources.records import RawRecord, Shard

__all__ = ["shards"]


def shards(
    source: str | PathLike[str],
    rows_per_shard: int,
    *,
    format: Format | None = None,  # noqa: A002  the usual name
    columns: Columns | None = None,
    encoding: str = "utf-8",
    delimiter: str | None = None,
    quotechar: str | None = '"',
) -> list[Shard]:
    """Split a file into parts of whole records, for `read_rows(..., shard=…)`.

    It reads the file once and blocks meanwhile.

    Args:
        source: a path.
        rows_per_shard: records of each part; for Parquet the minimum, in whole row groups.
        format: as for `read_rows`, like the following arguments.
        columns: the mapping of its columns to fields.
        encoding: encoding of a text file.
        delimiter: delimiter of CSV.
        quotechar: quote character of CSV.

    Raises:
        InvalidRequestError: the file cannot be read, or is in an encoding that cannot be split.
    """
    if rows_per_shard < 1:
        raise InvalidRequestError("rows_per_shard: must be 1 or more")
    rows = read_rows(
        source, format=format, columns=columns, encoding=encoding, delimiter=delimiter, quotechar=quotechar
    )
    if rows.format == "parquet":
        return parquet_shards(source, rows_per_shard)
    return _split(rows, rows_per_shard)


def _split(rows: Rows, rows_per_shard: int) -> list[Shard]:
    with closing(rows.open_text(sharded=True)) as parser:
        found: list[Shard] = []
        last: RawRecord | None = None
        count = 0
        for record in chain.from_iterable(parser.records()):
            if last is not None and count == rows_per_shard:
                found.append(Shard(last.start, record.start, last.line, count))
                last, count = None, 0
            last, count = last or record, count + 1
        return found if last is None else [*found, Shard(last.start, parser.position, last.line, count)]
