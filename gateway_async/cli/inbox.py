"""`gateway-async inbox`: what waits in an inbox of postbacks, what is dead there, and having it handled again."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gateway_async.cli.failure import fail
from gateway_async.cli.json_lines import print_json

if TYPE_CHECKING:
    from gateway_async.postbacks import Inbox, Letter, LetterState

__all__ = ["inbox"]

MOST_SHOWN = 500
"""Rows of a table that anybody reads; JSON has no end."""

DEAD = 3
"""The exit status when something is dead, so that a script can tell it from a failure."""

WHAT_TO_DO = "--replay NUMBER or --replay-dead has them handled again, --discard NUMBER gives one up."
COLOURS = {"waiting": "yellow", "dead": "red", "handled": "green"}
_PAGE = 200
_FOR_EVER = 999_999.0
"""Days: whoever only looks forgets nothing."""


def inbox(
    place: Annotated[str, typer.Argument(metavar="FILE", help="An inbox's file, or postgresql://… of its database.")],
    *,
    dead: Annotated[bool, typer.Option("--dead", help="List only what was tried too often.")] = False,
    waiting: Annotated[bool, typer.Option("--waiting", help="List only what is to be handled.")] = False,
    show_all: Annotated[bool, typer.Option("--all", help="List what was handled, too.")] = False,
    replay: Annotated[
        int | None, typer.Option("--replay", metavar="NUMBER", help="Have one postback handled again.")
    ] = None,
    replay_dead: Annotated[bool, typer.Option("--replay-dead", help="Have all that is dead handled again.")] = False,
    discard: Annotated[
        int | None, typer.Option("--discard", metavar="NUMBER", help="Give up a dead one: it is not listed any more.")
    ] = None,
    table: Annotated[str, typer.Option("--table", help="The inbox's table in PostgreSQL.")] = "postback_inbox",
    as_json: Annotated[bool, typer.Option("--json", help="Print one line of JSON for each postback.")] = False,
) -> None:
    """List the postbacks of an inbox that wait or are dead, the oldest first, or have them handled again.

    What is handled again waits for the program that works on the inbox; a state older than one that was handled is told
    to handlers only that asked for such. What is handled, or given up, is removed by itself after the inbox's
    `keep_days`; what is dead stays until it is one of them. The exit status is 0 when nothing listed is dead, 3 when
    something is, and 1 when the inbox cannot be used.
    """
    if dead + waiting + show_all + (replay is not None) + replay_dead + (discard is not None) > 1:
        raise typer.BadParameter("only one of --dead, --waiting, --all, --replay, --replay-dead, --discard")
    if discard is not None:
        rows = _answer(place, table, lambda opened: _discarded(opened, discard))
    elif replay is not None or replay_dead:
        rows = _answer(place, table, lambda opened: _replayed(opened, replay))
    else:
        rows = _answer(place, table, lambda opened: _listed(opened, _wanted(dead, waiting, show_all)))
    print_json(rows) if as_json else _print_table(rows)
    if any(row["state"] == "dead" for row in rows):
        raise typer.Exit(DEAD)


def _answer(place: str, table: str, question: "Callable[[Inbox], Awaitable[list[dict[str, Any]]]]") -> Any:
    """What an inbox says to a question."""
    import anyio

    from gateway_async import GatewayError

    async def answer() -> list[dict[str, Any]]:
        opened = _opened(place, table)
        try:
            return await question(opened)
        finally:
            await opened.aclose()

    try:
        return anyio.run(answer)
    except (GatewayError, ModuleNotFoundError) as error:
        fail(str(error))


def _opened(place: str, table: str) -> "Inbox":
    from gateway_async.postbacks import PostgresInbox, SqliteInbox

    if place.startswith(("postgresql://", "postgres://")):
        return PostgresInbox(place, table=table, keep_days=_FOR_EVER, create=False)
    path = Path(place)
    if not path.is_file() and not path.is_dir():
        raise typer.BadParameter(f"file '{place}' does not exist")
    if path.is_file() and not path.stat().st_size:
        fail(f"the inbox {place} cannot be used: it is empty")  # not to be made one by looking
    return SqliteInbox(path, keep_days=_FOR_EVER)


def _wanted(dead: bool, waiting: bool, show_all: bool) -> "tuple[LetterState | None, ...]":
    from gateway_async.postbacks import LetterState

    if show_all:
        return (None,)
    wanted = ((LetterState.WAITING, not dead), (LetterState.DEAD, not waiting))
    return tuple(state for state, is_wanted in wanted if is_wanted)


async def _listed(opened: "Inbox", states: "Iterable[LetterState | None]") -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for state in states:
        rows += [_row_of(letter) async for letter in _letters(opened, state)]
    return sorted(rows, key=lambda row: int(row["number"]))


async def _letters(opened: "Inbox", state: "LetterState | None") -> "AsyncIterator[Letter]":
    """All of a state, a page at a time: a record may be large."""
    after = 0
    while page := await opened.letters(state, after=after, limit=_PAGE):
        for letter in page:
            yield letter
        after = page[-1].number


async def _replayed(opened: "Inbox", number: int | None) -> list[dict[str, Any]]:
    """Have one handled again, or all that are dead."""
    from gateway_async.postbacks import LetterState

    numbers = [number] if number is not None else [row["number"] for row in await _listed(opened, [LetterState.DEAD])]
    rows: list[dict[str, Any]] = []
    for each in numbers:
        if not await opened.replay(each):
            fail(f"--replay: there is no postback {each}")
        rows += await _row(opened, each)
    return rows


async def _discarded(opened: "Inbox", number: int) -> list[dict[str, Any]]:
    """Give a dead one up."""
    if not await opened.discard(number):
        fail(f"--discard: there is no dead postback {number}")
    return await _row(opened, number)


async def _row(opened: "Inbox", number: int) -> list[dict[str, Any]]:
    return [_row_of(letter) for letter in await opened.letters(after=number - 1, limit=1)]


def _row_of(letter: "Letter") -> dict[str, Any]:
    postback = letter.postback
    return {
        "number": letter.number,
        "came_at": letter.came_at,
        "type": postback.type,
        "resource": postback.resource,
        "record_id": postback.record_id,
        "modified_ts": postback.modified_ts,
        "reconciled": postback.reconciled,
        "state": letter.state,
        "attempts": letter.attempts,
        "due_at": letter.due_at,
        "error": letter.error,
    }


def _print_table(rows: list[dict[str, Any]]) -> None:
    console = Console()
    if not rows:
        console.print(Text("There is nothing of that kind in the inbox.", style="green"))
        return
    table = Table("number", "came at (UTC)", "what", "record", "state", "attempts", "error", box=None)
    for row in rows[:MOST_SHOWN]:
        table.add_row(*_cells(row))
    console.print(table)
    if len(rows) > MOST_SHOWN:
        console.print(f"… and {len(rows) - MOST_SHOWN} more; --json lists all.")
    if any(row["state"] == "dead" for row in rows):
        console.print(Text(f"\n{WHAT_TO_DO}", style="dim"), soft_wrap=True)


def _cells(row: dict[str, Any]) -> list[Text]:
    return [
        Text(str(row["number"])),
        Text(f"{row['came_at']:%Y-%m-%d %H:%M:%S}"),
        Text(f"{row['resource']} {row['type']}", overflow="fold"),
        Text(row["record_id"] or "–", overflow="fold"),
        Text(row["state"], style=COLOURS.get(row["state"], "")),
        Text(str(row["attempts"])),
        Text(row["error"] or "–", overflow="fold"),
    ]
