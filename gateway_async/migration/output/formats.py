"""The format of an input, and writers of rejects in the same format: CSV, JSON Lines or Parquet."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol, TextIO

import attrs

from gateway_async.migration.output.formulas import NOTE, csv_writer, escape_formula
from gateway_async.migration.rows.columns import PROBLEMS, Columns

__all__ = ["Shape", "Writer", "writer_of"]

_SURPLUS: Final = ""
"""Key of a row's surplus cells, those beyond the last column."""


@attrs.frozen(kw_only=True)
class Shape:
    """The format of an input, so that its rejects can be written in the same format.

    Attributes:
        format: `"csv"`, `"jsonl"` or `"parquet"`.
        fit: the mapping of its columns to fields.
        columns: the names in its header, in order; not used for JSON Lines.
        delimiter: delimiter of CSV.
        encoding: encoding of the text.
    """

    format: str
    fit: Columns = attrs.field(factory=Columns)
    columns: Sequence[str] = ()
    delimiter: str = ","
    encoding: str = "utf-8"


class Writer(Protocol):
    """Writes rows in one format."""

    def add(self, source: Mapping[str, Any], problems: Sequence[str]) -> None:
        """Write one row."""
        ...

    def finish(self) -> None:
        """Write the remaining rows."""
        ...


class _Separated:
    """Writes CSV in the input's dialect."""

    def __init__(self, file: TextIO, shape: Shape) -> None:
        self._names = _columns(shape)[:-1]
        self._rows = csv_writer(file, shape.delimiter)
        self._rows.writerow(map(escape_formula, _columns(shape)))

    def add(self, source: Mapping[str, Any], problems: Sequence[str]) -> None:
        cells = [source.get(name, "") for name in self._names] + [*source.get(_SURPLUS, ())]
        escaped = [escape_formula(cell) for cell in cells]
        notes = [NOTE] if escaped != cells else []
        self._rows.writerow([*escaped, escape_formula("; ".join([*problems, *notes]))])

    def finish(self) -> None:
        """Do nothing: all rows are written."""


class _JsonLines:
    """Writes one object a line."""

    def __init__(self, file: TextIO, _shape: Shape) -> None:
        self._file = file

    def add(self, source: Mapping[str, Any], problems: Sequence[str]) -> None:
        self._file.write(json.dumps({**source, PROBLEMS: list(problems)}, ensure_ascii=False, default=str) + "\n")

    def finish(self) -> None:
        """Do nothing: all rows are written."""


def _parquet(file: TextIO, shape: Shape) -> Writer:
    from gateway_async.migration.output.parquet_rejects import ParquetRejects

    return ParquetRejects(file, _columns(shape))


def _columns(shape: Shape) -> list[str]:
    return [*(column for column in shape.columns if column != PROBLEMS), PROBLEMS]


_KINDS: Final[Mapping[str, Callable[[TextIO, Shape], Writer]]] = {
    "csv": _Separated,
    "jsonl": _JsonLines,
    "parquet": _parquet,
}


def writer_of(file: TextIO, shape: Shape) -> Writer:
    """Return a writer of rows in a format, each with its problems in an additional column."""
    return _KINDS[shape.format](file, shape)
