"""`gateway-async ledger`: list the open calls of a ledger, look up or record their outcomes, and reconcile it."""

from collections.abc import Awaitable, Callable
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Annotated, Any, Final, Literal, get_args

import anyio
import attrs
from rich.console import Console
from rich.text import Text
from typer import Argument, BadParameter, Option

from gateway_async import AsyncGateway, Intent, PostgresLedger, Recovered, SqliteLedger
from gateway_async._secrets import is_address
from gateway_async._text import pluralize
from gateway_async.cli.command import AsJson, parse_time
from gateway_async.cli.output import (
    ALL_DAYS,
    ExitStatus,
    TableColumns,
    TableRow,
    attributes,
    check_location,
    command_line,
    display_location,
    fail,
    format_time,
    print_advice,
    print_rows,
    printing,
)
from gateway_async.ledger.reconciliation import Discrepancy, Reconciliation

AnyLedger = PostgresLedger | SqliteLedger

Resolution = Literal["done", "not_made"]
"""The outcomes that a user can record for a call."""

_RESOLUTIONS: Final = "|".join(get_args(Resolution))


_TABLE: Final = "payment_ledger"
_COLORS: Final = {"open": "yellow", "unknown": "yellow", "found": "green", "done": "green"}
_CALL_COLUMNS: Final[TableColumns] = {
    "sent at (UTC)": lambda row: format_time(row["sent_at"]),
    "call": "call",
    "api id": "api_id",
    "amount": lambda row: row["sent"].get("transaction_amount") or row["sent"].get("tip_amount"),
    "terminal": lambda row: row.get("terminal_id") or row["sent"].get("terminal_id"),
    "outcome": lambda row: Text(row["outcome"], style=_COLORS.get(row["outcome"], "")),
    "record": "record_id",
}
_DISCREPANCY_COLUMNS: Final[TableColumns] = {
    "discrepancy": "kind",
    "api id": "api_id",
    "record": "record_id",
    "ledger": "ledger_amount",
    "gateway": "gateway_amount",
    "description": "description",
}


