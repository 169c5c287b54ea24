"""Print rows as JSON lines: one JSON object on each line, for programs."""

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any

import typer

__all__ = ["print_json"]


def print_json(rows: Iterable[dict[str, Any]]) -> None:
    """Print rows as JSON lines, with times in ISO 8601."""
    for row in rows:
        typer.echo(json.dumps(row, default=datetime.isoformat))
