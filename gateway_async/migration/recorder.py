"""Results of rows: counted in the report, written to the journal, and passed to the callback."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from itertools import count
from typing import Any, Final, TypeVar

import anyio
import attrs

from gateway_async._background import finish
from gateway_async._secrets import mask_text
from gateway_async._text import pluralize
from gateway_async.errors import JournalError
from gateway_async.migration.journal.protocol import Journal, JournalEntry, RowResult, RowStarted, RowState
from gateway_async.migration.report import Report
from gateway_async.migration.rows.row import InvalidRow, RowTask, VaultRow, storable_key
from gateway_async.migration.stop import RowAllowance, StopSignal, backoff
from gateway_async.models.account_vaults import AccountVault
from gateway_async.observe import logger

T = TypeVar("T")

_LAST_WRITE_SECONDS: Final = 10.0
"""Seconds that a cancellation waits for a journal that hangs. A batch takes milliseconds, on a busy disk seconds."""

_NOTHING_IS_LOST: Final = "nothing is lost, run the migration again: it looks up the rows whose results are missing"


class JournalWriter:
    """Writes the started rows and the results of a run to its journal, in batches. A failing disk is retried.

    Attributes:
        waits_for: why the journal cannot be written now, as text; "" if it can. Meanwhile nothing is sent.
    """

    def __init__(self, journal: Journal, stop_signal: StopSignal, give_up_after: float) -> None:
        self.waits_for = ""
        self._journal = journal
        self._stop_signal = stop_signal
        self._give_up_after = give_up_after
        self._results: list[RowResult] = []
        self._unsent: list[RowStarted] = []
        self._resumed = anyio.Event()
        self._write_lock = anyio.Lock()

    async def record_starts(self, rows: Sequence[RowStarted]) -> Sequence[JournalEntry | None] | None:
        """Write rows to the journal before they are sent.

        Returns the earlier entry of each row, or None if the run stops before the rows are written.

        After a failure the journal may contain the rows anyway, for example if the database's response was lost. Such
        rows are returned with their own numbers, as if an earlier run had started them.
        """
        return await self._retry(lambda: self._journal.record_starts(rows))

    def add_result(self, result: RowResult) -> None:
        """Add the result of a row; the next `write` passes it to the journal."""
        self._results.append(result)

    def discard_starts(self, rows: Iterable[RowStarted]) -> None:
        """Remove rows from the journal that were started and not sent."""
        self._unsent += rows

    async def write(self) -> None:
        """Pass the results to the journal. If that fails, they are kept for a later write."""
        try:
            await self._write_pending()
        except JournalError as error:
            kept = len(self._results)
            results = pluralize(kept, "result is", "results are")
            logger.warning("journal write failed, %d %s kept: %s", kept, results, error)

    async def write_last(self) -> None:
        """Write what is left at the end, also of a cancelled run."""
        if not await finish(self.write, _LAST_WRITE_SECONDS):
            left = len(self._results)
            results = pluralize(left, "result was", "results were")
            logger.warning(
                "%d %s not written within %g s, the next run looks these rows up", left, results, _LAST_WRITE_SECONDS
            )

    async def flush(self) -> None:
        """Write all results to disk."""
        await self._retry(self._flush)

    async def finish(self) -> None:
        """Write to disk that the input was read to its end."""
        await self._retry(self._journal.finish)

    async def ready(self) -> None:
        """Wait while the journal cannot be written, unless the run stops."""
        while self.waits_for and not self._stop_signal.reason:
            await self._resumed.wait()

    def release(self) -> None:
        """Wake all tasks that wait for the journal, because the run stops."""
        self._resumed.set()

    async def _flush(self) -> None:
        await self._write_pending()
        await self._journal.flush()

    async def _write_pending(self) -> None:
        async with self._write_lock:
            results, self._results = self._results, []
            unsent, self._unsent = self._unsent, []
            try:
                if unsent:
                    await self._journal.delete_unsent(unsent)
                    unsent = []
                if results:
                    await self._journal.record_results(results)
            except BaseException:
                self._results, self._unsent = results + self._results, unsent + self._unsent
                raise

    async def _retry(self, write: Callable[[], Awaitable[T]]) -> T | None:
        """Retry a write until it succeeds. Return None if the run stops."""
        until = anyio.current_time() + self._give_up_after
        for attempt in count(1):
            try:
                written = await write()
            except JournalError as error:
                self._pause_sending(error)
                if anyio.current_time() >= until:
                    self._stop_signal.set(f"{error}; {_NOTHING_IS_LOST}")
                if self._stop_signal.reason:
                    return None
            else:
                self.waits_for = ""
                self._resumed.set()
                return written
            await self._stop_signal.sleep(backoff(attempt))
        return None

    def _pause_sending(self, error: JournalError) -> None:
        if not self.waits_for:
            logger.warning("migration paused: %s", error)
            self._resumed = anyio.Event()
        self.waits_for = str(error)


RowCallback = Callable[[VaultRow, RowResult], object]


class ResultRecorder:
    """Records the results of rows. A rejected row gives back what it acquired of the allowance."""

    def __init__(
        self, report: Report, journal_writer: JournalWriter, allowance: RowAllowance, on_row: RowCallback | None
    ) -> None:
        self._report = report
        self._journal_writer = journal_writer
        self._allowance = allowance
        self._on_row = on_row

    async def record_sending(self, task: RowTask) -> None:
        """Write to disk that the row is sent with other content than in an earlier run."""
        self._journal_writer.add_result(_result(task.journal_row, RowState.SENDING))
        await self._journal_writer.flush()

    def record_stored(self, task: RowTask, vault: AccountVault) -> None:
        """Record that the row's account is stored."""
        self._report.stored += 1
        self._record(task.row, _result(task.sent_row, RowState.STORED, **_account_of(vault)))

    def record_skipped(self, task: RowTask, entry: JournalEntry) -> None:
        """Record that an earlier run has stored the row."""
        self._report.skipped += 1
        details = {"vault_id": entry.vault_id, "last_four": entry.last_four, "brand": entry.brand}
        self._call_back(task.row, _result(task.journal_row, RowState.STORED, **details))

    def record_rejected(self, task: RowTask, reasons: Sequence[str]) -> None:
        """Record that the row is not stored, with the id under which it was sent."""
        self._return_allowance(task)
        self._report.rejected += 1
        journal_row = attrs.evolve(task.journal_row, api_id=task.sent_row.api_id)
        self._record(task.row, _result(journal_row, RowState.REJECTED, reasons=_mask_all(reasons)))

    def record_still_rejected(self, task: RowTask, entry: JournalEntry) -> None:
        """Record an unchanged row that an earlier run rejected."""
        self._report.rejected += 1
        self._call_back(task.row, _result(task.journal_row, RowState.REJECTED, reasons=entry.reasons))

    def record_repeated(self, task: RowTask, reason: str) -> None:
        """Record that another row has the key. The entry of the key is not changed."""
        self._return_allowance(task)
        self._report.repeated += 1
        unsent = attrs.evolve(task.journal_row, api_id="", fingerprint="")
        self._record(task.row, _result(unsent, RowState.REPEATED, reasons=_mask_all((reason,)), started=False))

    def record_stored_earlier(self, entry: JournalEntry, vault: AccountVault) -> None:
        """Record that a former row of the key is stored."""
        self._journal_writer.add_result(_result(entry, RowState.STORED, **_account_of(vault)))

    def record_invalid(self, task: RowTask | InvalidRow, reasons: Sequence[str]) -> None:
        """Record a row that was not sent. The next run checks it again, which costs no call."""
        self._report.rejected += 1
        row, started = task.row, isinstance(task, RowTask)
        if isinstance(task, RowTask):
            self._return_allowance(task)
            journal_row = attrs.evolve(task.journal_row, fingerprint="")
        else:
            key = storable_key(row)
            journal_row = RowStarted(key=key, api_id="", fingerprint="", line=row.line, row_number=task.row_number)
        self._record(row, _result(journal_row, RowState.REJECTED, reasons=_mask_all(reasons), started=started))

    def record_unknown(self, task: RowTask, reason: str) -> None:
        """Record that the row may be stored, as it was sent."""
        self._report.unknown += 1
        self._record(task.row, _result(task.sent_row, RowState.UNKNOWN, reasons=_mask_all((reason,))))

    def record_unfinished(self, task: RowTask, reason: str) -> None:
        """Record a row that has not ended when the run stops."""
        if task.sent:
            self.record_unknown(task, reason)
        elif task.earlier_entry is None:
            self._journal_writer.discard_starts([task.journal_row])

    def _return_allowance(self, task: RowTask) -> None:
        if task.admitted:
            task.admitted = False
            self._allowance.release()

    def _record(self, row: VaultRow, result: RowResult) -> None:
        recorded = result if result.started else attrs.evolve(result, key=mask_text(result.key))
        self._journal_writer.add_result(recorded)
        self._call_back(row, result)

    def _call_back(self, row: VaultRow, result: RowResult) -> None:
        if self._on_row is not None:
            self._on_row(row, result)


def _result(journal_row: RowStarted | JournalEntry, state: RowState, **details: Any) -> RowResult:
    return RowResult(
        key=journal_row.key,
        api_id=journal_row.api_id,
        state=state,
        fingerprint=journal_row.fingerprint,
        line=journal_row.line,
        row_number=journal_row.row_number,
        **details,
    )


def _account_of(vault: AccountVault) -> dict[str, str | None]:
    brand = vault.account_type or vault.payment_method
    return {"vault_id": vault.id, "last_four": vault.last_four, "brand": None if brand is None else str(brand)}


def _mask_all(reasons: Iterable[str]) -> tuple[str, ...]:
    """Mask card numbers and replace characters that a journal cannot store."""
    return tuple(mask_text(reason).replace("\0", "?").encode(errors="replace").decode() for reason in reasons)
