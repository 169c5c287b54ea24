"""`gateway-async migrate journal`: the state of each row, from the journal."""

import json
from collections.abc import AsyncIterator
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gateway_async.cli.migrate.journals import existing_journal
from gateway_async.cli.migrate.usage_errors import refusing
from gateway_async.migration.journal.protocol import RowState

if TYPE_CHECKING:
    from gateway_async.migration import Journal, JournalEntry

__all__ = ["entries_of", "journal"]

MOST_SHOWN = 500
"""Maximum rows of a table; JSON has no limit."""

COLOURS = {"stored": "green", "rejected": "red", "unknown": "yellow", "sending": "yellow"}
_PAGE = 5000


def journal(
    place: Annotated[str, typer.Argument(metavar="JOURNAL", help="Its file, or postgresql://… of its database.")],
    *,
    state: Annotated[
        RowState | None,
        typer.Option(
            help="List the rows of one state. sending: it may have been sent, and is looked up in the next run."
        ),
    ] = None,
    name: Annotated[str | None, typer.Option(help="Of the migration; needed for PostgreSQL.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one line of JSON for each row.")] = False,
) -> None:
    """Show how many rows of a migration are in which state, or list them.

    It sends nothing and changes nothing. A journal holds no card number: only the last four digits and the brand of
    what is stored. The exit status is 0, or 2 if the journal cannot be used.
    """
    import anyio

    with refusing():
        anyio.run(_show, existing_journal(place, name), state, as_json)


async def _show(opened: "Journal", state: RowState | None, as_json: bool) -> None:
    try:
        if as_json:
            async for entry in entries_of(opened, state):
                typer.echo(json.dumps(_values(entry), default=datetime.isoformat))
        elif state is None:
            await _print_counts(opened)
        else:
            await _print_rows(opened, state)
    finally:
        await opened.aclose()


async def entries_of(opened: "Journal", state: RowState | None = None) -> "AsyncIterator[JournalEntry]":
    """Yield all rows of a state, reading page by page."""
    after = None
    while page := await opened.entries(state, after=after, limit=_PAGE):
        for entry in page:
            yield entry
        after = page[-1].key


async def _print_counts(opened: "Journal") -> None:
    counts = await opened.counts()
    table = Table("state", "rows", box=None)
    table.columns[1].justify = "right"
    for state in RowState:
        table.add_row(Text(state, style=COLOURS[state]), f"{counts.get(state, 0):,}")
    console = Console()
    console.print(table)
    console.print(Text("\n--state rejected lists the rejected ones.", style="dim"), soft_wrap=True)


async def _print_rows(opened: "Journal", state: RowState) -> None:
    table, console = Table("key", "line", "changed at (UTC)", "account", "reasons", box=None), Console()
    rows = await opened.entries(state, limit=MOST_SHOWN)
    for entry in rows:
        table.add_row(*_cells(entry))
    if not rows:
        console.print(Text(f"No row is {state}.", style="green"))
        return
    console.print(table)
    more = (await opened.counts()).get(state, 0) - len(rows)
    if more > 0:
        console.print(f"… and {more:,} more; --json lists all.")


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
