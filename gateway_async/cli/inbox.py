"""`gateway-async inbox`: list the waiting and dead postbacks of an inbox, replay them or discard them."""

from collections.abc import Awaitable, Callable, Iterable
from contextlib import aclosing
from pathlib import Path
from typing import Annotated, Any

import anyio
import typer
from rich.text import Text

from gateway_async import GatewayError, InboxError
from gateway_async._secrets import is_address
from gateway_async._text import pluralize
from gateway_async.cli.errors import fail, fail_with, printing
from gateway_async.cli.exit_status import ExitStatus
from gateway_async.cli.store_location import check_location
from gateway_async.cli.table_output import NONE, TableRow, print_advice, print_json, print_table
from gateway_async.postbacks import Inbox, PostbackState, PostgresInbox, SqliteInbox, StoredPostback

__all__ = ["inbox", "read_dead"]

WHAT_TO_DO = "--replay NUMBER or --replay-dead: handle again. --discard NUMBER: give up a dead postback."
_HEADINGS = ("number", "received at (UTC)", "change", "record", "state", "attempts", "error")
POSTBACK_COLORS = {"waiting": "yellow", "dead": "red", "handled": "green"}
_PAGE = 200
_ALL_DAYS = 999_999.0
"""`keep_days` of the opened inbox, so that listing deletes nothing."""


def inbox(
    address: Annotated[
        str, typer.Argument(metavar="FILE", help="Inbox file, or the address of its database (postgresql://…).")
    ],
    *,
    dead: Annotated[bool, typer.Option("--dead", help="List dead postbacks only.")] = False,
    waiting: Annotated[bool, typer.Option("--waiting", help="List waiting postbacks only.")] = False,
    show_all: Annotated[bool, typer.Option("--all", help="List handled postbacks too.")] = False,
    replay: Annotated[int | None, typer.Option("--replay", metavar="NUMBER", help="Handle one postback again.")] = None,
    replay_dead: Annotated[bool, typer.Option("--replay-dead", help="Handle all dead postbacks again.")] = False,
    discard: Annotated[
        int | None,
        typer.Option("--discard", metavar="NUMBER", help="Give up one dead postback, so that it is no longer listed."),
    ] = None,
    table: Annotated[
        str, typer.Option("--table", metavar="TABLE", help="Table of the inbox in PostgreSQL.")
    ] = "postback_inbox",
    as_json: Annotated[bool, typer.Option("--json", help="Print one line of JSON for each postback.")] = False,
) -> None:
    """List the waiting and dead postbacks of an inbox, or replay them.

    Replayed postbacks wait for the program that handles the inbox. A state older than a handled one is
    passed only to handlers registered with `include_stale=True`. Handled and discarded postbacks are removed after the
    inbox's `keep_days`; dead ones are kept. The exit status is 0 when no listed postback is dead, 3 when one is, 1
    when the inbox cannot be used, and 2 when the file does not exist.
    """
    if dead + waiting + show_all + (replay is not None) + replay_dead + (discard is not None) > 1:
        raise typer.BadParameter(
            "--dead, --waiting, --all, --replay, --replay-dead, --discard: only one of them can be used"
        )
    change = ""
    if discard is not None:
        rows, change = _run(address, table, lambda opened: _discard(opened, discard)), "discarded"
    elif replay is not None or replay_dead:
        rows, change = _run(address, table, lambda opened: _replay(opened, replay)), "waiting again"
    else:
        rows = _run(address, table, lambda opened: _list(opened, _states(dead, waiting, show_all)))
    has_dead = any(row["state"] == "dead" for row in rows)
    numbers, are = ", ".join(str(row["number"]) for row in rows), pluralize(len(rows), "is", "are")
    done = f"{pluralize(len(rows), 'postback')} {numbers} {are} {change}" if change and rows else ""
    with printing(ExitStatus.ATTENTION if has_dead else ExitStatus.DONE, done=done):
        print_json(rows) if as_json else print_table(rows, _HEADINGS, _cells, "No such postbacks in the inbox.")
        if has_dead and not as_json:
            print_advice(f"\n{WHAT_TO_DO}")


