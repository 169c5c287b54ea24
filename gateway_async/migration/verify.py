"""`verify_vaults`: what a journal says is stored is read back, all of it or a sample, and compared."""

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from contextlib import aclosing, contextmanager
from enum import StrEnum
from os import PathLike
from random import Random
from typing import Any, Final

import anyio
import attrs

from gateway_async.client import AsyncGateway
from gateway_async.errors import (
    AuthenticationError,
    ClientClosedError,
    GatewayError,
    InvalidRequestError,
    NotFoundError,
    PermissionDeniedError,
    RecordDeletedError,
)
from gateway_async.migration._shelf import Shelf, Stored
from gateway_async.migration.comparing import differences
from gateway_async.migration.journal import Entry, Journal, RowState
from gateway_async.migration.rows import VaultRow
from gateway_async.migration.sqlite_journal import SqliteJournal
from gateway_async.models.account_vaults import AccountVault, VaultCreate

__all__ = ["Finding", "Verdict", "Verification", "verify_vaults"]

Pair = tuple[Stored, VaultCreate | None]

_MOST_FINDINGS: Final = 1000
_PAGE: Final = 5000
_PROGRESS_SECONDS: Final = 0.1
_HOPELESS: Final = (AuthenticationError, PermissionDeniedError, ClientClosedError)


class Verdict(StrEnum):
    """What is wrong with an account."""

    DIFFERENT = "different"
    """It is stored, and something of it is not as it should be."""
    MISSING = "missing"
    """The journal says that it is stored, and the gateway does not know it."""
    UNREAD = "unread"
    """It could not be read."""
    NOT_STORED = "not stored"
    """The input has it, and by the journal it is not stored."""


@attrs.frozen
class Finding:
    """An account with which something is wrong.

    Attributes:
        line: of its row in the input, from 1; None if it came from no file.
        details: one line for each thing, beginning with the field's name.
    """

    key: str
    line: int | None
    vault_id: str | None
    verdict: Verdict
    details: tuple[str, ...] = ()


@attrs.define
class Verification:
    """What reading back has shown. While it runs, the numbers grow.

    Attributes:
        total: accounts that are to be read; None while nobody knows.
        matching: accounts that are as they should be.
        different: accounts that are stored otherwise.
        missing: accounts that are not there, or deleted.
        unread: accounts that could not be read.
        not_stored: rows of the input that are not stored by the journal; 0 without the input, and for a sample.
        findings: what is wrong with which, the first thousand.
    """

    total: int | None = None
    matching: int = 0
    different: int = 0
    missing: int = 0
    unread: int = 0
    not_stored: int = 0
    findings: list[Finding] = attrs.field(factory=list, repr=False)

    @property
    def checked(self) -> int:
        """Accounts that were looked for."""
        return self.matching + self.different + self.missing + self.unread

    @property
    def good(self) -> bool:
        """Whether nothing is wrong."""
        return not (self.different or self.missing or self.unread or self.not_stored)

    def _add(self, finding: Finding) -> None:
        name = finding.verdict.name.lower()
        setattr(self, name, getattr(self, name) + 1)
        if len(self.findings) < _MOST_FINDINGS:
            self.findings.append(finding)


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
    contact, as far as a row says them.

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
    checker = _Checker(gateway, result, concurrency, on_progress)
    try:
        await _verify(checker, kept, rows, sample, random or Random())  # noqa: S311  a sample is no secret
    finally:
        with anyio.CancelScope(shield=True):
            await kept.aclose()
    return result


async def _verify(checker: "_Checker", journal: Journal, rows: Any, sample: int | None, random: Random) -> None:
    stored = (await journal.counts()).get(RowState.STORED, 0)
    checker.result.total = stored if sample is None else min(sample, stored)
    entries: AsyncIterable[Stored] = _all(journal)
    if sample is not None:
        entries = _each(await _picked(entries, sample, random))
    if rows is None:
        await checker.check(_alone(entries))
        return
    with Shelf() as shelf:
        async for entry in entries:
            shelf.put([entry])
        await checker.check(_paired(shelf, rows, checker.result, complete=sample is None))


async def _all(journal: Journal) -> AsyncIterator[Stored]:
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


async def _alone(entries: AsyncIterable[Stored]) -> AsyncGenerator[Pair]:
    """What is stored, where nobody says what was to be stored."""
    async for entry in entries:
        yield entry, None


