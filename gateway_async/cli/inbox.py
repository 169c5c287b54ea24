"""`gateway-async inbox`: list the waiting and dead postbacks of an inbox, replay them or discard them."""

from collections.abc import Iterable
from contextlib import aclosing
from typing import Annotated, Final

import anyio
import attrs
from rich.text import Text
from typer import Argument, BadParameter, Option

from gateway_async._secrets import is_address
from gateway_async._text import pluralize
from gateway_async.cli.command import AsJson
from gateway_async.cli.output import (
    ALL_DAYS,
    ExitStatus,
    TableColumns,
    TableRow,
    attributes,
    check_location,
    fail,
    format_time,
    print_advice,
    print_rows,
    printing,
)
from gateway_async.postbacks import Inbox, PostbackState, PostgresInbox, SqliteInbox, StoredPostback

_ADVICE: Final = "--replay NUMBER or --replay-dead: handle again. --discard NUMBER: give up a dead postback."
_COLORS: Final = {"waiting": "yellow", "dead": "red", "handled": "green"}
_COLUMNS: Final[TableColumns] = {
    "number": "number",
    "received at (UTC)": lambda row: format_time(row["received_at"]),
    "change": lambda row: f"{row['resource']} {row['type']}",
    "record": "record_id",
    "state": lambda row: Text(row["state"], style=_COLORS.get(row["state"], "")),
    "attempts": "attempts",
    "error": "error",
}
_PAGE: Final = 200
_MAX: Final = 2**63 - 1


@attrs.frozen(kw_only=True)
class InboxCommand:
    """List the waiting and dead postbacks of an inbox, or replay them.

    Replayed postbacks wait for the program that handles the inbox. A state older than a handled one is passed only to
    handlers registered with `include_stale=True`. Handled and discarded postbacks are removed after the inbox's
    `keep_days`; dead ones are kept.

    Exit status:
    - 0: no listed postback is dead
    - 1: the inbox cannot be used
    - 2: wrong usage, or the file does not exist
    - 3: a listed postback is dead
    """

    location: Annotated[str, Argument(metavar="FILE", help="Inbox: a file or postgresql://…")]
    dead: Annotated[bool, Option("--dead", help="List dead postbacks only.")] = False
    waiting: Annotated[bool, Option("--waiting", help="List waiting postbacks only.")] = False
    show_all: Annotated[bool, Option("--all", help="List handled postbacks too.")] = False
    replay: Annotated[int | None, Option(min=1, max=_MAX, metavar="NUMBER", help="Handle one postback again.")] = None
    replay_dead: Annotated[bool, Option("--replay-dead", help="Handle all dead postbacks again.")] = False
    discard: Annotated[int | None, Option(min=1, max=_MAX, metavar="NUMBER", help="Give up one dead postback.")] = None
    table: Annotated[str, Option(metavar="TABLE", help="Table of the inbox in PostgreSQL.")] = "postback_inbox"
    as_json: AsJson = False

    def run(self) -> None:
        """List, replay or discard postbacks."""
        given = (self.dead, self.waiting, self.show_all, self.replay_dead)
        if sum(given) + (self.replay is not None) + (self.discard is not None) > 1:
            raise BadParameter(
                "--dead, --waiting, --all, --replay, --replay-dead, --discard: only one of them can be used"
            )
        rows, change = anyio.run(self._run)
        has_dead = any(row["state"] == "dead" for row in rows)
        numbers, are = ", ".join(str(row["number"]) for row in rows), pluralize(len(rows), "is", "are")
        done = f"{pluralize(len(rows), 'postback')} {numbers} {are} {change}" if change and rows else ""
        with printing(ExitStatus.ATTENTION if has_dead else ExitStatus.DONE, done=done):
            print_rows(rows, _COLUMNS, "No such postbacks in the inbox.", as_json=self.as_json)
            print_advice(f"\n{_ADVICE}" if has_dead and not self.as_json else "")

    async def _run(self) -> tuple[list[TableRow], str]:
        """Return the rows, and what was done to their postbacks; "" if they are only listed."""
        async with aclosing(open_inbox(self.location, self.table)) as inbox:
            if self.discard is not None:
                return await _discard(inbox, self.discard), "discarded"
            if self.replay is not None:
                return await _replay(inbox, [self.replay]), "waiting again"
            if self.replay_dead:
                dead = await _list(inbox, [PostbackState.DEAD])
                return await _replay(inbox, [row["number"] for row in dead]), "waiting again"
            return await _list(inbox, self._states), ""

    @property
    def _states(self) -> tuple[PostbackState | None, ...]:
        """The states to list; None for all."""
        if self.show_all:
            return (None,)
        return (*([] if self.dead else [PostbackState.WAITING]), *([] if self.waiting else [PostbackState.DEAD]))


def open_inbox(location: str, table: str) -> PostgresInbox | SqliteInbox:
    """Open an inbox that exists.

    Raises:
        InvalidRequestError: the address is invalid, or the file does not exist or is empty.
    """
    check_location("FILE", location, must_exist=True)
    if is_address(location):
        return PostgresInbox(location, table=table, keep_days=ALL_DAYS, create=False)
    return SqliteInbox(location, keep_days=ALL_DAYS)


async def _list(inbox: Inbox, states: Iterable[PostbackState | None]) -> list[TableRow]:
    rows: list[TableRow] = []
    for state in states:
        after = 0
        while page := await inbox.list(state, after=after, limit=_PAGE):
            rows += map(_row_of, page)
            after = page[-1].number
    return sorted(rows, key=lambda row: int(row["number"]))


async def _replay(inbox: Inbox, numbers: Iterable[int]) -> list[TableRow]:
    """Make postbacks waiting again."""
    rows: list[TableRow] = []
    for number in numbers:
        if not await inbox.replay(number):
            fail(f"--replay: no postback {number}")
        rows += await _read(inbox, number)
    return rows


async def _discard(inbox: Inbox, number: int) -> list[TableRow]:
    """Give up a dead postback."""
    if not await inbox.discard(number):
        fail(f"--discard: no dead postback {number}")
    return await _read(inbox, number)


async def _read(inbox: Inbox, number: int) -> list[TableRow]:
    return [_row_of(stored) for stored in await inbox.list(after=number - 1, limit=1)]


def _row_of(stored: StoredPostback) -> TableRow:
    return {
        **attributes(stored, "number", "received_at"),
        **attributes(stored.postback, "type", "resource", "record_id", "modified_ts", "caught_up"),
        **attributes(stored, "state", "attempts", "due_at", "error"),
    }
