"""`gateway-async ledger`: what is open in a ledger's file, and what became of it."""

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gateway_async.cli.failure import fail

if TYPE_CHECKING:
    from gateway_async import Recovered
    from gateway_async._ledger_file import Entry

__all__ = ["ledger"]

OPEN = 3
"""The exit status when something is open, so that a script can tell it from a failure."""

COLOURS = {"open": "yellow", "unknown": "yellow", "found": "green", "done": "green"}


def ledger(
    file: Annotated[Path, typer.Argument(metavar="FILE", exists=True, dir_okay=False, help="A ledger's file.")],
    *,
    show_all: Annotated[bool, typer.Option("--all", help="List settled calls too, with their outcome.")] = False,
    recover: Annotated[
        bool,
        typer.Option(
            "--recover",
            help="Look up what is open and settle what is known; reads the GATEWAY_* variables of the environment.",
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one line of JSON for each call.")] = False,
) -> None:
    """List the calls that move money and whose outcome nobody knows yet, the oldest first.

    The exit status is 0 when none is open, 3 when some are, and 1 when the file cannot be used.
    """
    from gateway_async import GatewayError

    if recover and show_all:
        raise typer.BadParameter("--recover lists what it recovers; use --all in a second call")
    try:
        rows = list(_recovered(file) if recover else _listed(file, open_only=not show_all))
    except GatewayError as error:
        fail(str(error))
    _print_json(rows) if as_json else _print_table(file, rows)
    if any(row["outcome"] in ("open", "unknown") for row in rows):
        raise typer.Exit(OPEN)


def _listed(file: Path, *, open_only: bool) -> Iterator[dict[str, Any]]:
    from gateway_async._ledger_file import LedgerFile

    opened = LedgerFile(file)
    try:
        yield from (_row_of(entry) for entry in opened.entries(open_only=open_only))
    finally:
        opened.close()


def _recovered(file: Path) -> Iterable[dict[str, Any]]:
    import anyio

    from gateway_async import AsyncGateway, SqliteLedger

    async def recovered() -> list["Recovered"]:
        async with AsyncGateway.from_env(ledger=SqliteLedger(file)) as gateway:
            return await gateway.recover()

    for each in anyio.run(recovered):
        yield {
            "sent_at": each.sent_at,
            "call": each.call,
            "resource": each.resource,
            "api_id": each.api_id,
            "sent": dict(each.sent),
            "outcome": each.outcome,
            "record_id": getattr(each.record, "id", None),
            "error": None if each.error is None else str(each.error),
        }


def _row_of(entry: "Entry") -> dict[str, Any]:
    intent = entry.intent
    return {
        "sent_at": intent.sent_at,
        "certain_at": intent.certain_at,
        "call": intent.call,
        "resource": intent.resource,
        "api_id": intent.api_id,
        "terminal_id": intent.terminal_id,
        "sent": dict(intent.sent),
        "outcome": entry.outcome or "open",
        "record_id": entry.record_id,
    }


def _print_json(rows: Iterable[dict[str, Any]]) -> None:
    for row in rows:
        typer.echo(json.dumps(row, default=datetime.isoformat))


def _print_table(file: Path, rows: list[dict[str, Any]]) -> None:
    console = Console()
    if not rows:
        console.print(Text(f"Nothing is open in {file}.", style="green"), soft_wrap=True)
        return
    table = Table("sent at (UTC)", "call", "api id", "amount", "terminal", "outcome", "record", box=None)
    for row in rows:
        table.add_row(*_cells(row))
    console.print(table)
    for error in sorted({str(row["error"]) for row in rows if row.get("error")}):
        console.print(Text(error, style="yellow"), soft_wrap=True)
    if any(row["outcome"] == "open" for row in rows):
        command = f"gateway-async ledger {file} --recover"
        console.print(Text(f"\n{command} finds out what became of them.", style="dim"), soft_wrap=True)


def _cells(row: dict[str, Any]) -> list[Text]:
    sent, outcome = row["sent"], row["outcome"]
    texts = (
        f"{row['sent_at']:%Y-%m-%d %H:%M:%S}",
        row["call"],
        row["api_id"],
        sent.get("transaction_amount") or sent.get("tip_amount"),
        row.get("terminal_id") or sent.get("terminal_id"),
    )
    return [
        *(Text(text or "–", overflow="fold") for text in texts),
        Text(outcome, style=COLOURS.get(outcome, "")),
        Text(row["record_id"] or "–", overflow="fold"),
    ]
