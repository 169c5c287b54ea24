"""Print rows: as JSON lines for programs, as a table on a terminal, as tab-separated values in a pipe."""

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from itertools import islice
from typing import Any

import typer
from rich.console import Console
from rich.text import Text

__all__ = ["NONE", "TableRow", "is_terminal", "print_advice", "print_json", "print_table"]

TableRow = dict[str, Any]

NONE = "–"
"""The text of a cell without a value; in a pipe it is empty."""

_MAX_ROWS = 500
"""The most rows that a table on a terminal shows; other output has no limit."""

_GAP = "  "


def is_terminal() -> bool:
    """Return whether a person reads the standard output."""
    return Console().is_terminal


def print_json(rows: Iterable[TableRow]) -> None:
    """Print one JSON object on each line, with times in ISO 8601."""
    for row in rows:
        typer.echo(json.dumps(row, default=datetime.isoformat))


def print_table(
    rows: Sequence[TableRow],
    headings: Sequence[str],
    cells: Callable[[TableRow], Iterable[Text]],
    nothing: str,
    *,
    total: int | None = None,
) -> None:
    """Print rows as a table on a terminal, or `nothing` without rows.

    Ids are whole at any width: a terminal wraps long lines itself. In a pipe there are tab-separated values without
    headings.

    Args:
        rows: the rows.
        headings: the headings of the columns.
        cells: returns the texts of a row.
        nothing: the line without rows.
        total: the number of rows, if `rows` has only the first of them.
    """
    if not is_terminal():
        for row in rows:
            sys.stdout.write("\t".join(_value(cell.plain) for cell in cells(row)) + "\n")
        return
    console = Console()
    if not rows:
        console.print(Text(nothing, style="green"), soft_wrap=True)
        return
    head = [Text(heading, style="bold") for heading in headings]
    _print_aligned(console, [head, *([*cells(row)] for row in islice(rows, _MAX_ROWS))])
    more = (total or len(rows)) - min(len(rows), _MAX_ROWS)
    if more > 0:
        console.print(f"… and {more:,} more (--json lists all)")


def print_advice(advice: str) -> None:
    """Print a remark for a person; nothing in a pipe."""
    if is_terminal():
        Console().print(Text(advice, style="dim"), soft_wrap=True)


def _print_aligned(console: Any, lines: list[list[Text]]) -> None:
    widths = [max(cell.cell_len for cell in column) for column in zip(*lines, strict=True)]
    for line in lines:
        for cell, width in zip(line[:-1], widths, strict=False):
            cell.pad_right(width - cell.cell_len)
        console.print(Text(_GAP).join(line), soft_wrap=True)


def _value(text: str) -> str:
    """Return a cell for a pipe: a tab or a line break in it would make it two."""
    return "" if text == NONE else " ".join(text.split())
