"""How an input is written, and rows written like it: CSV of its dialect, JSON Lines or Parquet."""

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol, TextIO

import attrs

from gateway_async.migration.columns import PROBLEMS, Columns

__all__ = ["Shape", "Writer", "writer_of"]

_SURPLUS: Final = ""
"""Where a row has the cells for which there is no column."""


@attrs.frozen(kw_only=True)
class Shape:
    """How an input is written, so that its rejects can be written like it.

    Attributes:
        format: `"csv"`, `"jsonl"` or `"parquet"`.
        fit: which of its columns is which field.
        columns: the names in its header, in order; of no use for JSON Lines.
        delimiter: of CSV.
        encoding: of the text.
    """

    format: str
    fit: Columns = attrs.field(factory=Columns)
    columns: Sequence[str] = ()
    delimiter: str = ","
    encoding: str = "utf-8"


class Writer(Protocol):
    """Rows of one format."""

    def add(self, source: Mapping[str, Any], problems: Sequence[str]) -> None:
        """Write one."""
        ...

    def finish(self) -> None:
        """Write what is left."""
        ...


class _Separated:
    """CSV, of the input's dialect."""

    def __init__(self, file: TextIO, shape: Shape) -> None:
        self._names = _columns(shape)[:-1]
        self._rows = csv.writer(file, delimiter=shape.delimiter, lineterminator="\n")
        self._rows.writerow(_columns(shape))

    def add(self, source: Mapping[str, Any], problems: Sequence[str]) -> None:
        cells = [source.get(name, "") for name in self._names]
        self._rows.writerow([*cells, *source.get(_SURPLUS, ()), "; ".join(problems)])

    def finish(self) -> None:
        """All is written."""


class _JsonLines:
    """One object for each line."""

    def __init__(self, file: TextIO, _shape: Shape) -> None:
        self._file = file

    def add(self, source: Mapping[str, Any], problems: Sequence[str]) -> None:
        self._file.write(json.dumps({**source, PROBLEMS: list(problems)}, ensure_ascii=False, default=str) + "\n")

    def finish(self) -> None:
        """All is written."""


def _parquet(file: TextIO, shape: Shape) -> Writer:
    from gateway_async.migration._parquet_rejects import ParquetRows

    return ParquetRows(file, _columns(shape))


def _columns(shape: Shape) -> list[str]:
    return [*(column for column in shape.columns if column != PROBLEMS), PROBLEMS]


_KINDS: Final[Mapping[str, Callable[[TextIO, Shape], Writer]]] = {
    "csv": _Separated,
    "jsonl": _JsonLines,
    "parquet": _parquet,
}


def writer_of(file: TextIO, shape: Shape) -> Writer:
    """What writes rows of a shape, each with its problems in one more column."""
    return _KINDS[shape.format](file, shape)
