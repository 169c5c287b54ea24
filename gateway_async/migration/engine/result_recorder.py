"""Results of rows: counted in the report, written to the journal, and passed to the callback."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import attrs

from gateway_async._secrets import mask_text
from gateway_async.migration.engine.journal_writer import JournalWriter
from gateway_async.migration.engine.row_allowance import RowAllowance
from gateway_async.migration.engine.row_task import InvalidRow, RowTask, storable_key
from gateway_async.migration.journal.protocol import JournalEntry, RowResult, RowStarted, RowState
from gateway_async.migration.report import Report
from gateway_async.migration.rows.row import VaultRow
from gateway_async.models.account_vaults import AccountVault

__all__ = ["ResultRecorder", "RowCallback"]

RowCallback = Callable[[VaultRow, RowResult], object]


class ResultRecorder:
    """Records the results of rows.

    Args:
        report: counts the results.
        journal_writer: writes them to the journal.
        allowance: the rows that may be stored; a rejected row gives back what it acquired.
        on_row: called for every row that has ended, also for skipped ones.
    """

    def __init__(
        self, report: Report, journal_writer: JournalWriter, allowance: RowAllowance, on_row: RowCallback | None
    ) -> None:
        self._report = report
        self._journal_writer = journal_writer
        self._allowance = allowance
        self._on_row = on_row

    def record_stored(self, task: RowTask, vault: AccountVault) -> None:
        """Record that the row's account is stored."""
        self._report.stored += 1
        self._record(task.row, _result(task.journal_row, RowState.STORED, **_account_of(vault)))

    def record_skipped(self, task: RowTask, entry: JournalEntry) -> None:
        """Record that an earlier run has stored the row."""
        self._report.skipped += 1
        details = {"vault_id": entry.vault_id, "last_four": entry.last_four, "brand": entry.brand}
        self._call_back(task.row, _result(task.journal_row, RowState.STORED, **details))

    def record_rejected(self, task: RowTask, reasons: Sequence[str], *, api_id: str | None = None) -> None:
        """Record that the row is not stored; `api_id` is the id under which it was sent, if it has another one now."""
        self._return_allowance(task)
        self._report.rejected += 1
        journal_row = task.journal_row if api_id is None else attrs.evolve(task.journal_row, api_id=api_id)
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
        sent = task.journal_row
        if task.earlier_entry is not None:
            entry = task.earlier_entry
            sent = attrs.evolve(sent, api_id=entry.api_id, fingerprint=entry.fingerprint)
        self._record(task.row, _result(sent, RowState.UNKNOWN, reasons=_mask_all((reason,))))

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
