"""The runner: sends the rows of a migration until each is stored, rejected, unknown or skipped.

A row is in the journal before it is sent. A stored row is not sent again.
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
from gateway_async.migration.engine.concurrency_limiter import Pace
from gateway_async.migration.engine.journal_writer import Bookkeeping
from gateway_async.migration.engine.operations import RowOperations, Step, Vaults, reasons_of
from gateway_async.migration.engine.result_recorder import OnEnd, ResultRecorder
from gateway_async.migration.engine.row_allowance import RowAllowance, cap_reached
from gateway_async.migration.engine.row_queue import Feed
from gateway_async.migration.engine.row_task import Refusal, Row, RowTask, key_problems, row_given, row_task_of
from gateway_async.migration.engine.stop_signal import Halt, StoppedError, pause_after
from gateway_async.migration.journal.protocol import UNSETTLED, Journal, JournalEntry, RowState
from gateway_async.migration.report import Report

__all__ = ["Gateway", "Runner"]

_HOPELESS: Final = (AuthenticationError, ClientClosedError)
"""Errors that every other row would get too."""

_SUSPECT: Final = (PermissionDeniedError, NotFoundError, MethodNotAllowedError)
"""Errors of one row or of all rows. They belong to the row if others get a response meanwhile."""

_TRIES: Final = 5
"""Failed attempts after which an error that no other row gets counts as this row's error."""

_WORTH_SAYING: Final = 3.0
"""Seconds without a success after which the user sees the reason."""

_MOST_IN_DOUBT: Final = 1000


class Gateway(Protocol):
    """The part of `AsyncGateway` that a migration needs."""

    @property
    def account_vaults(self) -> Vaults:
        """The stored accounts."""
        ...


