"""`verify_vaults`: read back what a migration has stored, all or a sample, and compare it."""

from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterable, Iterator
from contextlib import aclosing, closing
from enum import StrEnum
from functools import partial
from os import PathLike
from random import Random
from typing import Final

import anyio
import attrs

from gateway_async._arguments import check_numbers
from gateway_async._background import repeat, run_beside
from gateway_async.client import AsyncGateway
from gateway_async.errors import (
    AuthenticationError,
    ClientClosedError,
    GatewayError,
    NotFoundError,
    PermissionDeniedError,
    RecordDeletedError,
)
from gateway_async.migration.journal.protocol import Journal, JournalEntry, RowState, iterate_started
from gateway_async.migration.journal.store import open_limited_journal
from gateway_async.migration.report import Totals, count_reason, generalize
from gateway_async.migration.rows.row import (
    InputRow,
    VaultRow,
    as_vault_row,
    find_vault_differences,
    fingerprint_of,
    iterate_rows,
    other_content,
    row_problems,
    same_key,
    storable_key,
    with_former_key,
)
from gateway_async.migration.rows.temporary_table import JournalRow, JournalRows
from gateway_async.models.account_vaults import AccountVault, VaultCreate

_MAX_FINDINGS: Final = 1000


class Verdict(StrEnum):
    """The problem of an account, the worst first."""

    MISSING = "missing"
    """The journal has it as stored, but the gateway does not have it."""
    DIFFERENT = "different"
    """The account has other values."""
    UNREAD = "unread"
    """The account could not be read."""
    NOT_STORED = "not stored"
    """The input has it, but the journal does not have it as stored."""


@attrs.frozen
class Finding:
    """An account with a problem.

    Attributes:
        line: line of its row in the input, from 1; None if it came from no file.
        details: one line for each difference, beginning with the field's name.
    """

    key: str
    line: int | None
    vault_id: str | None
    verdict: Verdict
    details: tuple[str, ...] = ()


@attrs.define
class Verification:
    """The result of a verification. While it runs, the numbers grow.

    Attributes:
        total: number of accounts to read; None while it is not known.
        matching: accounts that are as they should be.
        different: accounts that are stored with other values.
        missing: accounts that do not exist or were deleted.
        unread: accounts that could not be read.
        not_stored: rows of the input that are not stored: rejected, repeated, unknown, or not migrated yet; 0 without
            the input.
        stopped: the reason why it stopped before all were read; "" if it did not.
        totals: the rows of all runs, from the journal; None while they are not counted.
        reasons: verdict and reason → number of accounts, without the details of single ones.
    """

    total: int | None = None
    matching: int = 0
    different: int = 0
    missing: int = 0
    unread: int = 0
    not_stored: int = 0
    stopped: str = ""
    totals: Totals | None = None
    reasons: Counter[tuple[Verdict, str]] = attrs.field(factory=Counter, repr=False)
    _findings: dict[Verdict, list[Finding]] = attrs.field(factory=dict, init=False, repr=False)

    @property
    def checked(self) -> int:
        """Number of accounts that were looked up."""
        return self.matching + self.different + self.missing + self.unread

    @property
    def good(self) -> bool:
        """Whether all accounts were read and have no problem."""
        return not (self.stopped or self.different or self.missing or self.unread or self.not_stored)

    @property
    def findings(self) -> list[Finding]:
        """The accounts with a problem, the worst verdict first: the first thousand of each."""
        return [finding for verdict in Verdict for finding in self._findings.get(verdict, ())]

    def add(self, finding: Finding) -> None:
        """Count and store a finding."""
        name = finding.verdict.name.lower()
        setattr(self, name, getattr(self, name) + 1)
        findings = self._findings.setdefault(finding.verdict, [])
        if len(findings) < _MAX_FINDINGS:
            findings.append(finding)
        for detail in finding.details or ("",):
            count_reason(self.reasons, (finding.verdict, generalize(detail)))


Pair = tuple[JournalEntry, VaultRow | None]
"""A stored account, and the row that should have stored it, if known."""

_MAX_UNREAD: Final = 100
_PROGRESS_SECONDS: Final = 0.1
_FATAL: Final = (AuthenticationError, PermissionDeniedError, ClientClosedError)


