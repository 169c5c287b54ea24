"""Print records as JSON, with secrets and bank data masked."""

import json
import sys

import typer

from gateway_async.models.record import Record

__all__ = ["print_record"]


def print_record(record: Record, *, compact: bool = False) -> None:
    """Print a record: in several lines on a terminal, in one line elsewhere or if `compact`."""
    indent = 2 if sys.stdout.isatty() and not compact else None
    typer.echo(json.dumps(record.to_dict(), indent=indent, ensure_ascii=False))
