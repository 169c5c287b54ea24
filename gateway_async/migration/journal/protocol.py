"""The journal of a migration: the state of each row, with no card data but the last four digits and the brand.

A row is in the journal before it is sent. A stored row is never sent again. Of the rows with one key, the first that
can be sent has the key's entry. The others, and rows with a problem, are not started. They are recorded by their
position.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, Protocol

import anyio
import attrs

from gateway_async.errors import JournalError
from gateway_async.observe import logger

RESPONSE_SECONDS: Final = 30.0
"""Seconds that a journal may take for a call. A batch takes milliseconds; to count millions of rows takes seconds."""


class RowState(StrEnum):
    """The state of a row."""

    SENDING = "sending"
    """The row may have been sent and must be looked up."""
    STORED = "stored"
    REJECTED = "rejected"
    REPEATED = "repeated"
    """Another row has the same key, and was sent instead."""
    UNKNOWN = "unknown"
    """The row was sent, and a lookup could not find out the result."""


UNRESOLVED_STATES: Final = frozenset({RowState.SENDING, RowState.UNKNOWN})
"""States of rows that must be looked up before they are sent."""


@attrs.frozen(kw_only=True)
class RowStarted:
    """A row that is about to be sent.

    Attributes:
        row_number: its position in the input, from 1, different for each row of a run. In a file it is its line.
    """

    key: str
    api_id: str
    fingerprint: str
    line: int | None
    row_number: int = 0


@attrs.frozen(kw_only=True)
class RowResult:
    """The result of a row.

    Attributes:
        row_number: its position in the input, as in `RowStarted`.
        started: False for a row that was rejected before it was started, or whose key another row has. Such a result
            does not change a started row with the same key.
        reasons: why it is not stored, one line each.
        vault_id, last_four, brand: details of the stored account.
    """

    key: str
    api_id: str
    state: RowState
    fingerprint: str
    line: int | None
    row_number: int = 0
    started: bool = True
    reasons: tuple[str, ...] = ()
    vault_id: str | None = None
    last_four: str | None = None
    brand: str | None = None


@attrs.frozen(kw_only=True)
class JournalEntry:
    """A row in the journal.

    Attributes:
        run: the run in which it was last started or ended; runs are numbered from 1.
        changed_at: time of the last change, UTC.
        row_number: its position in the input that was read last.
        read_by: the last run that has read it from its input, or 0. A row of another position, which the same run reads
            later, repeats the key.
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
    row_number: int = 0
    read_by: int = 0


@attrs.frozen
class JournalRun:
    """One run of a migration.

    Attributes:
        has_former_keys: whether an earlier version began the journal. Then `VaultRow.former_key` is the key of a row.
    """

    name: str
    number: int
    has_former_keys: bool = attrs.field(default=False, kw_only=True)


def gateway_mismatch(known: str, gateway: str) -> str:
    """Describe the problem if the journal belongs to a gateway other than `gateway`; "" if there is none."""
    if not known or not gateway or known == gateway:
        return ""
    return f"its rows are stored at {known}, not at {gateway} (expected the same gateway, or another journal)"


class Journal(Protocol):
    """Stores the rows of a migration. `SqliteJournal` and `PostgresJournal` implement it; you can write another one.

    Every method raises `JournalError` when the store cannot be used. A journal belongs to one migration. A call that
    takes longer than 30 seconds is cancelled and counts as failed; it may have taken effect nevertheless.
    """

    async def start(self, name: str | None, gateway: str = "", *, since: int | None = None) -> JournalRun:
        """Start a run; the caller is its only user in this process.

        Args:
            name: name of the migration; None for the name that the journal has, or the journal's default.
            gateway: the address that rows are sent to, and the location. It is the same in every run; "" if it is not
                known.
            since: the first of several runs that count as one, such as runs for the shards of a file; by default this
                one.

        Returns:
            The run's number, from 1, and the migration's name, which the first run sets permanently.

        Raises:
            JournalError: the journal belongs to a migration of another name, or to another gateway, which does not have
                the stored rows.
        """
        ...

    async def record_starts(self, rows: Sequence[RowStarted]) -> Sequence[JournalEntry | None]:
        """Write rows that are about to be sent; they are on disk when this returns.

        A row is new if its key is not in the journal yet, or was rejected with another fingerprint by an earlier run.
        Other rows are not changed, except that `sending` and `unknown` rows get the number of this run, and that
        `read_rows_of` get their line and row number and are read by this run. Neither new rows nor those are recorded
        as not started any more.

        Returns:
            For each row its entry before this call, or None if it is new. If two new rows have the same key, the second
            gets the entry of the first.
        """
        ...

    async def record_results(self, rows: Sequence[RowResult]) -> None:
        """Write the results of rows; they are on disk a moment later, and when `flush` returns.

        A stored row stays stored, whatever result follows. Rows that were not started are recorded by their row number.
        """
        ...

    async def delete_unsent(self, rows: Sequence[RowStarted]) -> None:
        """Remove new rows of `record_starts` that were not sent; on disk like the results."""
        ...

    async def delete_rejected(self) -> None:
        """Allow rejected rows to be sent again, whatever their content; on disk when this returns."""
        ...

    async def finish(self) -> None:
        """Note that this run has read its input to the end; on disk when this returns.

        It forgets what an earlier run recorded of rows that were not started. It also forgets the rejection of a key
        that this run has read in such rows only.
        """
        ...

    async def flush(self) -> None:
        """Wait until all changes are on disk."""
        ...

    async def entries(
        self, state: RowState | None = None, *, after: str | None = None, limit: int = 5000
    ) -> Sequence[JournalEntry]:
        """Read started rows in the order of their keys.

        Args:
            state: only rows in this state; None for all.
            after: only rows with a greater key.
            limit: maximum number of rows.
        """
        ...

    async def not_started(
        self, state: RowState | None = None, *, after: int = 0, limit: int = 5000
    ) -> Sequence[JournalEntry]:
        """Read the rows that were not started, by row number.

        They have no id and no account, and perhaps no key.

        Args:
            state: only rows in this state; None for all.
            after: only rows with a greater row number.
            limit: maximum number of rows.
        """
        ...

    async def counts(self) -> Mapping[RowState, int]:
        """Count the rows in each state, started or not. Each row counts once."""
        ...

    async def aclose(self) -> None:
        """Write pending changes and close the store; a second close is harmless."""
        ...


