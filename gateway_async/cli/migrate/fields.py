"""`gateway-async migrate fields`: the fields that a column can fill."""

import json
from typing import TYPE_CHECKING, Annotated

import attrs
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from gateway_async.migration.rows.field_list import FieldFacts

__all__ = ["fields"]

_KEY = (
    "The key identifies a row, also in the journal. It is the column key or the one given by --key, never the card "
    "number; without it account_vault_api_id is the key."
)


def fields(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print one line of JSON for each field.")] = False,
) -> None:
    """List the fields of an account vault: when each is required, its length and its content.

    A column whose name is a field needs no --map; case, blanks and dashes do not matter.
    """
    from gateway_async.migration.rows.field_list import field_list

    if as_json:
        for facts in field_list():
            typer.echo(json.dumps(attrs.asdict(facts)))
        return
    table = Table("field", "required for", "length", "content", box=None, padding=(0, 2, 0, 0))
    for facts in field_list():
        cells = (facts.name, facts.required or "–", _length(facts), facts.meaning)
        table.add_row(*(Text(cell, overflow="fold") for cell in cells))
    console = Console()
    console.print(table)
    console.print(Text(f"\n{_KEY}", style="dim"))


def _length(facts: "FieldFacts") -> str:
    if facts.maximum is None:
        return "–"
    return str(facts.maximum) if facts.minimum == facts.maximum else f"{facts.minimum} to {facts.maximum}"
