"""Shards of a migration: the job that runs one shard in any process, and the totals of all shards.

No secret is sent to a shard or returned from it. A shard may run again, also twice at once. Stored rows are in the
journal, and rows that may have been sent are looked up by their id.
"""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import anyio
import attrs

from gateway_async._kernel import pluralize
from gateway_async._secrets import Secret
from gateway_async.client import AsyncGateway
from gateway_async.errors import InvalidRequestError
from gateway_async.migration.engine.concurrency_limiter import Rate
from gateway_async.migration.engine.redis_rate_limiter import RedisRate
from gateway_async.migration.engine.row_allowance import RowAllowance
from gateway_async.migration.journal.postgres import PostgresJournal
from gateway_async.migration.journal.protocol import Journal, JournalEntry, JournalRun, RowResult, RowStarted, RowState
from gateway_async.migration.migrate import migrate_vaults
from gateway_async.migration.report import Report
from gateway_async.migration.rows.row import VaultRow
from gateway_async.migration.sources.files import read_rows

__all__ = ["ReportTotals", "ShardJob", "ShardResult", "open_shard_journal", "seal_shard_address"]

_NOT_STORED: Final = frozenset({RowState.REJECTED, RowState.REPEATED, RowState.UNKNOWN})


def seal_shard_address(address: Any) -> Any:
    """Return an address as a secret, because it may have a password; anything else is returned unchanged."""
    return Secret(address) if isinstance(address, str) else address


@attrs.frozen
class ShardResult:
    """The result of one shard, with those of its rows that were rejected or repeated, or are unknown.

    Attributes:
        used: rows that all attempts of the shard together have stored, or may have stored.
    """

    report: Report
    results: tuple[RowResult, ...]
    used: int


