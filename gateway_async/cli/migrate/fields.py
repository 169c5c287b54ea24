"""`gateway-async migrate fields`: the fields that a column can fill."""

import json
from typing import Annotated

import attrs
import typer
from rich.text import Text

from gateway_async.cli.table_output import NONE, TableRow, print_advice, print_table
from gateway_async.migration.rows.fields import FieldFacts, field_list

__all__ = ["fields"]

_HEADINGS = ("field", "required for", "length", "content")
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
    if as_json:
        for facts in field_list():
            typer.echo(json.dumps(attrs.asdict(facts)))
        return
    print_table([{"facts": facts} for facts in field_list()], _HEADINGS, _cells, "")
    print_advice(f"\n{_KEY}")


def _cells(row: TableRow) -> list[Text]:
    facts: FieldFacts = row["facts"]
    return [Text(cell) for cell in (facts.name, facts.required or NONE, _length(facts), facts.meaning)]


def _length(facts: FieldFacts) -> str:
    if facts.maximum is None:
        return NONE
    return str(facts.maximum) if facts.minimum == facts.maximum else f"{facts.minimum} to {facts.maximum}"
