"""How a row ends: counted in the report, noted in the journal, and told to whoever wants to hear of it."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import attrs

from gateway_async._secrets import mask_text
from gateway_async.migration.bookkeeping import Bookkeeping
from gateway_async.migration.journal import Begin, End, Entry, RowState
from gateway_async.migration.report import Report
from gateway_async.migration.rows import VaultRow
from gateway_async.migration.turns import Turn, key_problems
from gateway_async.models.account_vaults import AccountVault

__all__ = ["Endings", "OnEnd"]

OnEnd = Callable[[VaultRow, End], object]


class Endings:
    """Where rows end.

    Args:
        report: counts them.
        books: note them.
        on_end: told of every row that has ended, skipped ones too.
    """

    def __init__(self, report: Report, books: Bookkeeping, on_end: OnEnd | None) -> None:
        self._report = report
        self._books = books
        self._on_end = on_end

    def stored(self, turn: Turn, vault: AccountVault) -> None:
        """Its account is stored."""
        self._report.stored += 1
        brand = vault.account_type or vault.payment_method
        facts = {"vault_id": vault.id, "last_four": vault.last_four, "brand": None if brand is None else str(brand)}
        self._end(turn.row, _end(turn.mark, RowState.STORED, **facts))

    def skipped(self, turn: Turn, known: Entry) -> None:
        """An earlier run has stored it."""
        self._report.skipped += 1
        facts = {"vault_id": known.vault_id, "last_four": known.last_four, "brand": known.brand}
        self._tell(turn.row, _end(turn.mark, RowState.STORED, **facts))

    def rejected(self, turn: Turn, reasons: Sequence[str], *, keep: bool = True) -> None:
        """It is not stored; the journal keeps it unless it has something else under its key."""
        self._report.rejected += 1
        end = _end(turn.mark, RowState.REJECTED, reasons=_shown(reasons))
        if keep:
            self._end(turn.row, end)
        else:
            self._tell(turn.row, end)

    def refused(self, row: VaultRow, reasons: Sequence[str], mark: Begin | None = None) -> None:
        """It was not even sent. It is looked at again by the next run: that costs nothing."""
        self._report.rejected += 1
        mark, begun = mark or Begin(key=row.key, api_id="", fingerprint="", line=row.line), mark is not None
        mark = attrs.evolve(mark, fingerprint="")
        end = _end(mark, RowState.REJECTED, reasons=_shown(reasons), begun=begun)
        if any(key_problems(row)):
            self._tell(row, end)
        else:
            self._end(row, end)

    def unknown(self, turn: Turn, why: str) -> None:
        """Nobody knows whether it is stored."""
        self._report.unknown += 1
        self._end(turn.row, _end(turn.mark, RowState.UNKNOWN, reasons=_shown((why,))))

    def left(self, turn: Turn, why: str) -> None:
        """It has not ended when the run stops."""
        if turn.sent:
            self.unknown(turn, why)
        elif turn.known is None:
            self._books.not_sent([turn.mark])

    def _end(self, row: VaultRow, end: End) -> None:
        self._books.end(end)
        self._tell(row, end)

    def _tell(self, row: VaultRow, end: End) -> None:
        if self._on_end is not None:
            self._on_end(row, end)


def _end(mark: Begin, state: RowState, **facts: Any) -> End:
    return End(key=mark.key, api_id=mark.api_id, state=state, fingerprint=mark.fingerprint, line=mark.line, **facts)


def _shown(reasons: Iterable[str]) -> tuple[str, ...]:
    """Reasons without card numbers, and such as any journal can write."""
    return tuple(mask_text(said).replace("\0", "?").encode(errors="replace").decode() for said in reasons)
