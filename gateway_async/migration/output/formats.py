"""The format of an input, and writers of rejects in the same format: CSV, JSON Lines or Parquet."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TextIO

import attrs

from gateway_async._kernel import import_extra
from gateway_async.migration.output.formulas import FORMULA_NOTE, csv_writer, escape_formula
from gateway_async.migration.rows.columns import PROBLEMS, SURPLUS, Columns, source_names

__all__ = ["InputFormat", "Writer", "create_writer"]

_ROWS_PER_GROUP: Final = 5000


@attrs.frozen(kw_only=True)
class InputFormat:
    """The format of an input, so that its rejects can be written in the same format.

    Attributes:
        format: `"csv"`, `"jsonl"` or `"parquet"`.
        mapping: the mapping of its columns to fields.
        columns: the names in its header, in order; not used for JSON Lines.
        delimiter: delimiter of CSV.
        encoding: encoding of the text.
    """

    format: str
    mapping: Columns = attrs.field(factory=Columns)
    columns: Sequence[str] = ()
    delimiter: str = ","
    encoding: str = "utf-8"


class Writer:
    """Writes rows in one format."""

    def add(self, source: Mapping[str, Any], problems: Sequence[str]) -> None:
        """Write one row."""
        raise NotImplementedError

    def finish(self) -> None:
        """Write the remaining rows, if the format collects them."""


class _CsvWriter(Writer):
    """Writes CSV in the input's dialect."""

    def __init__(self, file: TextIO, input_format: InputFormat) -> None:
        self._names = source_names(_columns(input_format)[:-1])
        self._rows = csv_writer(file, input_format.delimiter)
        self._rows.writerow(escape_formula(name.strip()) for name in _columns(input_format))

    def add(self, source: Mapping[str, Any], problems: Sequence[str]) -> None:
        cells = [source.get(name, "") for name in self._names] + [*source.get(SURPLUS, ())]
        escaped = [escape_formula(cell) for cell in cells]
        notes = [FORMULA_NOTE] if escaped != cells else []
        self._rows.writerow([*escaped, escape_formula("; ".join([*problems, *notes]))])


class _JsonLinesWriter(Writer):
    """Writes one object a line."""

    def __init__(self, file: TextIO, _input_format: InputFormat) -> None:
        self._file = file

    def add(self, source: Mapping[str, Any], problems: Sequence[str]) -> None:
        self._file.write(json.dumps({**source, PROBLEMS: list(problems)}, ensure_ascii=False, default=str) + "\n")


class _ParquetWriter(Writer):
    """Writes rows to a Parquet file with every value as text, some thousand at a time. It needs pyarrow."""

    def __init__(self, file: TextIO, input_format: InputFormat) -> None:
        self._arrow = import_extra("pyarrow", extra="parquet", user="a Parquet file")
        self._columns = _columns(input_format)
        self._schema = self._arrow.schema([(column, self._arrow.string()) for column in self._columns])
        parquet = import_extra("pyarrow.parquet", extra="parquet", user="a Parquet file")
        self._writer = parquet.ParquetWriter(file.buffer, self._schema)
        self._pending: list[dict[str, str | None]] = []

    def add(self, source: Mapping[str, Any], problems: Sequence[str]) -> None:
        values = {**source, PROBLEMS: "; ".join(problems)}
        texts = (None if value is None else str(value) for value in map(values.get, self._columns))
        self._pending.append(dict(zip(self._columns, texts, strict=True)))
        if len(self._pending) >= _ROWS_PER_GROUP:
            self._write()

    def finish(self) -> None:
        self._write()
        self._writer.close()

    def _write(self) -> None:
        self._writer.write_table(self._arrow.Table.from_pylist(self._pending, schema=self._schema))
        self._pending.clear()


def _columns(input_format: InputFormat) -> list[str]:
    return [*(column for column in input_format.columns if column != PROBLEMS), PROBLEMS]


_WRITERS: Final[Mapping[str, Callable[[TextIO, InputFormat], Writer]]] = {
    "csv": _CsvWriter,
    "jsonl": _JsonLinesWriter,
    "parquet": _ParquetWriter,
}


def create_writer(file: TextIO, input_format: InputFormat) -> Writer:
    """Return a writer of rows and their problems in a format."""
    return _WRITERS[input_format.format](file, input_format)