@attrs.frozen(kw_only=True)
class ShardJob:
    """The data that a process needs to run the shards of a migration. It can be pickled, and its repr shows no address.

    Attributes:
        path: the file, at the same path for every process.
        size: size in bytes of the file that was split into shards.
        name: name of the migration.
        journal: the address of a PostgreSQL, or a function that opens another kind of journal.
        gateway: creates a client in the process that sends.
        since: the journal's first run that belongs to this migration; 0 before it has started.
        rate: calls per second over all processes, with `redis`; or a function that opens a rate; None for no limit.
        redis: the address of the Redis that shares the rate.
        concurrency: maximum number of concurrent calls of one process.
        give_up_after: as in `migrate_vaults`.
        reading: further arguments of `read_rows`.
    """

    path: str
    size: int
    name: str
    journal: Secret | Callable[[], Journal] = attrs.field(repr=False, converter=seal_shard_address)
    gateway: Callable[[], AsyncGateway] = attrs.field(default=AsyncGateway.from_env, repr=False)
    since: int = 0
    rate: float | Callable[[], Rate] | None = None
    redis: Secret | None = attrs.field(default=None, repr=False, converter=seal_shard_address)
    concurrency: int = 64
    give_up_after: float = 600.0
    reading: Mapping[str, Any] = attrs.field(factory=dict, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the addresses in plain, because the workers connect to them."""
        fields = {field.name: getattr(self, field.name) for field in attrs.fields(type(self))}
        plain = {name: value.reveal() for name, value in fields.items() if isinstance(value, Secret)}
        return partial(type(self), **fields | plain), ()

    def check_file(self) -> None:
        """Check that the file is the one that was split into shards.

        Raises:
            InvalidRequestError: it cannot be read, or has another size.
        """
        try:
            with Path(self.path).open("rb") as file:
                size = file.seek(0, 2)
        except OSError as error:
            raise InvalidRequestError(f"path: {self.path} cannot be read here: {error.strerror}") from None
        if size != self.size:
            raise InvalidRequestError(
                f"path: {self.path} has {size} {pluralize(size, 'byte')} here "
                f"(expected {self.size}, as on the coordinator)"
            )

    def rows_of(self, shard: Any) -> Any:
        """Return the rows of a shard, read from the file."""
        return read_rows(self.path, shard=shard, **self.reading)

    async def run_shard(
        self,
        shard: Any,
        *,
        quota: int | None,
        stop_when: Callable[[Report], str | None],
        on_progress: Callable[[Report], object],
    ) -> ShardResult:
        """Store the rows of one shard.

        Args:
            shard: the part of the file.
            quota: how many of its rows this migration may store, including those that earlier attempts have stored;
                None for all.
            stop_when: as in `migrate_vaults`.
            on_progress: as in `migrate_vaults`.

        Raises:
            InvalidRequestError: the file is not available here.
            JournalError: the journal cannot be used.
        """
        self.check_file()
        allowance = RowAllowance(quota)
        results: list[RowResult] = []

        def collect(_row: VaultRow, result: RowResult) -> None:
            if result.state in _NOT_STORED:
                results.append(result)

        async with self.gateway() as gateway, self._open_rate() as rate:
            report = await migrate_vaults(
                gateway,
                self.rows_of(shard),
                journal=_ShardJournal(open_shard_journal(self.journal, self.name), self.since, allowance),
                concurrency=self.concurrency,
                rate=rate,
                name=self.name,
                give_up_after=self.give_up_after,
                max_rows=allowance,
                stop_when=stop_when,
                on_row=collect,
                on_progress=on_progress,
            )
        return ShardResult(attrs.evolve(report, samples=()), tuple(results), allowance.used)

    @asynccontextmanager
    async def _open_rate(self) -> AsyncIterator[Rate | None]:
        rate: Rate | None = None
        if callable(self.rate):
            rate = self.rate()
        elif self.rate is not None and self.redis is not None:
            rate = RedisRate(self.redis, self.rate, name=self.name)
        try:
            yield rate
        finally:
            if close := getattr(rate, "aclose", None):
                with anyio.CancelScope(shield=True):
                    await close()


def open_shard_journal(where: str | Secret | Callable[[], Journal], name: str) -> Journal:
    """Return a migration's journal from its address or its function."""
    if callable(where):
        return where()
    return PostgresJournal(where, name)


class _ShardJournal:
    """A journal in which all shards of a migration count as one run.

    Each shard starts a separate run of the journal, so that two processes with the same shard do not take each other's
    rows for their own. A row that this migration has already read in another line has a duplicate key. A row read in
    the same line is the row itself, from a process that died or works on the same shard.

    Args:
        journal: stores the rows.
        since: the first run of this migration.
        allowance: charged with the rows of the shard that this migration has already stored.
    """

    def __init__(self, journal: Journal, since: int, allowance: RowAllowance) -> None:
        self._journal = journal
        self._since = since
        self._allowance = allowance
        self.record_results = journal.record_results
        self.delete_unsent = journal.delete_unsent
        self.delete_rejected = journal.delete_rejected
        self.flush = journal.flush
        self.entries = journal.entries
        self.not_started = journal.not_started
        self.aclose = journal.aclose

    async def start(self, name: str | None, gateway: str = "", *, since: int | None = None) -> JournalRun:
        since = self._since if since is None else since
        return attrs.evolve(await self._journal.start(name, gateway, since=since), number=since)

    async def record_starts(self, rows: Sequence[RowStarted]) -> Sequence[JournalEntry | None]:
        known = await self._journal.record_starts(rows)
        for row, entry in zip(rows, known, strict=True):
            if entry is not None and self._is_stored_now(row, entry):
                self._allowance.commit()
        return known

    async def counts(self) -> Mapping[RowState, int]:
        """Return nothing: the coordinator counts the rows of all shards."""
        return {}

    async def finish(self) -> None:
        """Do nothing: the input has other shards."""

    def _is_stored_now(self, row: RowStarted, entry: JournalEntry) -> bool:
        """Return whether an earlier attempt of the shard has stored the row."""
        return entry.state is RowState.STORED and entry.run >= self._since and entry.row_number == row.row_number


class ReportTotals:
    """The totals of a migration's shards.

    A shard that runs again skips the rows that it stored before. Stored rows that appear in the journal but in no
    report come from an earlier attempt, or from processes that died.

    Args:
        name: name of the migration.
        before: the journal's counts at the start.
    """

    def __init__(self, name: str, before: Mapping[RowState, int]) -> None:
        self.report = Report(name)
        self._before = before.get(RowState.STORED, 0)
        self._done = Report()
        self._suspended: dict[int, Report] = {}

    def add(self, report: Report) -> None:
        """Add the report of a shard that is done."""
        self._done = _add_reports([self._done, report])

    def suspend(self, shard: int, report: Report) -> None:
        """Store the report of a shard that waits for a larger quota."""
        self._suspended[shard] = report

    def resume(self, shard: int) -> None:
        """Drop the stored report of a shard that runs again; its failures remain."""
        suspended = self._suspended.pop(shard, None)
        if suspended is not None:
            self.add(Report(failed_attempts=suspended.failed_attempts, failures=suspended.failures))

    def update(self, counts: Mapping[RowState, int], running: Sequence[Report], seconds: float) -> None:
        """Update the report.

        Args:
            counts: the journal's counts now.
            running: the reports of running shards.
            seconds: seconds since the start.
        """
        running_shards, report = _add_reports(running), self.report
        all_shards = _add_reports([self._done, *self._suspended.values(), *running])
        report.stored = max(all_shards.stored, counts.get(RowState.STORED, 0) - self._before)
        report.skipped = max(0, all_shards.stored + all_shards.skipped - report.stored)
        report.rejected, report.repeated, report.unknown = (
            all_shards.rejected,
            all_shards.repeated,
            all_shards.unknown,
        )
        report.failed_attempts, report.failures = all_shards.failed_attempts, all_shards.failures
        report.gateway, report.location = all_shards.gateway or report.gateway, all_shards.location or report.location
        report.in_flight, report.limit = running_shards.in_flight, running_shards.limit or report.limit
        report.waits_for = running_shards.waits_for
        report.seconds = seconds


_SUMMED: Final = ("stored", "rejected", "repeated", "unknown", "skipped", "failed_attempts", "in_flight", "limit")


def _add_reports(reports: Sequence[Report]) -> Report:
    counts: dict[str, Any] = {name: sum(getattr(report, name) for report in reports) for name in _SUMMED}
    failures: Counter[str] = Counter()
    for report in reports:
        failures.update(report.failures)
    return Report(
        waits_for=next((report.waits_for for report in reports if report.waits_for), ""),
        gateway=next((report.gateway for report in reports if report.gateway), ""),
        location=next((report.location for report in reports if report.location), None),
        failures=failures,
        **counts,
    )
