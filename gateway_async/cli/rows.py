"""Print rows: as JSON lines for programs, or as a table for people."""

import json
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

__all__ = ["Row", "print_json", "print_table"]

Row = dict[str, Any]

_MAX_ROWS = 500
"""The most rows that a table shows; JSON output has no limit."""


def print_json(rows: Iterable[Row]) -> None:
    """Print one JSON object on each line, with times in ISO 8601."""
    for row in rows:
        typer.echo(json.dumps(row, default=datetime.isoformat))


def print_table(
    rows: Sequence[Row], headings: Sequence[str], cells: Callable[[Row], Iterable[Text]], nothing: str
) -> None:
    """Print the first 500 rows as a table, or `nothing` without rows."""
    console = Console()
    if not rows:
        console.print(Text(nothing, style="green"), soft_wrap=True)
        return
    table = Table(*headings, box=None)
    for row in rows[:_MAX_ROWS]:
        table.add_row(*cells(row))
    console.print(table)
    if len(rows) > _MAX_ROWS:
        console.print(f"… and {len(rows) - _MAX_ROWS} more (--json lists all)")
