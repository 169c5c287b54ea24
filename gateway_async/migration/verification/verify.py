"""`verify_vaults`: read back what a migration has stored, all or a sample, and compare it."""

from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterable
from contextlib import aclosing
from os import PathLike
from random import Random
from typing import Any, Final

import anyio

from gateway_async.client import AsyncGateway
from gateway_async.errors import InvalidRequestError
from gateway_async.migration.engine.iteration import each_of
from gateway_async.migration.engine.row_task import row_given
from gateway_async.migration.journal.protocol import Journal, JournalEntry, RowState
from gateway_async.migration.journal.sqlite import SqliteJournal
from gateway_async.migration.rows.row import VaultRow
from gateway_async.migration.verification.findings import Finding, Verdict, Verification
from gateway_async.migration.verification.reader import Checker, Pair
from gateway_async.migration.verification.stored_rows import Stored, StoredRows
from gateway_async.models.account_vaults import VaultCreate

__all__ = ["verify_vaults"]

_PAGE: Final = 5000


async def verify_vaults(
    gateway: AsyncGateway,
    *,
    journal: str | PathLike[str] | Journal,
    rows: Iterable[VaultRow | VaultCreate] | AsyncIterable[VaultRow | VaultCreate] | None = None,
    sample: int | None = None,
    concurrency: int = 16,
    on_progress: Callable[[Verification], object] | None = None,
    random: Random | None = None,
) -> Verification:
    """Read back what a migration has stored, and compare it; nothing is changed (contract, *Account vaults*).

    It compares the id and the last four digits, which the journal has. With the input it also compares expiry, holder
    and contact, if the row has them. A card that was replaced by another one with the same last four digits is not
    detected if the other compared values are equal. The gateway returns no more of a number, and the journal keeps
    neither the number nor a hash of it. If a hundred accounts in a row cannot be read, it stops and says so.

    Args:
        gateway: a client.
        journal: journal of the migration; one that is not a path is closed.
        rows: the migration's input again.
        sample: number of accounts to pick at random; None for all.
        concurrency: number of concurrent reads.
        on_progress: called with the result so far ten times a second.
        random: picks the sample; by default a different one each time.

    Raises:
        InvalidRequestError: `sample` or `concurrency` is not a number above 0.
        JournalError: the journal cannot be used.
        AuthenticationError, PermissionDeniedError: these credentials cannot read the accounts.
    """
    _check(sample=sample, concurrency=concurrency)
    kept = SqliteJournal(journal) if isinstance(journal, str | PathLike) else journal
    result = Verification()
    checker = Checker(gateway, result, concurrency, on_progress)
    try:
        await _verify(checker, kept, rows, sample, random or Random())  # noqa: S311  a sample is not secret
    finally:
        with anyio.CancelScope(shield=True):
            await kept.aclose()
    return result


async def _verify(checker: Checker, journal: Journal, rows: Any, sample: int | None, random: Random) -> None:
    stored = (await journal.counts()).get(RowState.STORED, 0)
    checker.result.total = stored if sample is None else min(sample, stored)
    entries: AsyncGenerator[Stored] = _all(journal)
    if sample is not None:
        entries = each_of(await _picked(entries, sample, random))
    if rows is None:
        await checker.check(_alone(entries))
        return
    with StoredRows() as stored_rows:
        async for entry in entries:
            stored_rows.put([entry])
        await checker.check(_paired(stored_rows, rows, checker.result, complete=sample is None))


async def _all(journal: Journal) -> AsyncGenerator[Stored]:
    """Yield all accounts that the journal has as stored."""
    after = None
    while page := await journal.entries(RowState.STORED, after=after, limit=_PAGE):
        for entry in page:
            yield _stored(entry)
        after = page[-1].key


def _stored(entry: JournalEntry) -> Stored:
    return Stored(entry.key, entry.line, entry.vault_id or "", entry.api_id, entry.last_four)


async def _picked(entries: AsyncIterable[Stored], number: int, random: Random) -> list[Stored]:
    """Pick a number of entries, each with the same probability (reservoir sampling)."""
    picked: list[Stored] = []
    seen = 0
    async for entry in entries:
        seen += 1
        place = len(picked) if len(picked) < number else random.randrange(seen)
        if place < number:
            picked[place : place + 1] = [entry]
    return picked


async def _alone(entries: AsyncGenerator[Stored]) -> AsyncGenerator[Pair]:
    """Yield stored accounts without their requests."""
    async with aclosing(entries):  # closes the journal's iterator if the consumer stops early
        async for entry in entries:
            yield entry, None


async def _paired(stored_rows: StoredRows, rows: Any, result: Verification, *, complete: bool) -> AsyncGenerator[Pair]:
    """Yield stored accounts with their requests. Accounts that the input does not contain come last."""
    async with aclosing(each_of(rows)) as all_given:
        async for given in all_given:
            row = row_given(given)
            entry = stored_rows.take(row.key)
            if entry is not None:
                yield entry, row.request
            elif complete and not stored_rows.has(row.key):
                result.add(Finding(row.key, row.line, None, Verdict.NOT_STORED, row.problems))
    while rest := stored_rows.rest():
        for entry in rest:
            yield entry, None


def _check(**numbers: int | None) -> None:
    """Reject values that are not whole numbers above 0.

    Raises:
        InvalidRequestError: one of them is not.
    """
    for name, value in numbers.items():
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
            raise InvalidRequestError(f"{name}: must be a whole number above 0")