class Runner:
    """Processes rows until each has a result.

    Args:
        gateway: stores the accounts.
        journal: the record of what was done.
        name: name of the migration.
        pace: limits the concurrent calls.
        report: updated while rows end.
        allowance: the rows that may be stored; by default any number.
        on_row: called for every row that has ended, also for skipped ones.
        give_up_after: seconds without a single response, or without a writable journal, after which it stops.
    """

    def __init__(
        self,
        gateway: Gateway,
        journal: Journal,
        *,
        name: str,
        pace: Pace,
        report: Report,
        allowance: RowAllowance | None = None,
        on_row: OnEnd | None = None,
        give_up_after: float = 600.0,
    ) -> None:
        self._name = name
        self._pace = pace
        self._patience = give_up_after
        self._report = report
        self._allowance = allowance or RowAllowance(None)
        self._halt = Halt(report)
        self._journal_writer = Bookkeeping(journal, self._halt, give_up_after)
        self._results = ResultRecorder(report, self._journal_writer, self._allowance, on_row)
        self._asking = RowOperations(gateway.account_vaults, self._results)
        self._in_doubt: list[RowTask] | None = []
        self._failing_since: float | None = None
        self._failure = ""
        self._feed: Feed[Row, RowTask | Refusal] | None = None
        self._entering: set[anyio.CancelScope] = set()

    @property
    def waiting(self) -> str:
        """Return what it waits for, as text; "" if for nothing."""
        return "" if self._halt.why else self._journal_writer.waiting or self._silence()

    def stop(self, why: str) -> None:
        """Start no more rows. The first reason counts."""
        self._halt.ask(why)
        self._journal_writer.release()
        self._allowance.close()
        if self._feed:
            self._feed.close()
        for scope in self._entering:
            scope.cancel()

    async def run(self, rows: Iterable[Row] | AsyncIterable[Row], run: int) -> None:
        """Process all rows, then look up unresolved ones once more.

        Args:
            rows: the source of the rows.
            run: the number that the journal gave this run.

        Raises:
            Exception: the exception that `rows` raised. The rows before it have ended.
        """
        self._run = run
        feed = Feed(rows, self._begin, self._admit)
        try:
            await self._pass(feed)
            doubtful, self._in_doubt = self._in_doubt or [], None
            await self._settle_doubts(doubtful)
            await self._journal_writer.flush()
            self._note_cap()
        finally:
            self._journal_writer.not_sent(
                task.mark for task in feed.rest() if isinstance(task, RowTask) and task.known is None
            )
            with anyio.CancelScope(shield=True):
                await self.write()
        if feed.error is not None:
            raise feed.error

    async def write(self) -> None:
        """Pass the results to the journal. If that fails, they are kept for a later write."""
        await self._journal_writer.write()

    def _note_cap(self) -> None:
        """Stop with a reason if rows were held back by the allowance."""
        if self._allowance.exhausted and self._allowance.rows is not None and not self._halt.why:
            self._report.at_cap = True
            self._halt.ask(cap_reached(self._report, self._allowance.rows))

    async def _pass(self, feed: Feed[Row, RowTask | Refusal]) -> None:
        self._feed = feed
        async with anyio.create_task_group() as reading:
            reading.start_soon(feed.read)
            reading.start_soon(feed.begin)
            async with anyio.create_task_group() as workers:
                for _ in range(self._pace.ceiling):
                    workers.start_soon(self._work, feed)
            feed.close()
            self._allowance.close()

    async def _work(self, feed: Feed[Row, RowTask | Refusal]) -> None:
        while not self._halt.why and (task := await feed.next()) is not None:
            if isinstance(task, Refusal):
                self._results.refused(task, task.problems)
                continue
            is_admitted = task.admitted
            await self._carry(task)
            if is_admitted:
                self._allowance.finish()

    async def _settle_doubts(self, doubtful: Sequence[RowTask]) -> None:
        """Look up unresolved rows once more. Those left when the migration stops remain unknown."""
        left = deque(doubtful)

        async def look() -> None:
            while left and not self._halt.why:
                await self._find_or_store(left.popleft())

        async with anyio.create_task_group() as workers:
            for _ in range(min(self._pace.ceiling, len(left))):
                workers.start_soon(look)
        for task in left:
            self._results.left(task, self._halt.why)

    async def _begin(self, rows: Sequence[Row]) -> Sequence[RowTask | Refusal]:
        """Write rows to the journal before they are sent."""
        given = [self._turn(row) for row in rows]
        tasks = [task for task in given if isinstance(task, RowTask)]
        known = await self._journal_writer.begin([task.mark for task in tasks]) if tasks else []
        if known is None:
            self.stop(self._halt.why)
            return []
        for task, entry in zip(tasks, known, strict=True):
            task.known = entry
        return given

    def _turn(self, given: Row) -> RowTask | Refusal:
        row = row_given(given)
        problems = row.problems or tuple(key_problems(row))
        if row.request is None or problems:
            return Refusal(row, problems or ("row: there is nothing to be stored",))
        return row_task_of(row, row.request, self._name)

    async def _admit(self, task: RowTask | Refusal) -> bool:
        """Admit a row if it needs no sending, or when it has acquired one of the rows that may be stored."""
        if isinstance(task, Refusal) or not self._may_be_sent(task):
            return True
        task.admitted = await self._allowance.acquire()
        return task.admitted

    def _may_be_sent(self, task: RowTask) -> bool:
        known = task.known
        return known is None or (known.state in UNSETTLED and known.run != self._run)

    # --- one row

    async def _carry(self, task: RowTask) -> None:
        """Process a row according to its journal entry."""
        known = task.known
        if known is None:
            await self._settle(task, self._asking.store)
        elif known.run == self._run:
            self._results.rejected(task, (f"key: {_where(known)} has it too",), keep=False)
        elif known.state in UNSETTLED:
            await self._find_or_store(task)
        elif known.fingerprint != task.mark.fingerprint:
            reason = f"key: {_where(known)} is stored under it, with other content"
            self._results.rejected(task, (reason,), keep=False)
        elif known.state is RowState.REJECTED:
            self._results.rejected(task, known.reasons, keep=False)
        else:
            self._results.skipped(task, known)

    async def _find_or_store(self, task: RowTask) -> None:
        """Process a row that may have been sent."""
        task.sent = True
        await self._settle(task, self._asking.find)

    async def _settle(self, task: RowTask, step: Step) -> None:
        """Run step after step until the row has ended. Temporary errors are retried."""
        began, tries = anyio.current_time(), 0
        following: Step | None = step
        while following is not None:
            try:
                following = await self._in_turn(following, task)
                self._failing_since = None
            except StoppedError:
                return self._results.left(task, self._halt.why)
            except _HOPELESS as error:
                self.stop(str(error))
                return self._results.left(task, str(error))
            except GatewayError as error:
                tries += 1
                if isinstance(error, OutcomeUnknownError):
                    task.sent, following = True, partial(self._asking.resolve, doubt=error)
                if self._gives_up(task, error, tries, began):
                    return None
                await self._halt.sleep(pause_after(tries))
        return None

    async def _in_turn(self, step: Step, task: RowTask) -> Step | None:
        """Run one step when the limit and the rate allow it."""
        await self._enter()
        began = anyio.current_time()
        try:
            if self._journal_writer.waiting:
                await self._journal_writer.ready()
                began = anyio.current_time()
            if self._halt.why:
                raise StoppedError
            following: Step | None = await step(task)
            return following
        finally:
            self._pace.leave(anyio.current_time() - began)

    async def _enter(self) -> None:
        """Wait until the limit allows one more call. A stop of the migration ends the wait."""
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

    # --- when the gateway does not respond

    def _gives_up(self, task: RowTask, error: GatewayError, tries: int, began: float) -> bool:
        """Return whether a failed row is not tried again now."""
        now = self._note_failure(error)
        others_are_answered = self._asking.answered_at > began
        if isinstance(error, _SUSPECT) and tries >= _TRIES and not others_are_answered:
            self.stop(str(error))
        elif isinstance(error, _SUSPECT) and tries >= _TRIES and not task.sent:
            self._results.rejected(task, reasons_of(error))
            return True
        elif tries >= _TRIES and (others_are_answered or self._in_doubt is None):
            self._doubt(task, error)
            return True
        elif self._failing_since is not None and now >= self._failing_since + self._patience:
            self.stop(f"the gateway has answered nothing for {self._patience:g} s: {error}")
        if self._halt.why:
            self._results.left(task, str(error))
        return bool(self._halt.why)

    def _note_failure(self, error: GatewayError) -> float:
        now = anyio.current_time()
        self._failing_since = now if self._failing_since is None else self._failing_since
        self._failure = str(error)
        return now

    def _silence(self) -> str:
        """Return the last error if no call has succeeded for a while."""
        if self._failing_since is None:
            return ""
        seconds = anyio.current_time() - self._failing_since
        return f"no call has succeeded for {seconds:.0f} s: {self._failure}" if seconds >= _WORTH_SAYING else ""

    def _doubt(self, task: RowTask, error: GatewayError) -> None:
        """Keep an unresolved row for a lookup after all others, or record it as unknown."""
        if self._in_doubt is not None and len(self._in_doubt) < _MOST_IN_DOUBT:
            self._in_doubt.append(task)
        else:
            self._results.unknown(task, str(error))


def _where(entry: JournalEntry) -> str:
    return "another row" if entry.line is None else f"line {entry.line}"
