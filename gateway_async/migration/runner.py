"""The runner: sends the rows of a migration until each is stored, rejected, repeated, unknown or skipped.

A row is in the journal before it is sent. A stored row is not sent again.
"""

from collections import deque
from collections.abc import AsyncGenerator, Sequence
from functools import partial
from typing import Final

import anyio

from gateway_async.client import AsyncGateway
from gateway_async.errors import (
    AuthenticationError,
    ClientClosedError,
    GatewayError,
    MethodNotAllowedError,
    NotFoundError,
    OutcomeUnknownError,
    PermissionDeniedError,
)
from gateway_async.migration.journal.protocol import UNRESOLVED_STATES, Journal, JournalEntry, RowState
from gateway_async.migration.limiter import ConcurrencyLimiter
from gateway_async.migration.operations import RowOperations, Step, reasons_from
from gateway_async.migration.queue import RowQueue
from gateway_async.migration.recorder import JournalWriter, ResultRecorder, RowCallback
from gateway_async.migration.report import Report
from gateway_async.migration.rows.row import (
    InputRow,
    InvalidRow,
    RowTask,
    as_vault_row,
    create_row_task,
    other_content,
    row_problems,
    same_key,
    with_former_key,
)
from gateway_async.migration.stop import RowAllowance, StoppedError, StopSignal, backoff, describe_cap

_FATAL: Final = (AuthenticationError, ClientClosedError)
"""Errors that every other row would get too."""

_AMBIGUOUS: Final = (PermissionDeniedError, NotFoundError, MethodNotAllowedError)
"""Errors of one row or of all rows. They belong to the row if others get a response meanwhile."""

_MAX_ATTEMPTS: Final = 5
"""Failed attempts after which an error belongs to the row, if other rows succeed meanwhile."""

_OUTAGE_SECONDS: Final = 3.0
"""Seconds without a success after which the user sees the reason."""

_MAX_DEFERRED: Final = 1000
"""Unresolved rows that are kept for a last lookup; more are recorded as unknown at once."""


