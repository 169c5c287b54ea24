"""Escaping of CSV cells that a spreadsheet would run as formulas."""

import csv
import re
from collections.abc import Sequence
from typing import Any, Final, TextIO

__all__ = ["FORMULA_NOTE", "csv_writer", "escape_formula", "unescape_formulas"]

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
    """Return a `csv.writer` that ends lines in LF.

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
