"""Rows of Parquet files, read with pyarrow one row group at a time."""

from collections.abc import Iterator, Sequence
from importlib import import_module
from os import PathLike
from typing import Any, Final

from gateway_async.errors import InvalidRequestError
from gateway_async.migration.rows.builder import build_mapped_row, unreadable_row
from gateway_async.migration.rows.columns import Columns
from gateway_async.migration.rows.row import VaultRow
from gateway_async.migration.sources.boundaries import Shard
from gateway_async.migration.sources.byte_source import STDIN, Source, open_file

_BATCH: Final = 256


class ParquetRows:
    """The rows of a Parquet file. Memory holds the pages of one row group and some hundred rows.

    Raises:
        InvalidRequestError: pyarrow is missing, the file is not Parquet or is cut off, or its columns cannot be mapped.
    """

    def __init__(self, given: Source, columns: Columns, *, shard: Shard | None = None) -> None:
        self._file = _open_file(given)
        self._owns_file = isinstance(given, str | PathLike)
        self._groups = range(shard.start, shard.end) if shard else range(self._file.num_row_groups)
        self._line = shard.first_line if shard else 1
        self._constants = columns.constants
        self.columns: tuple[str, ...] = tuple(self._file.schema_arrow.names)
        self.total = sum(self._file.metadata.row_group(group).num_rows for group in self._groups)
        self.position = 0
        try:
            self._mapping = columns.map_header(self.columns)
        except InvalidRequestError:
            self.close()
            raise
        self.fields = self._mapping.fields_by_column(self.columns)

    def batches(self) -> Iterator[Sequence[VaultRow]]:
        """Yield the rows in batches; for a row group that cannot be read, one row with the problem."""
        for group in self._groups:
            first, size = self._line, self._file.metadata.row_group(group).num_rows
            try:
                for batch in self._file.iter_batches(_BATCH, row_groups=[group], use_threads=False):
                    yield self._rows(batch)
            except (OSError, ValueError, _arrow().lib.ArrowException) as error:
                rows = f"rows {self._line} to {first + size - 1}"
                kind = type(error).__name__  # the library's message may hold data
                yield [unreadable_row(f"row group {group + 1}, {rows}, cannot be read ({kind})", line=self._line)]
            self._line = first + size

    def close(self) -> None:
        """Close the file if it was opened here."""
        self._file.close(force=self._owns_file)

    def _rows(self, batch: Any) -> list[VaultRow]:
        columns = [_values(column) for column in batch.columns]
        rows = [self._row(self._line + index, cells) for index, cells in enumerate(zip(*columns, strict=True))]
        self._line += len(rows)
        self.position += len(rows)
        return rows

    def _row(self, line: int, cells: Sequence[Any]) -> VaultRow:
        source = dict(zip(self.columns, cells, strict=True))
        return build_mapped_row(self._mapping, cells, self._constants, line=line, source=source)


def parquet_shards(given: Source, rows_per_shard: int) -> list[Shard]:
    """Combine row groups into shards of at least `rows_per_shard` rows."""
    file = _open_file(given)
    shards, start, line, rows = [], 0, 1, 0
    for group in range(file.num_row_groups):
        rows += file.metadata.row_group(group).num_rows
        if rows >= rows_per_shard or group == file.num_row_groups - 1:
            shards.append(Shard(start, group + 1, line, rows))
            start, line, rows = group + 1, line + rows, 0
    file.close(force=True)
    return shards


def _values(column: Any) -> list[Any]:
    """Return a column's values. Bytes become text; those that are not UTF-8 are rejected later."""
    try:
        values = column.to_pylist()
    except UnicodeDecodeError:
        values = column.cast("binary").to_pylist()
    return [_decode(value) if isinstance(value, bytes) else value for value in values]


def _decode(value: bytes) -> str | bytes:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value


def _arrow() -> Any:
    try:
        import_module("pyarrow.parquet")
    except ImportError:
        raise InvalidRequestError("format: Parquet needs pyarrow: pip install 'gateway-async[parquet]'") from None
    return import_module("pyarrow")


def _open_file(given: Source) -> Any:
    arrow = _arrow()
    if given == STDIN:
        raise InvalidRequestError("source: Parquet cannot be read from standard input (expected the path of a file)")
    file, _ = open_file(given)
    try:
        return arrow.parquet.ParquetFile(file, pre_buffer=False)
    except (OSError, ValueError, arrow.lib.ArrowException):
        if file is not given:
            file.close()
        shown = "the file" if file is given else given
        raise InvalidRequestError(f"source: {shown} is not a complete Parquet file") from None