class Runner:
    """Processes rows until each has a result; `report` is updated while they end.

    Args:
        has_former_keys: whether rows have the keys of an earlier version in the journal.
        on_row: called for every row that has ended, also for skipped ones.
        give_up_after: seconds without a single response, or without a writable journal, after which it stops.
    """

    def __init__(
        self,
        gateway: AsyncGateway,
        journal: Journal,
        *,
        name: str,
        has_former_keys: bool = False,
        limiter: ConcurrencyLimiter,
        report: Report,
        allowance: RowAllowance,
        on_row: RowCallback | None,
        give_up_after: float,
    ) -> None:
        self._name = name
        self._has_former_keys = has_former_keys
        self._run_number = 0
        self._row_number = 0
        self._limiter = limiter
        self._give_up_after = give_up_after
        self._report = report
        self._allowance = allowance
        self._stop_signal = StopSignal(report)
        self._journal_writer = JournalWriter(journal, self._stop_signal, give_up_after)
        self.write = self._journal_writer.write
        self._results = ResultRecorder(report, self._journal_writer, self._allowance, on_row)
        self._operations = RowOperations(gateway.account_vaults, self._results)
        self._deferred: list[RowTask] | None = []
        self._have_all_ended = False
        self._failing_since: float | None = None
        self._failure = ""
        self._queue: RowQueue[InputRow, RowTask | InvalidRow] | None = None
        self._waiting_scopes: set[anyio.CancelScope] = set()

    @property
    def waits_for(self) -> str:
        """Describe what the run is waiting for; "" if for nothing."""
        return "" if self._stop_signal.reason else self._journal_writer.waits_for or self._describe_outage()

    def stop(self, reason: str) -> None:
        """Start no more rows. The first reason counts.

        Once all rows have ended, there is nothing left to stop but the wait for a journal that cannot be written.
        """
        if self._have_all_ended and not self._journal_writer.waits_for:
            return
        self._stop_signal.set(reason)
        self._journal_writer.release()
        self._allowance.close()
        if self._queue:
            self._queue.close()
        for scope in self._waiting_scopes:
            scope.cancel()

    async def run(self, rows: AsyncGenerator[InputRow], run: int, *, is_shard: bool = False) -> None:
        """Process all rows, then look up unresolved ones once more.

        Args:
            rows: the source of the rows.
            run: the number of this run, or of the first run that counts as this one.
            is_shard: whether the input has other rows, which the journal must not forget.

        Raises:
            Exception: the exception that `rows` raised. The rows before it have ended.
        """
        self._run_number = run
        queue = RowQueue(rows, self._record_starts, self._admit, self._allowance.read_ahead)
        try:
            await self._process_all(queue)
            deferred, self._deferred = self._deferred or [], None
            await self._resolve_deferred(deferred)
            self._have_all_ended = not (self._stop_signal.reason or self._allowance.at_cap)
            await self._journal_writer.flush()
            self._check_cap()
            if queue.error is None and not self._stop_signal.reason and not is_shard:
                await self._journal_writer.finish()
        finally:
            self._journal_writer.discard_starts(
                task.journal_row
                for task in queue.remaining()
                if isinstance(task, RowTask) and task.earlier_entry is None
            )
            await self._journal_writer.write_last()
        if queue.error is not None:
            raise queue.error

    def _check_cap(self) -> None:
        if self._allowance.at_cap and self._allowance.rows is not None and not self._stop_signal.reason:
            self._report.at_cap = True
            self._stop_signal.set(describe_cap(self._report, self._allowance.rows))

    async def _process_all(self, queue: RowQueue[InputRow, RowTask | InvalidRow]) -> None:
        self._queue = queue
        async with anyio.create_task_group() as reader_tasks:
            reader_tasks.start_soon(queue.read)
            reader_tasks.start_soon(queue.start)
            async with anyio.create_task_group() as workers:
                for _ in range(self._limiter.ceiling):
                    workers.start_soon(self._work, queue)
            queue.close()
            self._allowance.close()

    async def _work(self, queue: RowQueue[InputRow, RowTask | InvalidRow]) -> None:
        while not self._stop_signal.reason and (task := await queue.get()) is not None:
            if isinstance(task, InvalidRow):
                self._results.record_invalid(task, task.problems)
                continue
            was_admitted = task.admitted
            await self._process(task)
            if was_admitted:
                self._allowance.finish()

    async def _resolve_deferred(self, deferred: Sequence[RowTask]) -> None:
        """Look up unresolved rows once more. Those left when the migration stops remain unknown."""
        left = deque(deferred)

        async def look_up() -> None:
            while left and not self._stop_signal.reason:
                await self._find_or_store(left.popleft())

        async with anyio.create_task_group() as workers:
            for _ in range(min(self._limiter.ceiling, len(left))):
                workers.start_soon(look_up)
        for task in left:
            self._results.record_unfinished(task, self._stop_signal.reason)

    async def _record_starts(self, rows: Sequence[InputRow]) -> Sequence[RowTask | InvalidRow]:
        given = [self._create_task(row) for row in rows]
        tasks = [task for task in given if isinstance(task, RowTask)]
        entries = await self._journal_writer.record_starts([task.journal_row for task in tasks]) if tasks else []
        if entries is None:
            self.stop(self._stop_signal.reason)
            return []
        for task, entry in zip(tasks, entries, strict=True):
            task.earlier_entry = entry
        return given

    def _create_task(self, given: InputRow) -> RowTask | InvalidRow:
        """Number a row and check it. Several files may follow each other, each with its own lines."""
        row = as_vault_row(given)
        self._row_number = max(self._row_number + 1, row.line or 0)
        row = with_former_key(row) if self._has_former_keys else row
        problems = row_problems(row)
        if row.request is None or problems:
            return InvalidRow(row, self._row_number, problems)
        return create_row_task(row, row.request, self._name, self._row_number)

    async def _admit(self, task: RowTask | InvalidRow) -> bool:
        """Admit a row that needs no allowance, or acquires one. Rows that are not sent need none."""
        if isinstance(task, InvalidRow) or not (task.earlier_entry is None or self._is_in_doubt(task)):
            return True
        task.admitted = await self._allowance.acquire()
        return task.admitted

    def _is_in_doubt(self, task: RowTask) -> bool:
        entry = task.earlier_entry
        if entry is None or self._is_repeated(task, entry):
            return False
        sent_as_another = entry.state is RowState.REJECTED and entry.api_id != task.journal_row.api_id
        return sent_as_another or entry.state in UNRESOLVED_STATES

    def _is_repeated(self, task: RowTask, entry: JournalEntry) -> bool:
        """Return whether this run has read the key in another row. After a failed write, a row is read once more."""
        return entry.read_by >= self._run_number and entry.row_number != task.journal_row.row_number

    # --- one row

    async def _process(self, task: RowTask) -> None:
        entry = task.earlier_entry
        if entry is None:
            await self._run_steps(task, self._operations.store)
        elif self._is_repeated(task, entry):
            self._results.record_repeated(task, same_key(entry.line))
        elif self._is_in_doubt(task):
            await self._find_or_store(task)
        elif entry.state is RowState.REJECTED:
            self._results.record_still_rejected(task, entry)
        elif task.has_changed:
            self._results.record_repeated(task, other_content(entry.line))
        else:
            self._results.record_skipped(task, entry)

    async def _find_or_store(self, task: RowTask) -> None:
        task.sent = True
        await self._run_steps(task, self._operations.find)

    async def _run_steps(self, task: RowTask, step: Step) -> None:
        """Run step after step until the row has ended. Temporary errors are retried."""
        started_at, attempts = anyio.current_time(), 0
        next_step: Step | None = step
        while next_step is not None:
            try:
                next_step = await self._run_step(next_step, task)
                self._failing_since = None
            except StoppedError:
                return self._results.record_unfinished(task, self._stop_signal.reason)
            except _FATAL as error:
                self.stop(str(error))
                return self._results.record_unfinished(task, str(error))
            except GatewayError as error:
                attempts += 1
                if isinstance(error, OutcomeUnknownError):
                    task.sent, next_step = True, partial(self._operations.resolve, error=error)
                if self._handle_failure(task, error, attempts, started_at):
                    return None
                await self._stop_signal.sleep(backoff(attempts))
        return None

    async def _run_step(self, step: Step, task: RowTask) -> Step | None:
        """Run one step when the limit and the rate allow it."""
        await self._acquire_slot()
        started_at = anyio.current_time()
        try:
            if self._journal_writer.waits_for:
                await self._journal_writer.ready()
                started_at = anyio.current_time()
            if self._stop_signal.reason:
                raise StoppedError
            next_step: Step | None = await step(task)
            return next_step
        finally:
            self._limiter.release(anyio.current_time() - started_at)

    async def _acquire_slot(self) -> None:
        """Wait until the limit allows one more call. A stop of the migration ends the wait."""
        if self._limiter.acquire_nowait():
            return
        with anyio.CancelScope() as waiting:
            self._waiting_scopes.add(waiting)
            try:
                await self._limiter.acquire()
            finally:
                self._waiting_scopes.discard(waiting)
        if waiting.cancelled_caught:
            raise StoppedError

    # --- when the gateway does not respond

    def _handle_failure(self, task: RowTask, error: GatewayError, attempts: int, started_at: float) -> bool:
        """Return whether the row has ended or is deferred. Otherwise it is tried again.

        After several attempts an error belongs to the row, if other rows succeed meanwhile: an unsent row with an
        ambiguous error is rejected, any other is deferred. If none succeeds, an ambiguous error stops the run at once,
        and any other error stops it after `give_up_after`.
        """
        now = anyio.current_time()
        self._failure = str(error)
        if self._failing_since is None:
            self._failing_since = now
        others_succeed = self._operations.last_response_at > started_at
        if isinstance(error, _AMBIGUOUS) and attempts >= _MAX_ATTEMPTS and not others_succeed:
            self.stop(str(error))
        elif isinstance(error, _AMBIGUOUS) and attempts >= _MAX_ATTEMPTS and not task.sent:
            self._results.record_rejected(task, reasons_from(error))
            return True
        elif attempts >= _MAX_ATTEMPTS and (others_succeed or self._deferred is None):
            self._defer(task, error)
            return True
        elif now >= self._failing_since + self._give_up_after:
            self.stop(f"no call has succeeded for {self._give_up_after:g} s: {error}")
        if self._stop_signal.reason:
            self._results.record_unfinished(task, str(error))
        return bool(self._stop_signal.reason)

    def _describe_outage(self) -> str:
        if self._failing_since is None:
            return ""
        seconds = anyio.current_time() - self._failing_since
        return f"no call has succeeded for {seconds:.0f} s: {self._failure}" if seconds >= _OUTAGE_SECONDS else ""

    def _defer(self, task: RowTask, error: GatewayError) -> None:
        """Defer an unresolved row to the end, or record it as unknown."""
        if self._deferred is not None and len(self._deferred) < _MAX_DEFERRED:
            self._deferred.append(task)
        else:
            self._results.record_unknown(task, str(error))
