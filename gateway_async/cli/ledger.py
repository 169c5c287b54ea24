"""`gateway-async ledger`: list the open calls of a ledger file, and look up or record their outcomes."""

import shlex
from collections.abc import Iterable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from gateway_async.cli.command_name import command_name
from gateway_async.cli.errors import fail, fail_with
from gateway_async.cli.exit_status import ExitStatus
from gateway_async.cli.table_output import NONE, Row, print_advice, print_json, print_table

if TYPE_CHECKING:
    from gateway_async import Recovered
    from gateway_async.ledger._sqlite_store import StoredIntent

__all__ = ["ledger"]


class Resolution(StrEnum):
    """The outcomes that a user can record for a call."""

    DONE = "done"
    NOT_MADE = "not_made"


_HEADINGS = ("sent at (UTC)", "call", "api id", "amount", "terminal", "outcome", "record")
COLORS = {"open": "yellow", "unknown": "yellow", "found": "green", "done": "green"}


def ledger(
    file: Annotated[Path, typer.Argument(metavar="FILE", exists=True, dir_okay=False, help="Ledger file.")],
    *,
    show_all: Annotated[bool, typer.Option("--all", help="List resolved calls too, with their outcomes.")] = False,
    recover: Annotated[
        bool,
        typer.Option(
            "--recover",
            help="Look up the open calls and record the outcomes that are found. Reads the GATEWAY_* variables.",
        ),
    ] = False,
    wait: Annotated[
        float,
        typer.Option(
            "--wait",
            min=0,
            metavar="SECONDS",
            help="Maximum seconds that --recover waits for calls that are not found. A call may still be executed for "
            "120 seconds, at a terminal for the terminal timeout more.",
        ),
    ] = 125.0,
    resolve_id: Annotated[
        str | None,
        typer.Option(
            "--resolve",
            metavar="API_ID",
            help="Record the outcome of one open call that no lookup finds: its api id, or its id in the JSON output.",
        ),
    ] = None,
    resolve_as: Annotated[
        Resolution | None, typer.Option("--as", help="Outcome of the call given by --resolve.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one line of JSON for each call.")] = False,
) -> None:
    """List the calls of a ledger whose outcome is unknown.

    The exit status is 0 when no call is open, 3 when calls are open, and 1 when the file cannot be used.
    """
    from gateway_async import GatewayError

    if recover + show_all + (resolve_id is not None) > 1:
        raise typer.BadParameter("--recover, --resolve and --all: only one of them can be used")
    if (resolve_id is None) != (resolve_as is None):
        raise typer.BadParameter(f"--resolve and --as: use both or neither (expected --as {'|'.join(Resolution)})")
    if not file.stat().st_size:
        fail(f"the ledger {file} cannot be used: it is empty")  # listing must not turn an empty file into a ledger
    try:
        if resolve_id is not None and resolve_as is not None:
            rows = [_resolve(file, resolve_id, resolve_as)]
        else:
            rows = list(_recover(file, wait) if recover else _list(file, open_only=not show_all))
    except GatewayError as error:
        fail_with(error)
    print_json(rows) if as_json else print_table(rows, _HEADINGS, _cells, f"No open calls in {file}.")
    if not as_json:
        _print_advice(file, rows)
    if any(row["outcome"] in ("open", "unknown") for row in rows):
        raise typer.Exit(ExitStatus.ATTENTION)


def _resolve(file: Path, name: str, resolution: Resolution) -> Row:
    from gateway_async.ledger._operations import Outcome
    from gateway_async.ledger._sqlite_store import LedgerFile

    with closing(LedgerFile(file)) as opened:
        matching = [each for each in opened.entries(open_only=True) if name in (each.intent.id, each.intent.api_id)]
        if len(matching) != 1:
            fail(f"--resolve: {len(matching)} open calls have the id {name} (expected 1; --json lists the ids)")
        opened.write([], [Outcome(matching[0].intent.id, resolution, None, datetime.now(UTC))])
        return _row_of(matching[0]) | {"outcome": resolution.value}


def _list(file: Path, *, open_only: bool) -> Iterator[Row]:
    from gateway_async.ledger._sqlite_store import LedgerFile

    with closing(LedgerFile(file)) as opened:
        yield from (_row_of(entry) for entry in opened.entries(open_only=open_only))


def _recover(file: Path, wait: float) -> Iterable[Row]:
    import anyio

    from gateway_async import AsyncGateway, SqliteLedger

    async def recover_calls() -> list["Recovered"]:
        async with AsyncGateway.from_env(ledger=SqliteLedger(file)) as gateway:
            return await gateway.recover(wait=wait)

    for each in anyio.run(recover_calls):
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


def _row_of(entry: "StoredIntent") -> Row:
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


def _print_advice(file: Path, rows: list[Row]) -> None:
    command = f"{command_name()} ledger {shlex.quote(str(file))}"
    for error in sorted({str(row["error"]) for row in rows if row.get("error")}):
        print_advice(error, "yellow")
    if any(row["outcome"] == "open" for row in rows):
        print_advice(f"\nTo look up the open calls: {command} --recover")
    if any(row["outcome"] == "unknown" for row in rows):
        advice = "\nIf no lookup finds a call, ask the processor and record the answer: "
        print_advice(f"{advice}{command} --resolve API_ID --as {'|'.join(Resolution)}")


def _cells(row: Row) -> list[Text]:
    sent, outcome = row["sent"], row["outcome"]
    texts = (
        f"{row['sent_at']:%Y-%m-%d %H:%M:%S}",
        row["call"],
        row["api_id"],
        sent.get("transaction_amount") or sent.get("tip_amount"),
        row.get("terminal_id") or sent.get("terminal_id"),
    )
    return [
        *(Text(text or NONE) for text in texts),
        Text(outcome, style=COLORS.get(outcome, "")),
        Text(row["record_id"] or NONE),
    ]
