"""`verify_vaults`: what a journal says is stored is read back, all of it or a sample, and compared."""

from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterable
from contextlib import aclosing
from os import PathLike
from random import Random
from typing import Any, Final

import anyio

from gateway_async.client import AsyncGateway
from gateway_async.errors import InvalidRequestError
from gateway_async.migration._reading_back import Checker, Pair
from gateway_async.migration._shelf import Shelf, Stored
from gateway_async.migration.iterating import each_of
from gateway_async.migration.journal import Entry, Journal, RowState
from gateway_async.migration.rows import VaultRow
from gateway_async.migration.sqlite_journal import SqliteJournal
from gateway_async.migration.turns import row_given
from gateway_async.migration.verification import Finding, Verdict, Verification
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
    """Read back what a migration has stored, and compare; nothing is changed (contract, *Account vaults*).

    Compared are the id and the last four digits, which the journal knows; with the input also expiry, holder and
    contact, as far as a row says them. When a hundred accounts in a row cannot be read, it stops and says so.

    Args:
        gateway: a client.
        journal: of the migration; one that is not a path is closed.
        rows: the migration's input, once more.
        sample: so many accounts, picked at random; None for all.
        concurrency: reads under way at once.
        on_progress: told of the result so far ten times a second.
        random: picks the sample; by default another one each time.

    Raises:
        InvalidRequestError: `sample` or `concurrency` is no number above 0.
        JournalError: the journal cannot be used.
        AuthenticationError, PermissionDeniedError: nothing can be read with these credentials.
    """
    _check(sample=sample, concurrency=concurrency)
    kept = SqliteJournal(journal) if isinstance(journal, str | PathLike) else journal
    result = Verification()
    checker = Checker(gateway, result, concurrency, on_progress)
    try:
        await _verify(checker, kept, rows, sample, random or Random())  # noqa: S311  a sample is no secret
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
    with Shelf() as shelf:
        async for entry in entries:
            shelf.put([entry])
        await checker.check(_paired(shelf, rows, checker.result, complete=sample is None))


async def _all(journal: Journal) -> AsyncGenerator[Stored]:
    """What the journal says is stored."""
    after = None
    while page := await journal.entries(RowState.STORED, after=after, limit=_PAGE):
        for entry in page:
            yield _stored(entry)
        after = page[-1].key


def _stored(entry: Entry) -> Stored:
    return Stored(entry.key, entry.line, entry.vault_id or "", entry.api_id, entry.last_four)


async def _picked(entries: AsyncIterable[Stored], number: int, random: Random) -> list[Stored]:
    """So many of them, each as likely as any other (reservoir sampling)."""
    picked: list[Stored] = []
    seen = 0
    async for entry in entries:
        seen += 1
        place = len(picked) if len(picked) < number else random.randrange(seen)
        if place < number:
            picked[place : place + 1] = [entry]
    return picked


async def _alone(entries: AsyncGenerator[Stored]) -> AsyncGenerator[Pair]:
    """What is stored, where nobody says what was to be stored."""
    async with aclosing(entries):  # so that nothing is left open where whoever reads it stops
        async for entry in entries:
            yield entry, None


async def _paired(shelf: Shelf, rows: Any, result: Verification, *, complete: bool) -> AsyncGenerator[Pair]:
    """What is stored with what was to be stored; what the input does not have comes last."""
    async with aclosing(each_of(rows)) as all_given:
        async for given in all_given:
            row = row_given(given)
            entry = shelf.take(row.key)
            if entry is not None:
                yield entry, row.request
            elif complete and not shelf.has(row.key):
                result.add(Finding(row.key, row.line, None, Verdict.NOT_STORED, row.problems))
    while rest := shelf.rest():
        for entry in rest:
            yield entry, None


def _check(**numbers: int | None) -> None:
    """Refuse what is no whole number above 0.

    Raises:
        InvalidRequestError: one is none.
    """
    for name, value in numbers.items():
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
            raise InvalidRequestError(f"{name}: must be a whole number above 0")