@attrs.frozen(kw_only=True)
class LedgerCommand:
    """List the calls in a ledger whose outcome is unknown.

    In PostgreSQL, calls of processes that are still connected are left out.

    Exit status:
    - 0: no call is open, and nothing differs
    - 1: the ledger cannot be used
    - 2: wrong usage, or the file does not exist
    - 3: a call is open, or something differs
    """

    location: Annotated[str, Argument(metavar="FILE", help="Ledger: a file or postgresql://…")]
    show_all: Annotated[bool, Option("--all", help="List resolved calls too, with their outcomes.")] = False
    recover: Annotated[
        bool,
        Option("--recover", help="Look up the open calls, and record what is found. Reads the GATEWAY_* variables."),
    ] = False
    wait: Annotated[
        float | None,
        Option(
            min=0,
            metavar="SECONDS",
            help="Seconds that --recover waits at most for calls that are not found. The gateway may still execute a "
            "call for 120 seconds, at a terminal for 420; for longer if the process that sent it may still be running.",
            show_default="until no call may still be executed",
        ),
    ] = None
    resolve_id: Annotated[
        str | None,
        Option(
            "--resolve",
            metavar="API_ID",
            help="Record the outcome of an open call that no lookup finds, by its api id or its id in the JSON output.",
        ),
    ] = None
    resolve_as: Annotated[
        Resolution | None,
        Option(
            "--as",
            metavar=_RESOLUTIONS,
            help="Outcome of the call given by --resolve.",
        ),
    ] = None
    since: Annotated[
        datetime | None,
        Option(
            "--reconcile",
            metavar="SINCE",
            parser=parse_time,
            help="Compare the payments since a time (2026-01-01 or 2026-01-01T12:00, in UTC) with the gateway's, and "
            "list the discrepancies. Reads the GATEWAY_* variables.",
        ),
    ] = None
    until: Annotated[
        datetime | None, Option(metavar="TIME", parser=parse_time, help="End of the period of --reconcile, in UTC.")
    ] = None
    keep_days: Annotated[
        float, Option(min=0, metavar="DAYS", help="Days for which your program keeps resolved calls.")
    ] = 30.0
    table: Annotated[str, Option(metavar="TABLE", help="Table of the ledger in PostgreSQL.")] = _TABLE
    as_json: AsJson = False

    def run(self) -> None:
        """List, recover, resolve or reconcile the calls."""
        if self.recover + self.show_all + (self.resolve_id is not None) + (self.since is not None) > 1:
            raise BadParameter("--recover, --resolve, --reconcile and --all: only one of them can be used")
        if (self.resolve_id is None) != (self.resolve_as is None):
            raise BadParameter(f"--resolve and --as: use both or neither (expected --as {_RESOLUTIONS})")
        if self.since is None and self.until is not None:
            raise BadParameter("--until: needs --reconcile")
        if self.since is not None and (datetime.now(UTC) - self.since) / timedelta(days=1) > self.keep_days:
            kept = f"{self.keep_days:g} {pluralize(self.keep_days, 'day')}"
            raise BadParameter(f"--reconcile: too early (expected within --keep-days, {kept})")
        if self.since is not None:
            self._print_reconciliation(self._operate(partial(_reconcile, self.since, self.until)))
        else:
            self._print_calls(self._operate(self._operation))

    @property
    def _operation(self) -> Callable[[AnyLedger], Awaitable[list[TableRow]]]:
        if self.resolve_id is not None and self.resolve_as is not None:
            return partial(_resolve, self.resolve_id, self.resolve_as)
        if self.recover:
            return partial(_recover, self.wait)
        return _list_all if self.show_all else _list_open

    def _operate(self, operation: Callable[[AnyLedger], Awaitable[Any]]) -> Any:
        """Open the ledger, run one operation on it, and close it."""

        async def run() -> Any:
            async with aclosing(open_ledger(self.location, self.table)) as ledger:
                return await operation(ledger)

        return anyio.run(run)

    def _print_calls(self, rows: list[TableRow]) -> None:
        columns = {**_CALL_COLUMNS, "reason": "error"} if self.recover else _CALL_COLUMNS
        nothing = f"No open calls in {display_location(self.location)}."
        is_open = any(row["outcome"] in ("open", "unknown") for row in rows)
        done = _describe(rows) if self.recover or self.resolve_id is not None else ""
        with printing(ExitStatus.ATTENTION if is_open else ExitStatus.DONE, done=done):
            print_rows(rows, columns, nothing, as_json=self.as_json)
            if not self.as_json:
                self._print_advice(rows)

    def _print_advice(self, rows: list[TableRow]) -> None:
        arguments = ["ledger", self.location, *([] if self.table == _TABLE else ["--table", self.table])]
        if any(row["outcome"] == "open" for row in rows):
            print_advice(f"\nTo look up the open calls: {command_line([*arguments, '--recover'])}")
        if any(row["outcome"] == "unknown" for row in rows):
            command = command_line([*arguments, "--resolve", "API_ID", "--as", _RESOLUTIONS])
            print_advice(f"\nIf no lookup finds a call, ask the processor and record the answer: {command}")

    def _print_reconciliation(self, found: Reconciliation) -> None:
        rows = [*map(_row_of_discrepancy, found.discrepancies), *map(_row_of_open, found.open_intents)]
        with printing(ExitStatus.DONE if found.agrees else ExitStatus.ATTENTION):
            print_rows(rows, _DISCREPANCY_COLUMNS, "No discrepancies.", as_json=self.as_json)
            print_advice("" if self.as_json else f"\n{found.summary}")


