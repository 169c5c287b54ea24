"""Rejected rows as a Parquet file, with every value as text. It needs pyarrow."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Final, TextIO

__all__ = ["ParquetRejects"]

_GROUP: Final = 5000


class ParquetRejects:
    """Writes rows to a Parquet file, some thousand at a time.

    Args:
        file: the file; the bytes go to its buffer.
        columns: the names of the columns in order; the last is that of the problems.
    """

    def __init__(self, file: TextIO, columns: Sequence[str]) -> None:
        self._columns = columns
        self._arrow = import_module("pyarrow")
        parquet = import_module("pyarrow.parquet")
        self._schema = self._arrow.schema([(column, self._arrow.string()) for column in columns])
        self._writer = parquet.ParquetWriter(file.buffer, self._schema)
        self._waiting: list[dict[str, str | None]] = []

    def add(self, source: Mapping[str, Any], problems: Sequence[str]) -> None:
        """Write one row."""
        values = {**source, self._columns[-1]: "; ".join(problems)}
        self._waiting.append({name: _text(values.get(name)) for name in self._columns})
        if len(self._waiting) >= _GROUP:
            self._write()

    def finish(self) -> None:
        """Write the remaining rows and close the writer."""
        self._write()
        self._writer.close()

    def _write(self) -> None:
        self._writer.write_table(self._arrow.Table.from_pylist(self._waiting, schema=self._schema))
        self._waiting.clear()


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
