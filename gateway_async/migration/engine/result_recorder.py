"""Results of rows: counted in the report, written to the journal, and passed to the callback."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import attrs

from gateway_async._secrets import mask_text
from gateway_async.migration.engine.journal_writer import Bookkeeping
from gateway_async.migration.engine.row_allowance import RowAllowance
from gateway_async.migration.engine.row_task import Refusal, RowTask, key_problems
from gateway_async.migration.journal.protocol import JournalEntry, RowResult, RowStarted, RowState
from gateway_async.migration.report import Report
from gateway_async.migration.rows.row import VaultRow
from gateway_async.models.account_vaults import AccountVault

__all__ = ["OnEnd", "ResultRecorder"]

OnEnd = Callable[[VaultRow, RowResult], object]


class ResultRecorder:
    """Records the results of rows.

    Args:
        report: counts the results.
        journal_writer: writes them to the journal.
        allowance: the rows that may be stored; a rejected row gives its one back.
        on_row: called for every row that has ended, also for skipped ones.
    """

    def __init__(
        self, report: Report, journal_writer: Bookkeeping, allowance: RowAllowance, on_row: OnEnd | None
    ) -> None:
        self._report = report
        self._journal_writer = journal_writer
        self._allowance = allowance
        self._on_end = on_row

    def stored(self, task: RowTask, vault: AccountVault) -> None:
        """Record that the row's account is stored."""
        self._report.stored += 1
        brand = vault.account_type or vault.payment_method
        facts = {"vault_id": vault.id, "last_four": vault.last_four, "brand": None if brand is None else str(brand)}
        self._end(task.row, _end(task.mark, RowState.STORED, **facts))

    def skipped(self, task: RowTask, known: JournalEntry) -> None:
        """Record that an earlier run has stored the row."""
        self._report.skipped += 1
        facts = {"vault_id": known.vault_id, "last_four": known.last_four, "brand": known.brand}
        self._tell(task.row, _end(task.mark, RowState.STORED, **facts))

    def rejected(self, task: RowTask, reasons: Sequence[str], *, keep: bool = True) -> None:
        """Record that the row is not stored. Without `keep`, the journal keeps what it has under the row's key."""
        self._give_back(task)
        self._report.rejected += 1
        end = _end(task.mark, RowState.REJECTED, reasons=_shown(reasons))
        if keep:
            self._end(task.row, end)
        else:
            self._tell(task.row, end)

    def refused(self, task: RowTask | Refusal, reasons: Sequence[str]) -> None:
        """Record a row that was not sent. The next run checks it again, which costs no call."""
        self._report.rejected += 1
        row = task.row
        if isinstance(task, RowTask):
            self._give_back(task)
            mark = attrs.evolve(task.mark, fingerprint="")
        else:
            mark = RowStarted(key=row.key, api_id="", fingerprint="", line=row.line)
        end = _end(mark, RowState.REJECTED, reasons=_shown(reasons), begun=isinstance(task, RowTask))
        if any(key_problems(row)):
            self._tell(row, end)
        else:
            self._end(row, end)

    def unknown(self, task: RowTask, why: str) -> None:
        """Record that the row may be stored or not."""
        self._report.unknown += 1
        self._end(task.row, _end(task.mark, RowState.UNKNOWN, reasons=_shown((why,))))

    def left(self, task: RowTask, why: str) -> None:
        """Record a row that has not ended when the run stops."""
        if task.sent:
            self.unknown(task, why)
        elif task.known is None:
            self._journal_writer.not_sent([task.mark])

    def _give_back(self, task: RowTask) -> None:
        if task.admitted:
            task.admitted = False
            self._allowance.give_back()

    def _end(self, row: VaultRow, end: RowResult) -> None:
        self._journal_writer.end(end)
        self._tell(row, end)

    def _tell(self, row: VaultRow, end: RowResult) -> None:
        if self._on_end is not None:
            self._on_end(row, end)


def _end(mark: RowStarted, state: RowState, **facts: Any) -> RowResult:
    return RowResult(
        key=mark.key, api_id=mark.api_id, state=state, fingerprint=mark.fingerprint, line=mark.line, **facts
    )


def _shown(reasons: Iterable[str]) -> tuple[str, ...]:
    """Return reasons without card numbers and without characters that a journal cannot store."""
    return tuple(mask_text(said).replace("\0", "?").encode(errors="replace").decode() for said in reasons)