def open_ledger(location: str, table: str) -> AnyLedger:
    """Open a ledger that exists.

    Raises:
        InvalidRequestError: the address is invalid, or the file does not exist or is empty.
    """
    check_location("FILE", location, must_exist=True)
    if is_address(location):
        return PostgresLedger(location, table=table, keep_days=ALL_DAYS, create=False)
    return SqliteLedger(location, keep_days=ALL_DAYS)


async def _resolve(name: str, resolution: Resolution, ledger: AnyLedger) -> list[TableRow]:
    matching = [intent for intent in await ledger.open_intents() if name in (intent.id, intent.api_id)]
    if len(matching) != 1:
        found = f"{len(matching)} open {pluralize(len(matching), 'call')}"
        fail(f"--resolve: {found} have the id {name} (expected 1; --json lists the ids)")
    await ledger.record_outcome(matching[0].id, resolution)
    await ledger.open_intents()  # fails if the outcome cannot be written
    return [_row_of(matching[0], resolution)]


async def _list_open(ledger: AnyLedger) -> list[TableRow]:
    return [_row_of(intent, "open") for intent in await ledger.open_intents()]


async def _list_all(ledger: AnyLedger) -> list[TableRow]:
    entries = ledger.entries(datetime.fromtimestamp(0, UTC))
    return [_row_of(each.intent, each.outcome or "open", each.record_id) async for each in entries]


async def _recover(wait: float | None, ledger: AnyLedger) -> list[TableRow]:
    text = "looking up the open calls; one that is not found may still be executed for some minutes"
    # On standard error, which shows it on a terminal only. Ctrl-C ends it; the calls stay open.
    async with AsyncGateway.from_env(ledger=ledger) as gateway:
        with Console(stderr=True).status(text):
            return [_row_of_recovered(each) for each in await gateway.recover(wait=wait)]


async def _reconcile(since: datetime, until: datetime | None, ledger: AnyLedger) -> Reconciliation:
    async with AsyncGateway.from_env(ledger=ledger) as gateway:
        return await gateway.reconcile(since, until)


def _describe(rows: list[TableRow]) -> str:
    """Say which outcomes are recorded."""
    outcomes = (f"{row['api_id'] or row['call']} {row['outcome']} {row['record_id'] or ''}".rstrip() for row in rows)
    return f"the ledger was updated ({', '.join(outcomes) or 'no call was open'})"


def _row_of(intent: Intent, outcome: str, record_id: str | None = None) -> TableRow:
    return {
        **attributes(intent, "id", "sent_at", "conclusive_at", "call", "resource", "api_id", "terminal_id"),
        "sent": dict(intent.sent),
        "outcome": outcome,
        "record_id": record_id,
    }


def _row_of_recovered(each: Recovered) -> TableRow:
    return {
        **attributes(each, "sent_at", "call", "resource", "api_id"),
        "sent": dict(each.sent),
        "outcome": each.outcome,
        "record_id": getattr(each.record, "id", None),
        "error": None if each.error is None else str(each.error),
    }


def _row_of_discrepancy(each: Discrepancy) -> TableRow:
    return {
        **attributes(each, "kind", "api_id", "record_id", "location_id", "outcome", "status_id"),
        "ledger_amount": None if each.ledger_amount is None else str(each.ledger_amount),
        "gateway_amount": None if each.gateway_amount is None else str(each.gateway_amount),
        **attributes(each, "sent_at", "created_ts"),
        "description": str(each),
    }


def _row_of_open(intent: Intent) -> TableRow:
    """Return a row with the fields of a discrepancy."""
    return {
        "kind": "open",
        "api_id": intent.api_id,
        "record_id": None,
        "location_id": intent.location_id,
        "outcome": "open",
        "status_id": None,
        "ledger_amount": intent.sent.get("transaction_amount"),
        "gateway_amount": None,
        "sent_at": intent.sent_at,
        "created_ts": None,
        "description": f"{intent.api_id or intent.call}: the outcome is unknown, --recover looks it up",
    }
