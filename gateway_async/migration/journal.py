"""What a migration's journal keeps: for each row what became of it, and nothing of its card but the last four digits.

The law of this file: a row is in the journal before it is sent, and what is stored is never sent again.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Final, Protocol

import attrs

__all__ = ["UNSETTLED", "Begin", "End", "Entry", "Journal", "RowState", "Run", "elsewhere", "sort_out"]


class RowState(StrEnum):
    """What became of a row."""

    SENDING = "sending"
    """It may have been sent; what became of it is to be looked up."""
    STORED = "stored"
    REJECTED = "rejected"
    UNKNOWN = "unknown"
    """It was sent, and looking it up did not settle it."""


UNSETTLED: Final = frozenset({RowState.SENDING, RowState.UNKNOWN})
"""What is to be looked up before anything is sent."""


@attrs.frozen(kw_only=True)
class Begin:
    """A row that is about to be sent."""

    key: str
    api_id: str
    fingerprint: str
    line: int | None


@attrs.frozen(kw_only=True)
class End:
    """What became of a row.

    Attributes:
        begun: False of a row that was rejected without a beginning. Then it says nothing of a row of the same key
            that was begun, and changes nothing of it.
        reasons: of a rejection, one line for each.
        vault_id, last_four, brand: of what was stored.
    """

    key: str
    api_id: str
    state: RowState
    fingerprint: str
    line: int | None
    begun: bool = True
    reasons: tuple[str, ...] = ()
    vault_id: str | None = None
    last_four: str | None = None
    brand: str | None = None


@attrs.frozen(kw_only=True)
class Entry:
    """A row as the journal has it.

    Attributes:
        run: in which run it was begun or ended last; runs are numbered from 1.
        changed_at: when, UTC.
    """

    key: str
    api_id: str
    state: RowState
    fingerprint: str
    line: int | None
    reasons: tuple[str, ...]
    vault_id: str | None
    last_four: str | None
    brand: str | None
    run: int
    changed_at: datetime


@attrs.frozen
class Run:
    """One run of a migration."""

    name: str
    number: int


def elsewhere(known: str, gateway: str) -> str:
    """What is wrong with a gateway, for a journal that knows its own; "" where nothing is."""
    if not known or not gateway or known == gateway:
        return ""
    return f"its rows are stored at {known}, not at {gateway}: go on with the client as it was, or take another journal"


class Journal(Protocol):
    """Where a migration keeps its rows. `SqliteJournal` and `PostgresJournal` are two; yours may be a third.

    Every method raises `JournalError` when the store cannot be used. A journal belongs to one migration.
    """

    async def start(self, name: str | None, gateway: str = "") -> Run:
        """Begin a run; whoever calls is its only user in this process.

        Args:
            name: of the migration; None for the one that the journal has, or the journal's own.
            gateway: the address that rows are sent to, and the location, the same in every run; "" where it is not
                known.

        Returns:
            The run's number, from 1, and the migration's name: the first run's, for ever.

        Raises:
            JournalError: the journal belongs to a migration of another name, or to another gateway: what one has
                stored, another has not.
        """
        ...

    async def begin(self, rows: Sequence[Begin]) -> Sequence[Entry | None]:
        """Note rows that are about to be sent; on the disk when this returns.

        A row is new, and None is its answer, if its key is not there yet, or was rejected with another fingerprint.
        Of the others the entry is returned as it was, and nothing is changed but `run`, of those that are `sending` or
        `unknown`. The first of two rows with one key in `rows` is new, the second gets the first's entry.
        """
        ...

    async def end(self, rows: Sequence[End]) -> None:
        """Note what became of rows; on the disk a moment later, and when `flush` returns.

        What is stored stays stored, whatever comes.
        """
        ...

    async def forget(self, rows: Sequence[Begin]) -> None:
        """Take back rows that `begin` called new, and that were not sent after all; on the disk as with `end`."""
        ...

    async def forget_rejected(self) -> None:
        """Have rows that were rejected sent again, whatever their content; on the disk when this returns."""
        ...

    async def flush(self) -> None:
        """Have all that was noted on the disk when this returns."""
        ...

    async def entries(
        self, state: RowState | None = None, *, after: str | None = None, limit: int = 5000
    ) -> Sequence[Entry]:
        """Rows by key, from the one after `after`; only those of one state where it is given."""
        ...

    async def counts(self) -> Mapping[RowState, int]:
        """How many rows there are of each state."""
        ...

    async def aclose(self) -> None:
        """Write what waits, and let go of the store; a second close is harmless."""
        ...


def sort_out(
    rows: Sequence[Begin], known: Mapping[str, Entry], run: int, now: datetime
) -> tuple[Sequence[Entry | None], Sequence[Begin]]:
    """What a journal's `begin` answers, by what it knows of the rows' keys; and the rows that it has to note."""
    known = dict(known)
    answers: list[Entry | None] = []
    new: list[Begin] = []
    for row in rows:
        entry = known.get(row.key)
        if entry is None or (entry.state is RowState.REJECTED and entry.fingerprint != row.fingerprint):
            new.append(row)
            answers.append(None)
            known[row.key] = _sending(row, run, now)
        else:
            answers.append(entry)
            if entry.state in UNSETTLED:
                known[row.key] = attrs.evolve(entry, run=run)
    return answers, new


def _sending(row: Begin, run: int, now: datetime) -> Entry:
    return Entry(
        key=row.key,
        api_id=row.api_id,
        state=RowState.SENDING,
        fingerprint=row.fingerprint,
        line=row.line,
        reasons=(),
        vault_id=None,
        last_four=None,
        brand=None,
        run=run,
        changed_at=now,
    )
