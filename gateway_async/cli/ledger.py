"""`gateway-async ledger`: list the open calls of a ledger file, and look up or record their outcomes."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gateway_async.cli.errors import fail
from gateway_async.cli.json_lines import print_json

if TYPE_CHECKING:
    from gateway_async import Recovered
    from gateway_async.ledger._sqlite_store import StoredIntent

__all__ = ["ledger"]

MOST_SHOWN = 500
"""The most rows that a table shows; JSON output has no limit."""

OPEN = 3
"""The exit status when a listed call is open; scripts can distinguish it from a failure."""


class Resolution(StrEnum):
    """The outcomes that a user can record for a call."""

    DONE = "done"
    NOT_MADE = "not_made"


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
    wait: Annotated[
        float,
        typer.Option(
            "--wait",
            min=0,
            metavar="SECONDS",
            help="How long --recover waits at most for what is not found: it may still arrive for 120 seconds, "
            "at a terminal for its time-out more.",
        ),
    ] = 125.0,
    resolve_id: Annotated[
        str | None,
        typer.Option(
            "--resolve",
            metavar="API_ID",
            help="Settle one open call that no lookup can, once you know what became of it: "
            "its api id, or the id that --json shows.",
        ),
    ] = None,
    resolve_as: Annotated[Resolution | None, typer.Option("--as", help="What became of it.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one line of JSON for each call.")] = False,
) -> None:
    """List the calls that move money and whose outcome is not known yet, the oldest first.

    The exit status is 0 when none is open, 3 when some are, and 1 when the file cannot be used.
    """
    from gateway_async import GatewayError

    if recover + show_all + (resolve_id is not None) > 1:
        raise typer.BadParameter("--recover and --resolve list what they settle; use --all in a second call")
    if (resolve_id is None) != (resolve_as is None):
        raise typer.BadParameter(f"--resolve and --as ({', '.join(Resolution)}) go together")
    if not file.stat().st_size:
        fail(f"the ledger {file} cannot be used: it is empty")  # listing must not turn an empty file into a ledger
    try:
        if resolve_id is not None and resolve_as is not None:
            rows = [_resolve(file, resolve_id, resolve_as)]
        else:
            rows = list(_recovered(file, wait) if recover else _listed(file, open_only=not show_all))
    except GatewayError as error:
        fail(str(error))
    print_json(rows) if as_json else _print_table(file, rows)
    if any(row["outcome"] in ("open", "unknown") for row in rows):
        raise typer.Exit(OPEN)


def _resolve(file: Path, name: str, resolution: Resolution) -> dict[str, Any]:
    from gateway_async.ledger._sqlite_store import LedgerFile, Outcome

    opened = LedgerFile(file)
    try:
        meant = [each for each in opened.entries(open_only=True) if name in (each.intent.id, each.intent.api_id)]
        if len(meant) != 1:
            fail(f"--resolve: {len(meant)} open calls are called {name}; `--json` lists their ids")
        opened.write([], [Outcome(meant[0].intent.id, resolution, None, datetime.now(UTC))])
        return _row_of(meant[0]) | {"outcome": resolution.value}
    finally:
        opened.close()


def _listed(file: Path, *, open_only: bool) -> Iterator[dict[str, Any]]:
    from gateway_async.ledger._sqlite_store import LedgerFile

    opened = LedgerFile(file)
    try:
        yield from (_row_of(entry) for entry in opened.entries(open_only=open_only))
    finally:
        opened.close()


def _recovered(file: Path, wait: float) -> Iterable[dict[str, Any]]:
    import anyio

    from gateway_async import AsyncGateway, SqliteLedger

    async def recovered() -> list["Recovered"]:
        async with AsyncGateway.from_env(ledger=SqliteLedger(file)) as gateway:
            return await gateway.recover(wait=wait)

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


def _row_of(entry: "StoredIntent") -> dict[str, Any]:
    intent = entry.intent
    return {
        "id": intent.id,
        "sent_at": intent.sent_at,
        "conclusive_at": intent.conclusive_at,
        "call": intent.call,
        "resource": intent.resource,
        "api_id": intent.api_id,
        "terminal_id": intent.terminal_id,
        "sent": dict(intent.sent),
        "outcome": entry.outcome or "open",
        "record_id": entry.record_id,
    }


def _print_table(file: Path, rows: list[dict[str, Any]]) -> None:
    console = Console()
    if not rows:
        console.print(Text(f"Nothing is open in {file}.", style="green"), soft_wrap=True)
        return
    table = Table("sent at (UTC)", "call", "api id", "amount", "terminal", "outcome", "record", box=None)
    for row in rows[:MOST_SHOWN]:
        table.add_row(*_cells(row))
    console.print(table)
    if len(rows) > MOST_SHOWN:
        console.print(f"… and {len(rows) - MOST_SHOWN} more; --json lists all.")
    for error in sorted({str(row["error"]) for row in rows if row.get("error")}):
        console.print(Text(error, style="yellow"), soft_wrap=True)
    if any(row["outcome"] == "open" for row in rows):
        command = f"gateway-async ledger {file} --recover"
        console.print(Text(f"\n{command} finds out what became of them.", style="dim"), soft_wrap=True)
    if any(row["outcome"] == "unknown" for row in rows):
        command = f"gateway-async ledger {file} --resolve API_ID --as {'|'.join(Resolution)}"
        console.print(Text(f"\nNobody can tell? Ask the processor, then {command}.", style="dim"), soft_wrap=True)


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
