"""Tables in CSV, JSON Lines and Parquet: rejects in the input's format, vault ids, findings."""

import csv
import json
import re
from collections.abc import AsyncIterable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, TextIO

import attrs

from gateway_async._extras import import_extra
from gateway_async.migration.journal.protocol import JournalEntry
from gateway_async.migration.output.files import AtomicFile
from gateway_async.migration.rows.columns import PROBLEMS, SURPLUS, Columns, source_names
from gateway_async.migration.rows.values import cell_text
from gateway_async.migration.verify import Finding

FORMULA_NOTE: Final = "a leading ' keeps a cell of this row from being a formula"
"""Last of the `problems` of a row with an escaped cell. Only in such rows apostrophes are removed again."""

_FORMULA: Final = re.compile("[\\s\u200b\ufeff]*[=+\\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n]")
"""Beginnings that make a spreadsheet calculate, including full-width signs, or skip text before such a sign."""

_NUMBER: Final = re.compile(r"[+-]?[0-9]+(?:[.,][0-9]+)*(?:[eE][+-]?[0-9]+)?")


def escape_formula(cell: str) -> str:
    """Put an apostrophe before a cell that a spreadsheet would run; a number such as -5 or +49301234 stays as it is.

    A cell that begins with apostrophes before such a sign gets one more, so that no two cells become the same.
    """
    return f"'{cell}" if _is_formula(cell) else cell


def unescape_formulas(cells: Sequence[str], problems: str) -> Sequence[str]:
    """Remove the apostrophes of `escape_formula` from a row with its note."""
    if not problems.endswith(FORMULA_NOTE):
        return cells
    return [cell[1:] if cell.startswith("'") and _is_formula(cell) else cell for cell in cells]


def csv_writer(file: TextIO, delimiter: str) -> Any:
    """Create a `csv.writer` that ends lines with LF.

    It also quotes cells with CR, which would otherwise begin a new line.
    """
    return csv.writer(_LineFeeds(file), delimiter=delimiter, lineterminator="\r\n")


class _LineFeeds:
    """Ends lines in LF. Before Python 3.13 `csv` quotes only the line ends that it writes itself."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, line: str) -> int:
        return self._file.write(line.removesuffix("\r\n") + "\n")


def _is_formula(cell: str) -> bool:
    bare = cell.lstrip("'")
    return bool(_FORMULA.match(bare)) and not _NUMBER.fullmatch(bare.strip())


_ROWS_PER_GROUP: Final = 5000


@attrs.frozen(kw_only=True)
class InputFormat:
    """The format of an input, `"csv"`, `"jsonl"` or `"parquet"`, in which its rejects are written.

    JSON Lines have no `columns`.
    """

    format: str
    mapping: Columns = attrs.field(factory=Columns)
    columns: Sequence[str] = ()
    delimiter: str = ","
    encoding: str = "utf-8"


class _RowWriter:
    """Writes each row at once."""

    def finish(self) -> None:
        """Do nothing."""


class _CsvWriter(_RowWriter):
    def __init__(self, file: TextIO, input_format: InputFormat) -> None:
        self._names = source_names(_columns(input_format)[:-1])
        self._rows = csv_writer(file, input_format.delimiter)
        self._rows.writerow(escape_formula(name.strip()) for name in _columns(input_format))

    def add(self, source: Mapping[str, Any], problems: Sequence[str]) -> None:
        cells = [source.get(name, "") for name in self._names] + [*source.get(SURPLUS, ())]
        escaped = [escape_formula(cell) for cell in cells]
        notes = [FORMULA_NOTE] if escaped != cells else []
        self._rows.writerow([*escaped, escape_formula("; ".join([*problems, *notes]))])


class _JsonLinesWriter(_RowWriter):
    def __init__(self, file: TextIO, _input_format: InputFormat) -> None:
        self._file = file

    def add(self, source: Mapping[str, Any], problems: Sequence[str]) -> None:
        self._file.write(json.dumps({**source, PROBLEMS: list(problems)}, ensure_ascii=False, default=str) + "\n")


class _ParquetWriter:
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
        self._pending.append({column: _text_of(values.get(column)) for column in self._columns})
        if len(self._pending) >= _ROWS_PER_GROUP:
            self._write()

    def finish(self) -> None:
        self._write()
        self._writer.close()

    def _write(self) -> None:
        self._writer.write_table(self._arrow.Table.from_pylist(self._pending, schema=self._schema))
        self._pending.clear()


def _text_of(value: Any) -> str | None:
    """Return the text that is read as the same value again; None for NaN, which means an empty cell."""
    match value:
        case int() | float() | Decimal() | date():
            return cell_text(value) or None
        case bytes():
            return value.decode(errors="backslashreplace")
        case _:
            return None if value is None else str(value)


def _columns(input_format: InputFormat) -> list[str]:
    return [*(column for column in input_format.columns if column != PROBLEMS), PROBLEMS]


WRITERS: Final = {"csv": _CsvWriter, "jsonl": _JsonLinesWriter, "parquet": _ParquetWriter}
"""Format → the class that writes rows and their problems to a file in an `InputFormat`."""


_FIELDS: Final = ("key", "account_vault_id", "account_vault_api_id", "last_four", "brand")
_FINDING_FIELDS: Final = ("key", "line", "account_vault_id", "finding", "details")
_DELIMITERS: Final[Mapping[str, str]] = {".csv": ",", ".tsv": "\t"}
_JSON_LINES: Final = (".jsonl", ".ndjson")


async def write_vault_ids(path: Path, entries: AsyncIterable[JournalEntry]) -> int:
    """Write the vault id of each stored row as CSV or JSON Lines. Return the number of rows.

    In CSV, text that a spreadsheet would run as a formula has an apostrophe before it.

    Raises:
        OSError: it cannot be written.
    """
    with AtomicFile(path, "utf-8") as file:
        write, number = _writer(path, file, _FIELDS), 0
        async for entry in entries:
            write((entry.key, entry.vault_id, entry.api_id, entry.last_four, entry.brand))
            number += 1
        return number


@contextmanager
def write_findings(path: Path) -> Iterator[Callable[[Finding], object]]:
    """Open a file of findings, CSV or JSON Lines. Yield the function that writes one, or raises an `OSError`."""
    with AtomicFile(path, "utf-8") as file:
        write = _writer(path, file, _FINDING_FIELDS)

        def write_finding(finding: Finding) -> None:
            line = None if finding.line is None else str(finding.line)
            write((finding.key, line, finding.vault_id, finding.verdict, "; ".join(finding.details)))

        yield write_finding


def _writer(path: Path, file: TextIO, fields: Sequence[str]) -> Callable[[Sequence[str | None]], object]:
    if path.suffix.lower() in _JSON_LINES:
        return lambda values: file.write(json.dumps(dict(zip(fields, values, strict=True)), ensure_ascii=False) + "\n")
    rows = csv_writer(file, _DELIMITERS[path.suffix.lower()])
    rows.writerow(fields)
    return lambda values: rows.writerow(value and escape_formula(value) for value in values)