class LimitedJournal:
    """A journal whose calls raise `JournalError` if it does not respond in time; its close is given up."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def __getattr__(self, name: str) -> Any:
        attribute: Any = getattr(self._journal, name)

        async def call(*args: Any, **options: Any) -> Any:
            with anyio.move_on_after(RESPONSE_SECONDS):
                return await attribute(*args, **options)
            location = getattr(self._journal, "location", type(self._journal).__name__)
            raise JournalError(location, f"no response within {RESPONSE_SECONDS:g} s")

        return call if callable(attribute) else attribute

    async def aclose(self) -> None:
        """Close the journal, if it responds in time."""
        with anyio.move_on_after(RESPONSE_SECONDS) as scope:
            await self._journal.aclose()
        if scope.cancelled_caught:
            logger.warning("the journal was not closed within %g s", RESPONSE_SECONDS)


def split_new_rows(
    rows: Sequence[RowStarted], known: Mapping[str, JournalEntry], run: int, now: datetime, since: int
) -> tuple[Sequence[JournalEntry | None], Sequence[RowStarted]]:
    """Work out the result of `record_starts` for each row, and the new rows."""
    known = dict(known)
    entries: list[JournalEntry | None] = []
    new: list[RowStarted] = []
    for row in rows:
        entry = known.get(row.key)
        if entry is None or _is_changed_reject(row, entry, since):
            new.append(row)
            entries.append(None)
            known[row.key] = _sending(row, run, now)
        else:
            entries.append(entry)
            if entry.state in UNRESOLVED_STATES:
                known[row.key] = attrs.evolve(entry, run=run)
            if _is_read(row, entry, since):
                known[row.key] = attrs.evolve(known[row.key], line=row.line, row_number=row.row_number, read_by=run)
    return entries, new


def read_rows_of(
    rows: Sequence[RowStarted], entries: Sequence[JournalEntry | None], since: int
) -> Sequence[RowStarted]:
    """Select the known rows that this run is the first to read.

    A row with other content than the one that is stored has the same key, but is not that row.
    """
    return [row for row, entry in zip(rows, entries, strict=True) if entry is not None and _is_read(row, entry, since)]


def _is_changed_reject(row: RowStarted, entry: JournalEntry, since: int) -> bool:
    return entry.state is RowState.REJECTED and entry.fingerprint != row.fingerprint and entry.read_by < since


def _is_read(row: RowStarted, entry: JournalEntry, since: int) -> bool:
    is_own = entry.state in UNRESOLVED_STATES or entry.fingerprint == row.fingerprint
    return is_own and entry.read_by < since


def _sending(row: RowStarted, run: int, now: datetime) -> JournalEntry:
    return JournalEntry(
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
        row_number=row.row_number,
        read_by=run,
    )


async def iterate_started(journal: Journal, state: RowState | None = None) -> AsyncGenerator[JournalEntry]:
    """Yield all started rows, or the ones in one state, page by page."""
    after = None
    while page := await journal.entries(state, after=after):
        for entry in page:
            yield entry
        after = page[-1].key


async def iterate_entries(journal: Journal, state: RowState | None = None) -> AsyncGenerator[JournalEntry]:
    """Yield all rows, or the ones in one state: first the started ones, then the others."""
    async with aclosing(iterate_started(journal, state)) as started:
        async for entry in started:
            yield entry
    number = 0
    while page := await journal.not_started(state, after=number):
        for entry in page:
            yield entry
        number = page[-1].row_number