async def _paired(shelf: Shelf, rows: Any, result: Verification, *, complete: bool) -> AsyncGenerator[Pair]:
    """What is stored with what was to be stored; what the input does not have comes last."""
    async for given in _each(rows):
        row = given if isinstance(given, VaultRow) else VaultRow(key=given.account_vault_api_id or "", request=given)
        entry = shelf.take(row.key)
        if entry is not None:
            yield entry, row.request
        elif complete and not shelf.has(row.key):
            result._add(Finding(row.key, row.line, None, Verdict.NOT_STORED, row.problems))  # noqa: SLF001  its own
    while rest := shelf.rest():
        for entry in rest:
            yield entry, None


async def _each(rows: Any) -> AsyncIterator[Any]:
    if isinstance(rows, AsyncIterable):
        async for row in rows:
            yield row
    else:
        for row in rows:
            yield row


class _Checker:
    """Reads accounts and compares them, some at once."""

    def __init__(
        self,
        gateway: AsyncGateway,
        result: Verification,
        concurrency: int,
        on_progress: Callable[[Verification], object] | None,
    ) -> None:
        self.result = result
        self._vaults = gateway.account_vaults
        self._concurrency = concurrency
        self._on_progress = on_progress
        self._error: GatewayError | None = None

    async def check(self, pairs: AsyncGenerator[Pair]) -> None:
        """Check all of them."""
        give, take = anyio.create_memory_object_stream[Pair](self._concurrency)
        async with anyio.create_task_group() as showing:
            showing.start_soon(self._show)
            async with anyio.create_task_group() as workers:
                workers.start_soon(self._give, pairs, give, workers.cancel_scope)
                for _ in range(self._concurrency):
                    workers.start_soon(self._take, take, workers.cancel_scope)
            showing.cancel_scope.cancel()
        take.close()
        if self._error is not None:
            raise self._error
        self._tell()

    async def _give(self, pairs: AsyncGenerator[Pair], give: Any, scope: anyio.CancelScope) -> None:
        with give, self._ending(scope):
            async with aclosing(pairs):
                async for pair in pairs:
                    await give.send(pair)

    async def _take(self, take: Any, scope: anyio.CancelScope) -> None:
        with self._ending(scope):
            while True:
                try:
                    entry, wanted = await take.receive()
                except anyio.EndOfStream:
                    return
                await self._look_at(entry, wanted)

    @contextmanager
    def _ending(self, scope: anyio.CancelScope) -> Iterator[None]:
        """End everything over an error; a task group would wrap it."""
        try:
            yield
        except GatewayError as error:
            self._error = error
            scope.cancel()

    async def _look_at(self, entry: Stored, wanted: VaultCreate | None) -> None:
        try:
            vault = await self._vaults.get(entry.vault_id)
        except (NotFoundError, RecordDeletedError) as error:
            self._found(entry, Verdict.MISSING, (error.meaning,))
        except _HOPELESS:
            raise
        except GatewayError as error:
            self._found(entry, Verdict.UNREAD, (str(error),))
        else:
            self._compare(entry, wanted, vault)

    def _compare(self, entry: Stored, wanted: VaultCreate | None, vault: AccountVault) -> None:
        known = _of_the_journal(entry, vault)
        details = dict.fromkeys([*known, *(differences(wanted, vault) if wanted is not None else ())])
        if details:
            self._found(entry, Verdict.DIFFERENT, tuple(details))
        else:
            self.result.matching += 1

    def _found(self, entry: Stored, verdict: Verdict, details: tuple[str, ...]) -> None:
        self.result._add(Finding(entry.key, entry.line, entry.vault_id, verdict, details))  # noqa: SLF001  its own

    async def _show(self) -> None:
        while True:
            self._tell()
            await anyio.sleep(_PROGRESS_SECONDS)

    def _tell(self) -> None:
        if self._on_progress:
            self._on_progress(self.result)


def _of_the_journal(entry: Stored, vault: AccountVault) -> list[str]:
    """What is not as the journal has it."""
    found: list[str] = []
    if vault.account_vault_api_id not in (entry.api_id, None):
        found.append(f"account_vault_api_id: is {vault.account_vault_api_id}, not {entry.api_id}")
    if entry.last_four is not None and vault.last_four != entry.last_four:
        found.append(f"last_four: is {vault.last_four}, not {entry.last_four}")
    return found


def _check(**numbers: int | None) -> None:
    """Refuse what is no whole number above 0.

    Raises:
        InvalidRequestError: one is none.
    """
    for name, value in numbers.items():
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
            raise InvalidRequestError(f"{name}: must be a whole number above 0")
