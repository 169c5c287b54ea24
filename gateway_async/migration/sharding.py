"""A migration in shards: one of them carried out in whatever process it is given to, and what all of them come to.

The law of this file: nothing secret goes to a shard or comes back from it, and a shard may be carried out again, also
twice at once: what was stored is in the journal, and what may have been sent is looked up by its id.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import anyio
import attrs

from gateway_async.client import AsyncGateway
from gateway_async.errors import InvalidRequestError
from gateway_async.migration.journal import Begin, End, Entry, Journal, RowState, Run
from gateway_async.migration.migrate import migrate_vaults
from gateway_async.migration.pace import Rate
from gateway_async.migration.report import Report
from gateway_async.migration.rows import VaultRow
from gateway_async.migration.sources.files import read_rows

__all__ = ["ShardResult", "ShardWork", "Sum", "journal_of"]

_LEFT_OPEN: Final = frozenset({RowState.REJECTED, RowState.UNKNOWN})


@attrs.frozen
class ShardResult:
    """What became of one shard; of its rows only those that were rejected or are unknown."""

    report: Report
    ends: tuple[End, ...]


@attrs.frozen(kw_only=True)
class ShardWork:
    """What a process needs to carry out the shards of a migration. It can be pickled, and shows no address.

    Attributes:
        path: the file, at the same place for every process.
        size: how many bytes it has where it was cut into shards.
        name: of the migration.
        journal: the address of a PostgreSQL, or what opens a journal of another kind.
        gateway: makes a client in the process that sends.
        since: the journal's first run that belongs to this migration; 0 before it has begun.
        rate: calls a second over all processes, with `redis`; or what opens a rate; None for as fast as it goes.
        redis: the address of the Redis that shares the rate.
        concurrency: calls under way at once in one process, at most.
        patience: as in `migrate_vaults`.
        reading: what `read_rows` is told of the file.
    """

    path: str
    size: int
    name: str
    journal: str | Callable[[], Journal] = attrs.field(repr=False)
    gateway: Callable[[], AsyncGateway] = attrs.field(default=AsyncGateway.from_env, repr=False)
    since: int = 0
    rate: float | Callable[[], Rate] | None = None
    redis: str | None = attrs.field(default=None, repr=False)
    concurrency: int = 64
    patience: float = 600.0
    reading: Mapping[str, Any] = attrs.field(factory=dict, repr=False)

    def check_file(self) -> None:
        """See that the file can be read here, and is the one that was cut into shards.

        Raises:
            InvalidRequestError: it cannot, or it is not.
        """
        try:
            with Path(self.path).open("rb") as file:
                size = file.seek(0, 2)
        except OSError as error:
            raise InvalidRequestError(f"path: {self.path} cannot be read here: {error.strerror}") from None
        if size != self.size:
            raise InvalidRequestError(f"path: {self.path} has {size} bytes here, not {self.size}: is it another file?")

    async def check_client(self) -> None:
        """See that a client can be made here.

        Raises:
            GatewayError: what is missing, such as a variable of the environment.
        """
        async with self.gateway():
            pass

    def rows_of(self, shard: Any) -> Any:
        """The rows of a shard, read from the file."""
        return read_rows(self.path, shard=shard, **self.reading)

    def carry_out(
        self, shard: Any, *, stop_when: Callable[[Report], str | None], on_progress: Callable[[Report], object]
    ) -> ShardResult:
        """Store the rows of one shard, on an event loop of its own in this thread.

        Raises:
            InvalidRequestError: the file is not to be seen here.
            JournalError: the journal cannot be used.
        """
        self.check_file()
        return asyncio.run(self._migrate(shard, stop_when, on_progress))

    async def _migrate(
        self, shard: Any, stop_when: Callable[[Report], str | None], on_progress: Callable[[Report], object]
    ) -> ShardResult:
        ends: list[End] = []

        def keep(_row: VaultRow, end: End) -> None:
            if end.state in _LEFT_OPEN:
                ends.append(end)

        async with self.gateway() as gateway, self._shared_rate() as rate:
            report = await migrate_vaults(
                gateway,
                self.rows_of(shard),
                journal=_ShardJournal(journal_of(self.journal, self.name), self.since),
                concurrency=self.concurrency,
                rate=rate,
                name=self.name,
                patience=self.patience,
                stop_when=stop_when,
                on_end=keep,
                on_progress=on_progress,
            )
        return ShardResult(attrs.evolve(report, samples=()), tuple(ends))

    @asynccontextmanager
    async def _shared_rate(self) -> AsyncIterator[Rate | None]:
        rate = self._rate()
        try:
            yield rate
        finally:
            close = getattr(rate, "aclose", None)
            if close is not None:
                with anyio.CancelScope(shield=True):
                    await close()

    def _rate(self) -> Rate | None:
        if callable(self.rate):
            return self.rate()
        if self.rate is None or self.redis is None:
            return None
        from gateway_async.migration.redis_rate import RedisRate

        return RedisRate(self.redis, self.rate, name=self.name)


def journal_of(where: str | Callable[[], Journal], name: str) -> Journal:
    """A migration's journal, where several processes find it."""
    if callable(where):
        return where()
    from gateway_async.migration.postgres_journal import PostgresJournal

    return PostgresJournal(where, name)