async def verify_vaults(
    gateway: AsyncGateway,
    *,
    journal: str | PathLike[str] | Journal,
    rows: Iterable[VaultRow | VaultCreate] | AsyncIterable[VaultRow | VaultCreate] | None = None,
    sample: int | None = None,
    concurrency: int = 64,
    on_progress: Callable[[Verification], object] | None = None,
    on_finding: Callable[[Finding], object] | None = None,
    random: Random | None = None,
) -> Verification:
    """Read back what a migration has stored, and compare it; nothing is changed (contract, *Account vaults*).

    It compares the id and the last four digits, which the journal has. With the input it also compares expiry, holder
    and contact, if the row has them, and finds rows that were edited since. A card that was replaced by another one
    with the same last four digits is not detected if the other compared values are equal. The gateway returns no more
    of a number, and the journal keeps neither the number nor a hash of it. If a hundred accounts in a row cannot be
    read, it stops and says so. Of several rows with one key, the one that was stored is compared.

    Args:
        gateway: a client.
        journal: the file of the journal, or a `Journal`, which is closed at the end.
        rows: the migration's input, to compare more values.
        sample: number of accounts to read back, picked at random; None for all. Rows of the input that are not stored
            are found in any case.
        concurrency: number of concurrent reads.
        on_progress: called with the result so far ten times a second.
        on_finding: called with every finding; the result has the first thousand of each verdict.
        random: picks the sample; by default a different one each time.

    Raises:
        InvalidRequestError: `sample` or `concurrency` is not a number above 0.
        JournalError: the journal cannot be used.
        AuthenticationError, PermissionDeniedError: these credentials cannot read the accounts.
    """
    rows = None if rows is None else iterate_rows(rows)
    check_numbers(whole=True, above=0, concurrency=concurrency, sample=1 if sample is None else sample)
    checker = _Checker(Verification(), gateway, concurrency, on_progress, on_finding)
    async with open_limited_journal(journal) as store:
        await _verify(checker, store, rows, sample, random or Random())  # noqa: S311  a sample is not secret
    return checker.result


@attrs.define
class _Checker:
    result: Verification
    _gateway: AsyncGateway
    _concurrency: int
    _on_progress: Callable[[Verification], object] | None
    _on_finding: Callable[[Finding], object] | None
    _unread_in_a_row: int = 0

    async def check(self, pairs: AsyncGenerator[Pair]) -> None:
        ticks = partial(repeat, self._call_back, _PROGRESS_SECONDS)
        async with aclosing(pairs), run_beside(ticks), anyio.create_task_group() as workers:
            lock = anyio.Lock()
            for _ in range(self._concurrency):
                workers.start_soon(self._check_pairs, pairs, lock, workers.cancel_scope)
        await self._call_back()

    async def _check_pairs(self, pairs: AsyncGenerator[Pair], lock: anyio.Lock, scope: anyio.CancelScope) -> None:
        """Check pairs until none is left. The lock lets one worker read at a time."""
        while True:
            async with lock:
                pair = await anext(pairs, None)
            if pair is None:
                return
            await self._check_account(*pair)
            if self.result.stopped:
                scope.cancel()

    async def _check_account(self, entry: JournalEntry, row: VaultRow | None) -> None:
        try:
            vault = await self._gateway.account_vaults.get(entry.vault_id or "")
        except (NotFoundError, RecordDeletedError) as error:
            self._unread_in_a_row = 0
            self._add_finding(entry, Verdict.MISSING, (error.meaning,))
        except _FATAL:
            raise
        except GatewayError as error:
            self._add_finding(entry, Verdict.UNREAD, (str(error),))
            self._unread_in_a_row += 1
            if self._unread_in_a_row == _MAX_UNREAD:
                self.result.stopped = f"{_MAX_UNREAD} accounts in a row could not be read: {error}"
        else:
            self._unread_in_a_row = 0
            if details := tuple(dict.fromkeys(_differences(entry, row, vault))):
                self._add_finding(entry, Verdict.DIFFERENT, details)
            else:
                self.result.matching += 1

    def add(self, finding: Finding) -> None:
        self.result.add(finding)
        if self._on_finding:
            self._on_finding(finding)

    def _add_finding(self, entry: JournalEntry, verdict: Verdict, details: tuple[str, ...]) -> None:
        self.add(Finding(entry.key, entry.line, entry.vault_id, verdict, details))

    async def _call_back(self) -> None:
        if self._on_progress:
            self._on_progress(self.result)


