"""`gateway-async migrate journal` and `migrate fields`: the rows of a migration, and the fields of a column."""

from contextlib import aclosing
from typing import Annotated, Any, Final

import anyio
import attrs
import typer
from rich.text import Text

from gateway_async.cli.command import AsJson
from gateway_async.cli.migrate.options import exit_on_usage_error, open_journal
from gateway_async.cli.output import NONE, TableRow, is_terminal, print_advice, print_json, print_table
from gateway_async.migration import Journal, JournalEntry
from gateway_async.migration.journal.protocol import RowState, iterate_entries
from gateway_async.migration.report import STATES, Totals
from gateway_async.migration.rows.fields import FieldFacts, field_list

MAX_SHOWN_ROWS = 500
"""Maximum rows of a table on a terminal; other output has no limit."""

_HEADINGS: Final = ("key", "line", "changed at (UTC)", "account", "reasons")
_FIELD_HEADINGS: Final = ("field", "required for", "length", "content")
_KEY: Final = (
    "The key identifies a row, also in the journal. It is the column key or the one given by --key, never the card "
    "number; without it account_vault_api_id is the key."
)

ROW_COLORS = {"stored": "green", "rejected": "red", "repeated": "red", "unknown": "yellow", "sending": "yellow"}


@attrs.frozen(kw_only=True, repr=False)
class JournalCommand:
    """Count the rows of a migration by state, or list them.

    It sends nothing and changes nothing. Of a card the journal contains only the last four digits and the brand.

    Exit status:
    - 0: the journal was read
    - 2: the journal cannot be used
    """

    location: Annotated[str, typer.Argument(metavar="JOURNAL", help="The journal: a file or postgresql://…")]
    state: Annotated[
        RowState | None,
        typer.Option(
            metavar="|".join(RowState),
            help="List the rows of one state. A row in state sending may have been sent; the next run looks it up.",
        ),
    ] = None
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of the migration; required with a journal in PostgreSQL.")
    ] = None
    as_json: AsJson = False

    def run(self) -> None:
        """Count or list the rows."""
        with exit_on_usage_error():
            anyio.run(_show, open_journal(self.location, self.name, must_exist=True), self.state, self.as_json)


@attrs.frozen(kw_only=True)
class FieldsCommand:
    """List the fields of an account vault: when each is required, its length and its content.

    A column whose name is a field needs no --map; case, blanks and dashes do not matter.
    """

    as_json: AsJson = False

    def run(self) -> None:
        """List the fields."""
        if self.as_json:
            print_json(map(attrs.asdict, field_list()))
            return
        print_table([{"facts": facts} for facts in field_list()], _FIELD_HEADINGS, _field_cells)
        print_advice(f"\n{_KEY}")


async def _show(store: Journal, state: RowState | None, as_json: bool) -> None:
    async with aclosing(store):
        if as_json:
            async for entry in iterate_entries(store, state):
                print_json([_values(entry)])
        elif state is None:
            await _print_counts(store)
        else:
            await _print_rows(store, state)


async def _print_counts(store: Journal) -> None:
    totals = Totals.from_counts(await store.counts())
    rows = [
        {"state": name, "rows": f"{count:,}" if is_terminal() else count}
        for name, count in (*((state, getattr(totals, state)) for state in STATES), ("rows", totals.rows))
    ]
    print_table(rows, ("state", "rows"), _count_cells)
    print_advice("\n--state rejected lists the rejected rows.")


def _count_cells(row: TableRow) -> list[Text]:
    return [Text(row["state"], style=ROW_COLORS.get(row["state"], "")), Text(str(row["rows"]))]


async def _print_rows(store: Journal, state: RowState) -> None:
    if not is_terminal():
        async for entry in iterate_entries(store, state):
            print_table([{"entry": entry}], _HEADINGS, _cells)
        return
    rows: list[TableRow] = []
    async with aclosing(iterate_entries(store, state)) as entries:
        async for entry in entries:
            rows.append({"entry": entry})
            if len(rows) == MAX_SHOWN_ROWS:
                break
    total = (await store.counts()).get(state, 0)
    print_table(rows, _HEADINGS, _cells, f"No rows in state {state}.", total=total)


def _cells(row: TableRow) -> list[Text]:
    entry: JournalEntry = row["entry"]
    account = f"{entry.vault_id} {entry.brand or ''} …{entry.last_four}" if entry.vault_id else NONE
    return [
        Text(entry.key or NONE),
        Text(NONE if entry.line is None else str(entry.line)),
        Text(f"{entry.changed_at:%Y-%m-%d %H:%M:%S}"),
        Text(account),
        Text("; ".join(entry.reasons) or NONE),
    ]


def _values(entry: JournalEntry) -> dict[str, Any]:
    return {
        "key": entry.key,
        "state": entry.state,
        "line": entry.line,
        "reasons": list(entry.reasons),
        "account_vault_id": entry.vault_id,
        "account_vault_api_id": entry.api_id or None,
        "last_four": entry.last_four,
        "brand": entry.brand,
        "run": entry.run,
        "changed_at": entry.changed_at,
    }


def _field_cells(row: TableRow) -> list[Text]:
    facts: FieldFacts = row["facts"]
    return [Text(cell) for cell in (facts.name, facts.required or NONE, _length(facts), facts.meaning)]


def _length(facts: FieldFacts) -> str:
    if facts.maximum is None:
        return NONE
    return str(facts.maximum) if facts.minimum == facts.maximum else f"{facts.minimum} to {facts.maximum}"