class _ShardJournal:
    """A journal in which all shards of a migration count as one run.

    Each shard begins a run of the journal's, so that two processes with the same shard do not take each other's rows
    for their own. A row that this migration has already seen in another line has a key that occurs twice; one that
    it has seen in the same line is itself, from a process that died or is at work on the same shard.

    Args:
        journal: keeps the rows.
        since: the first run of this migration.
    """

    def __init__(self, journal: Journal, since: int) -> None:
        self._journal = journal
        self._since = since
        self._run = 0
        self.end = journal.end
        self.forget = journal.forget
        self.forget_rejected = journal.forget_rejected
        self.flush = journal.flush
        self.entries = journal.entries
        self.counts = journal.counts
        self.aclose = journal.aclose

    async def start(self, name: str | None, gateway: str = "") -> Run:
        run = await self._journal.start(name, gateway)
        self._run = run.number
        return run

    async def begin(self, rows: Sequence[Begin]) -> Sequence[Entry | None]:
        known = await self._journal.begin(rows)
        return [entry and self._seen(mark, entry) for mark, entry in zip(rows, known, strict=True)]

    def _seen(self, mark: Begin, entry: Entry) -> Entry:
        """An entry of this run if another row has the key, of an earlier one if it is the row's own."""
        if entry.run < self._since:
            return entry
        return attrs.evolve(entry, run=0 if entry.line == mark.line else self._run)


class Sum:
    """What the shards of a migration come to.

    A shard that is carried out again skips what it stored before. What the journal has more than in the beginning, and
    no report says, was stored by processes that died over it.

    Args:
        name: of the migration.
        before: what the journal had in the beginning.
    """

    def __init__(self, name: str, before: Mapping[RowState, int]) -> None:
        self.report = Report(name)
        self._before = before.get(RowState.STORED, 0)
        self._results: list[Report] = []

    def add(self, report: Report) -> None:
        """Take in the report of a shard that is done."""
        self._results = [_summed([*self._results, report])]

    def look(self, counts: Mapping[RowState, int], running: Sequence[Report], seconds: float) -> None:
        """Bring the report up to date.

        Args:
            counts: what the journal has now.
            running: the reports of shards that are under way.
            seconds: since the beginning.
        """
        whole, now, report = _summed([*self._results, *running]), _summed(running), self.report
        report.stored = max(whole.stored, counts.get(RowState.STORED, 0) - self._before)
        report.skipped = max(0, whole.stored + whole.skipped - report.stored)
        report.rejected, report.unknown, report.trouble = whole.rejected, whole.unknown, whole.trouble
        report.in_flight, report.limit, report.waiting = now.in_flight, now.limit or report.limit, now.waiting
        report.seconds = seconds


_ADDED: Final = ("stored", "rejected", "unknown", "skipped", "trouble", "in_flight", "limit")


def _summed(reports: Sequence[Report]) -> Report:
    counts: dict[str, Any] = {name: sum(getattr(report, name) for report in reports) for name in _ADDED}
    return Report(waiting=next((report.waiting for report in reports if report.waiting), ""), **counts)