def read_dead(address: str, table: str) -> list[TableRow]:
    """Return the dead postbacks of an inbox.

    Raises:
        GatewayError: the inbox cannot be used.
        BadParameter: the file does not exist.
    """

    async def read() -> list[TableRow]:
        async with aclosing(_open(address, table)) as opened:
            return await _list(opened, [PostbackState.DEAD])

    return anyio.run(read)


def _run(address: str, table: str, operation: Callable[[Inbox], Awaitable[list[TableRow]]]) -> Any:
    """Open an inbox, run one operation on it, and close it."""

    async def run() -> list[TableRow]:
        async with aclosing(_open(address, table)) as opened:
            return await operation(opened)

    try:
        return anyio.run(run)
    except GatewayError as error:
        fail_with(error)
    except ModuleNotFoundError as error:
        fail(str(error))


def _open(address: str, table: str) -> Inbox:
    check_location("FILE", address)
    if is_address(address):
        return PostgresInbox(address, table=table, keep_days=_ALL_DAYS, create=False)
    path = Path(address)
    if not path.is_file() and not path.is_dir():
        raise typer.BadParameter(f"FILE: {address} does not exist")
    if path.is_file() and not path.stat().st_size:  # listing must not turn an empty file into an inbox
        raise InboxError(address, "it is empty")
    return SqliteInbox(path, keep_days=_ALL_DAYS)


def _states(dead: bool, waiting: bool, show_all: bool) -> tuple[PostbackState | None, ...]:
    if show_all:
        return (None,)
    return (*([] if dead else [PostbackState.WAITING]), *([] if waiting else [PostbackState.DEAD]))


async def _list(opened: Inbox, states: Iterable[PostbackState | None]) -> list[TableRow]:
    rows: list[TableRow] = []
    for state in states:
        after = 0
        while page := await opened.list(state, after=after, limit=_PAGE):
            rows += map(_row_of, page)
            after = page[-1].number
    return sorted(rows, key=lambda row: int(row["number"]))


async def _replay(opened: Inbox, number: int | None) -> list[TableRow]:
    """Make one postback waiting again, or all dead ones."""
    numbers = [number] if number is not None else [row["number"] for row in await _list(opened, [PostbackState.DEAD])]
    rows: list[TableRow] = []
    for each in numbers:
        if not await opened.replay(each):
            fail(f"--replay: no postback {each}")
        rows += await _row(opened, each)
    return rows


async def _discard(opened: Inbox, number: int) -> list[TableRow]:
    """Give up a dead postback."""
    if not await opened.discard(number):
        fail(f"--discard: no dead postback {number}")
    return await _row(opened, number)


async def _row(opened: Inbox, number: int) -> list[TableRow]:
    return [_row_of(stored) for stored in await opened.list(after=number - 1, limit=1)]


def _row_of(stored: StoredPostback) -> TableRow:
    postback = stored.postback
    return {
        "number": stored.number,
        "received_at": stored.received_at,
        "type": postback.type,
        "resource": postback.resource,
        "record_id": postback.record_id,
        "modified_ts": postback.modified_ts,
        "caught_up": postback.caught_up,
        "state": stored.state,
        "attempts": stored.attempts,
        "due_at": stored.due_at,
        "error": stored.error,
    }


def _cells(row: TableRow) -> list[Text]:
    return [
        Text(str(row["number"])),
        Text(f"{row['received_at']:%Y-%m-%d %H:%M:%S}"),
        Text(f"{row['resource']} {row['type']}"),
        Text(row["record_id"] or NONE),
        Text(row["state"], style=POSTBACK_COLORS.get(row["state"], "")),
        Text(str(row["attempts"])),
        Text(row["error"] or NONE),
    ]
