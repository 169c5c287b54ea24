"""The rows of a migration, each to its end: stored, rejected, unknown or skipped.

The law of this file: a row is in the journal before it is sent; and what is stored is not sent.
"""

from collections import deque
from collections.abc import AsyncIterable, Iterable, Sequence
from functools import partial
from typing import Final, Protocol

import anyio

from gateway_async.errors import (
    AuthenticationError,
    ClientClosedError,
    GatewayError,
    MethodNotAllowedError,
    NotFoundError,
    OutcomeUnknownError,
    PermissionDeniedError,
)
from gateway_async.migration.asking import Asking, Step, Vaults, reasons_of
from gateway_async.migration.bookkeeping import Bookkeeping
from gateway_async.migration.endings import Endings, OnEnd
from gateway_async.migration.feed import Feed
from gateway_async.migration.halting import Halt, StoppedError, pause_after
from gateway_async.migration.journal import UNSETTLED, Entry, Journal, RowState
from gateway_async.migration.pace import Pace
from gateway_async.migration.report import Report
from gateway_async.migration.turns import Row, Turn, key_problems, row_given, turn_of

__all__ = ["Gateway", "Runner"]

_HOPELESS: Final = (AuthenticationError, ClientClosedError)
"""What every other row would end with, too."""

_SUSPECT: Final = (PermissionDeniedError, NotFoundError, MethodNotAllowedError)
"""What may be the row's fault, or everybody's: it is the row's if others are answered meanwhile."""

_TRIES: Final = 5
"""After so many, what is no other row's trouble is this row's."""

_WORTH_SAYING: Final = 3.0
"""Seconds without a success after which a user is told what is the matter."""

_MOST_IN_DOUBT: Final = 1000


class Gateway(Protocol):
    """What a migration needs of an `AsyncGateway`."""

    @property
    def account_vaults(self) -> Vaults:
        """The stored accounts."""
        ...