async def _verify(
    checker: _Checker, journal: Journal, rows: AsyncGenerator[InputRow] | None, sample: int | None, random: Random
) -> None:
    counts = await journal.counts()
    checker.result.totals = Totals.from_counts(counts)
    stored = counts.get(RowState.STORED, 0)
    sampled = None if sample is None else frozenset(random.sample(range(stored), min(sample, stored)))
    checker.result.total = stored if sampled is None else len(sampled)
    if rows is None:
        await checker.check(_pair_without_rows(_read_journal(journal, RowState.STORED, sampled)))
        return
    with closing(JournalRows()) as journal_rows:
        async for journal_row in _read_journal(journal, None, sampled):
            journal_rows.add(journal_row)
        await checker.check(_pair_with_rows(journal_rows, rows, checker))


async def _read_journal(
    journal: Journal, state: RowState | None, sampled: frozenset[int] | None
) -> AsyncGenerator[JournalRow]:
    """Yield the started rows of a journal; `sampled` has the positions of the stored ones to be read back."""
    position = 0
    async with aclosing(iterate_started(journal, state)) as entries:
        async for entry in entries:
            is_stored = entry.state is RowState.STORED
            yield JournalRow(entry, is_sampled=is_stored and (sampled is None or position in sampled))
            position += is_stored


async def _pair_without_rows(journal_rows: AsyncGenerator[JournalRow]) -> AsyncGenerator[Pair]:
    async with aclosing(journal_rows):  # closes the journal's iterator if the consumer stops early
        async for entry, is_sampled, _ in journal_rows:
            if is_sampled:
                yield entry, None


async def _pair_with_rows(
    journal_rows: JournalRows, rows: AsyncGenerator[InputRow], checker: _Checker
) -> AsyncGenerator[Pair]:
    """Yield stored accounts with their requests. Accounts that the input does not contain come last.

    A row that is not stored is reported also if it could not be in the sample.
    """
    async with aclosing(rows):
        async for given in rows:
            row = as_vault_row(given)
            journal_row, reasons = _find_row(journal_rows, row)
            if reasons:
                checker.add(Finding(storable_key(row), row.line, None, Verdict.NOT_STORED, reasons))
            elif journal_row and journal_row.is_sampled:
                yield journal_row.entry, with_former_key(row) if journal_row.entry.key == row.former_key else row
    for entry in journal_rows.remaining():
        yield entry, None


def _find_row(journal_rows: JournalRows, row: VaultRow) -> tuple[JournalRow | None, tuple[str, ...]]:
    """Return a row of the input as it is in the journal, or why it is not stored.

    Of several rows with one key, the entry belongs to the one with its content, or in its line.
    """
    if problems := row_problems(row):
        return None, problems
    found = journal_rows.find(row.key) or (journal_rows.find(row.former_key) if row.former_key is not None else None)
    if found is None:
        return None, ("row: not migrated yet",)
    entry, is_stored = found.entry, found.entry.state is RowState.STORED
    if found.is_taken or not (entry.fingerprint == fingerprint_of(row) or entry.line == row.line):
        is_first = is_stored and not found.is_taken
        return None, (other_content(entry.line) if is_first else same_key(entry.line),)
    journal_rows.take(entry.key)
    return (found, ()) if is_stored else (None, ("; ".join(entry.reasons) or f"row: {entry.state}",))


def _differences(entry: JournalEntry, row: VaultRow | None, vault: AccountVault) -> Iterator[str]:
    if vault.account_vault_api_id not in (entry.api_id, None):
        yield f"account_vault_api_id: is {vault.account_vault_api_id}, not {entry.api_id}"
    if entry.last_four is not None and vault.last_four != entry.last_four:
        yield f"last_four: is {vault.last_four}, not {entry.last_four}"
    if row is not None and row.request is not None:
        differences = find_vault_differences(row.request, vault)
        yield from differences
        if not differences and entry.fingerprint != fingerprint_of(row):
            yield other_content(entry.line)
