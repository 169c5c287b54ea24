"""`gateway-async migrate journal`: the state of each row, from the journal."""

import json
from contextlib import aclosing
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gateway_async.cli.migrate.journal_location import open_existing_journal
from gateway_async.cli.migrate.usage_errors import exit_on_usage_error
from gateway_async.migration.journal.protocol import RowState, iterate_entries

if TYPE_CHECKING:
    from gateway_async.migration import Journal, JournalEntry

__all__ = ["journal"]

MAX_SHOWN = 500
"""Maximum rows of a table; JSON has no limit."""

COLOURS = {"stored": "green", "rejected": "red", "unknown": "yellow", "sending": "yellow"}


def journal(
    location: Annotated[str, typer.Argument(metavar="JOURNAL", help="The journal: a file or postgresql://…")],
    *,
    state: Annotated[
        RowState | None,
        typer.Option(
            help="List the rows of one state. A row in state sending may have been sent; the next run looks it up."
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Name of the migration; required with a journal in PostgreSQL.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one line of JSON for each row.")] = False,
) -> None:
    """Count the rows of a migration by state, or list them.

    It sends nothing and changes nothing. Of a card the journal contains only the last four digits and the brand.
    Exit status: 0, or 2 if the journal cannot be used.
    """
    import anyio

    with exit_on_usage_error():
        anyio.run(_show, open_existing_journal(location, name), state, as_json)


async def _show(store: "Journal", state: RowState | None, as_json: bool) -> None:
    async with aclosing(store):
        if as_json:
            async for entry in iterate_entries(store, state):
                typer.echo(json.dumps(_values(entry), default=datetime.isoformat))
        elif state is None:
            await _print_counts(store)
        else:
            await _print_rows(store, state)


async def _print_counts(store: "Journal") -> None:
    counts = await store.counts()
    table = Table("state", "rows", box=None)
    table.columns[1].justify = "right"
    for state in RowState:
        table.add_row(Text(state, style=COLOURS[state]), f"{counts.get(state, 0):,}")
    console = Console()
    console.print(table)
    console.print(Text("\n--state rejected lists the rejected rows.", style="dim"), soft_wrap=True)


async def _print_rows(store: "Journal", state: RowState) -> None:
    table, console = Table("key", "line", "changed at (UTC)", "account", "reasons", box=None), Console()
    rows = await store.entries(state, limit=MAX_SHOWN)
    for entry in rows:
        table.add_row(*_cells(entry))
    if not rows:
        console.print(Text(f"No rows in state {state}.", style="green"))
        return
    console.print(table)
    more = (await store.counts()).get(state, 0) - len(rows)
    if more > 0:
        console.print(f"… {more:,} more rows; --json lists all.")


def _cells(entry: "JournalEntry") -> list[Text]:
    account = f"{entry.vault_id} {entry.brand or ''} …{entry.last_four}" if entry.vault_id else "–"
    return [
        Text(entry.key, overflow="fold"),
        Text("–" if entry.line is None else str(entry.line)),
        Text(f"{entry.changed_at:%Y-%m-%d %H:%M:%S}"),
        Text(account, overflow="fold"),
        Text("; ".join(entry.reasons) or "–", overflow="fold"),
    ]


def _values(entry: "JournalEntry") -> dict[str, Any]:
    return {
        "key": entry.key,
        "state": entry.state,
        "line": entry.line,
        "reasons": list(entry.reasons),
        "account_vault_id": entry.vault_id,
        "account_vault_api_id": entry.api_id,
        "last_four": entry.last_four,
        "brand": entry.brand,
        "run": entry.run,
        "changed_at": entry.changed_at,
    }