class Runner:
    """Carries rows to their end.

    Args:
        gateway: stores the accounts.
        journal: knows what was done.
        name: of the migration.
        pace: how many at once.
        report: is kept up to date.
        on_end: told of every row that has ended, skipped ones too.
        patience: seconds without a single answer, or without a journal, after which it gives up.
    """

    def __init__(
        self,
        gateway: Gateway,
        journal: Journal,
        *,
        name: str,
        pace: Pace,
        report: Report,
        on_end: OnEnd | None = None,
        patience: float = 600.0,
    ) -> None:
        self._name = name
        self._pace = pace
        self._patience = patience
        self._halt = Halt(report)
        self._books = Bookkeeping(journal, self._halt, patience)
        self._endings = Endings(report, self._books, on_end)
        self._asking = Asking(gateway.account_vaults, self._endings)
        self._in_doubt: list[Turn] | None = []
        self._failing_since: float | None = None
        self._failure = ""
        self._feed: Feed[Row, Turn] | None = None
        self._entering: set[anyio.CancelScope] = set()

    @property
    def waiting(self) -> str:
        """What it waits for, in words; "" if for nothing."""
        return "" if self._halt.why else self._books.waiting or self._silence()

    def stop(self, why: str) -> None:
        """Begin no more rows; the first reason counts."""
        self._halt.ask(why)
        self._books.release()
        if self._feed:
            self._feed.close()
        for scope in self._entering:
            scope.cancel()

    async def run(self, rows: Iterable[Row] | AsyncIterable[Row], run: int) -> None:
        """Carry all rows to their end; those in doubt are looked up once more when all others have ended.

        Args:
            rows: where they come from.
            run: the number that the journal gave this run.

        Raises:
            Exception: what `rows` raised; those before it have ended.
        """
        self._run = run
        feed = Feed(rows, self._begin)
        try:
            await self._pass(feed)
            doubtful, self._in_doubt = self._in_doubt or [], None
            await self._settle_doubts(doubtful)
            await self._books.flush()
        finally:
            self._books.not_sent(turn.mark for turn in feed.rest() if turn.known is None)
            with anyio.CancelScope(shield=True):
                await self.write()
        if feed.error is not None:
            raise feed.error

    async def write(self) -> None:
        """Give the journal what has ended. If it takes nothing now, it gets it later."""
        await self._books.write()

    async def _pass(self, feed: Feed[Row, Turn]) -> None:
        self._feed = feed
        async with anyio.create_task_group() as reading:
            reading.start_soon(feed.read)
            reading.start_soon(feed.begin)
            async with anyio.create_task_group() as workers:
                for _ in range(self._pace.ceiling):
                    workers.start_soon(self._work, feed)
            feed.close()

    async def _work(self, feed: Feed[Row, Turn]) -> None:
        while not self._halt.why and (turn := await feed.next()) is not None:
            await self._carry(turn)

    async def _settle_doubts(self, doubtful: Sequence[Turn]) -> None:
        """Look once more; what is not looked at because the migration stops stays unknown."""
        left = deque(doubtful)

        async def look() -> None:
            while left and not self._halt.why:
                await self._find_or_store(left.popleft())

        async with anyio.create_task_group() as workers:
            for _ in range(min(self._pace.ceiling, len(left))):
                workers.start_soon(look)
        for turn in left:
            self._endings.left(turn, self._halt.why)

    async def _begin(self, rows: Sequence[Row]) -> Sequence[Turn]:
        """Note rows in the journal before they are sent. Those that cannot be sent end here."""
        turns = [turn for turn in map(self._turn, rows) if turn is not None]
        known = await self._books.begin([turn.mark for turn in turns]) if turns else []
        if known is None:
            self.stop(self._halt.why)
            return []
        for turn, entry in zip(turns, known, strict=True):
            turn.known = entry
        return turns

    def _turn(self, given: Row) -> Turn | None:
        row = row_given(given)
        problems = row.problems or tuple(key_problems(row))
        if row.request is None or problems:
            self._endings.refused(row, problems or ("row: there is nothing to be stored",))
            return None
        return turn_of(row, row.request, self._name)

    # --- one row

    async def _carry(self, turn: Turn) -> None:
        """A row, by what the journal knew of it."""
        known = turn.known
        if known is None:
            await self._settle(turn, self._asking.store)
        elif known.run == self._run:
            self._endings.rejected(turn, (f"key: {_where(known)} has it too",), keep=False)
        elif known.state in UNSETTLED:
            await self._find_or_store(turn)
        elif known.fingerprint != turn.mark.fingerprint:
            reason = f"key: {_where(known)} is stored under it, with other content"
            self._endings.rejected(turn, (reason,), keep=False)
        elif known.state is RowState.REJECTED:
            self._endings.rejected(turn, known.reasons, keep=False)
        else:
            self._endings.skipped(turn, known)

    async def _find_or_store(self, turn: Turn) -> None:
        """A row that may have been sent."""
        turn.sent = True
        await self._settle(turn, self._asking.find)

    async def _settle(self, turn: Turn, step: Step) -> None:
        """Go on step by step until the row has ended; what passes is waited for."""
        began, tries = anyio.current_time(), 0
        following: Step | None = step
        while following is not None:
            try:
                following = await self._in_turn(following, turn)
                self._failing_since = None
            except StoppedError:
                return self._endings.left(turn, self._halt.why)
            except _HOPELESS as error:
                self.stop(str(error))
                return self._endings.left(turn, str(error))
            except GatewayError as error:
                tries += 1
                if isinstance(error, OutcomeUnknownError):
                    turn.sent, following = True, partial(self._asking.resolve, doubt=error)
                if self._gives_up(turn, error, tries, began):
                    return None
                await self._halt.sleep(pause_after(tries))
        return None

    async def _in_turn(self, step: Step, turn: Turn) -> Step | None:
        """One step, when there is a place for it, and its time has come."""
        await self._enter()
        began = anyio.current_time()
        try:
            if self._books.waiting:
                await self._books.ready()
                began = anyio.current_time()
            if self._halt.why:
                raise StoppedError
            following: Step | None = await step(turn)
            return following
        finally:
            self._pace.leave(anyio.current_time() - began)

    async def _enter(self) -> None:
        """Wait for a place; a pause of minutes ends when the migration stops."""
        if self._pace.enter_at_once():
            return
        with anyio.CancelScope() as entering:
            self._entering.add(entering)
            try:
                await self._pace.enter()
            finally:
                self._entering.discard(entering)
        if entering.cancelled_caught:
            raise StoppedError

    # --- when the gateway does not answer

    def _gives_up(self, turn: Turn, error: GatewayError, tries: int, began: float) -> bool:
        """Whether a row that failed is not tried again, now."""
        now = self._note_failure(error)
        others_are_answered = self._asking.answered_at > began
        if isinstance(error, _SUSPECT) and tries >= _TRIES and not others_are_answered:
            self.stop(str(error))
        elif isinstance(error, _SUSPECT) and tries >= _TRIES and not turn.sent:
            self._endings.rejected(turn, reasons_of(error))
            return True
        elif tries >= _TRIES and (others_are_answered or self._in_doubt is None):
            self._doubt(turn, error)
            return True
        elif self._failing_since is not None and now >= self._failing_since + self._patience:
            self.stop(f"the gateway has answered nothing for {self._patience:g} s: {error}")
        if self._halt.why:
            self._endings.left(turn, str(error))
        return bool(self._halt.why)

    def _note_failure(self, error: GatewayError) -> float:
        now = anyio.current_time()
        self._failing_since = now if self._failing_since is None else self._failing_since
        self._failure = str(error)
        return now

    def _silence(self) -> str:
        """What is the matter with the gateway, if nothing has succeeded for a while."""
        if self._failing_since is None:
            return ""
        seconds = anyio.current_time() - self._failing_since
        return f"no call has succeeded for {seconds:.0f} s: {self._failure}" if seconds >= _WORTH_SAYING else ""

    def _doubt(self, turn: Turn, error: GatewayError) -> None:
        """A row of which nobody knows: looked up when all others have ended, or left to the next run."""
        if self._in_doubt is not None and len(self._in_doubt) < _MOST_IN_DOUBT:
            self._in_doubt.append(turn)
        else:
            self._endings.unknown(turn, str(error))


def _where(entry: Entry) -> str:
    return "another row" if entry.line is None else f"line {entry.line}"
