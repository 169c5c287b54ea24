"""Results of rows: counted in the report, written to the journal, and passed to the callback."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import attrs

from gateway_async._secrets import mask_text
from gateway_async.migration.engine.journal_writer import JournalWriter
from gateway_async.migration.engine.row_allowance import RowAllowance
from gateway_async.migration.engine.row_task import InvalidRow, RowTask, key_problems
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
        brand = vault.account_type or vault.payment_method
        details = {"vault_id": vault.id, "last_four": vault.last_four, "brand": None if brand is None else str(brand)}
        self._record(task.row, _result(task.journal_row, RowState.STORED, **details))

    def record_skipped(self, task: RowTask, entry: JournalEntry) -> None:
        """Record that an earlier run has stored the row."""
        self._report.skipped += 1
        details = {"vault_id": entry.vault_id, "last_four": entry.last_four, "brand": entry.brand}
        self._call_back(task.row, _result(task.journal_row, RowState.STORED, **details))

    def record_rejected(self, task: RowTask, reasons: Sequence[str], *, keep: bool = True) -> None:
        """Record that the row is not stored. If `keep` is false, the journal's entry of its key is not changed."""
        self._return_allowance(task)
        self._report.rejected += 1
        result = _result(task.journal_row, RowState.REJECTED, reasons=_mask_all(reasons))
        if keep:
            self._record(task.row, result)
        else:
            self._call_back(task.row, result)

    def record_invalid(self, task: RowTask | InvalidRow, reasons: Sequence[str]) -> None:
        """Record a row that was not sent. The next run checks it again, which costs no call."""
        self._report.rejected += 1
        row = task.row
        if isinstance(task, RowTask):
            self._return_allowance(task)
            journal_row = attrs.evolve(task.journal_row, fingerprint="")
        else:
            journal_row = RowStarted(key=row.key, api_id="", fingerprint="", line=row.line)
        result = _result(journal_row, RowState.REJECTED, reasons=_mask_all(reasons), started=isinstance(task, RowTask))
        if any(key_problems(row)):
            self._call_back(row, result)
        else:
            self._record(row, result)

    def record_unknown(self, task: RowTask, reason: str) -> None:
        """Record that the row may be stored or not."""
        self._report.unknown += 1
        self._record(task.row, _result(task.journal_row, RowState.UNKNOWN, reasons=_mask_all((reason,))))

    def record_unfinished(self, task: RowTask, reason: str) -> None:
        """Record a row that has not ended when the run stops."""
        if task.sent:
            self.record_unknown(task, reason)
        elif task.earlier_entry is None:
            self._journal_writer.discard_starts([task.journal_row])

    def _return_allowance(self, task: RowTask) -> None:
        if task.admitted:
            task.admitted = False
            self._allowance.give_back()

    def _record(self, row: VaultRow, result: RowResult) -> None:
        self._journal_writer.add_result(result)
        self._call_back(row, result)

    def _call_back(self, row: VaultRow, result: RowResult) -> None:
        if self._on_row is not None:
            self._on_row(row, result)


def _result(journal_row: RowStarted, state: RowState, **details: Any) -> RowResult:
    return RowResult(
        key=journal_row.key,
        api_id=journal_row.api_id,
        state=state,
        fingerprint=journal_row.fingerprint,
        line=journal_row.line,
        **details,
    )


def _mask_all(reasons: Iterable[str]) -> tuple[str, ...]:
    """Mask card numbers and replace characters that a journal cannot store."""
    return tuple(mask_text(reason).replace("\0", "?").encode(errors="replace").decode() for reason in reasons)
