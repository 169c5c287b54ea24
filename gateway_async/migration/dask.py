"""`migrate_vaults_dask`: run a migration on the workers of a Dask cluster.

Shards go out and results come back as futures; progress comes back as events. Dask restarts a shard when a worker dies,
and may run one twice. The correctness does not depend on Dask: the id and the journal make sure that each row is stored
once, as `shard_job` describes. Only the positions of shards in the file, and counts, pass through the scheduler.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from os import PathLike
from secrets import token_hex
from typing import Any, Final

import anyio
import anyio.to_thread
import attrs
from anyio.abc import TaskGroup

from gateway_async._arguments import number_problems
from gateway_async._background import repeat, run_beside
from gateway_async._extras import import_extra
from gateway_async._text import Problem, describe_error
from gateway_async.client import AsyncGateway
from gateway_async.errors import InvalidRequestError
from gateway_async.migration.journal.protocol import Journal
from gateway_async.migration.rate import Rate, RedisRate
from gateway_async.migration.recorder import JournalWriter, RowCallback
from gateway_async.migration.report import Report, ReportCallbacks, add_up, counting_totals, update_totals
from gateway_async.migration.shard_job import ShardJob, ShardResult, seal_shard_address
from gateway_async.migration.sources.boundaries import Shard
from gateway_async.migration.sources.files import read_rows
from gateway_async.migration.sources.files import shards as shards_of
from gateway_async.migration.stop import StopSignal, describe_cap
from gateway_async.observe import logger

_FIRST_WORKER_SECONDS: Final = 30
_RESPONSE_SECONDS: Final = 5
"""Seconds that a scheduler may take to respond."""

_TICK_SECONDS: Final = 0.5
_SHARDS_PER_THREAD: Final = 2
"""One that is running, and one that is queued."""

_MAX_GIVEN_UP: Final = 10
_MAX_PAUSE: Final = 30
_MAX_READERS: Final = 4
"""Shards whose rows are read again at a time."""


async def migrate_vaults_dask(
    scheduler: Any,
    path: str | PathLike[str],
    *,
    journal: str | Callable[[], Journal],
    name: str,
    redis: str | None = None,
    rate: float | Callable[[], Rate] | None = None,
    concurrency: int = 64,
    gateway: Callable[[], AsyncGateway] = AsyncGateway.from_env,
    rows_per_shard: int = 10_000,
    retries: int = 3,
    give_up_after: float = 600.0,
    retry_rejected: bool = False,
    max_rows: int | None = None,
    stop_when: Callable[[Report], str | None] | None = None,
    on_row: RowCallback | None = None,
    on_progress: Callable[[Report], object] | None = None,
    **reading: Any,
) -> Report:
    """Store the accounts of a file from several machines.

    Run it again with the same journal to continue where it stopped.

    The file must be at the same path for the caller and all workers. They read it themselves, so that no card number
    passes through the scheduler. Workers create their clients from their own environment, so that no key does either.
    Start them with one thread each (`dask worker --nthreads 1`), one for each core. Needs asyncio.

    Each row ends as in `migrate_vaults`. It is stored once, although Dask may run a shard again, or twice at once. If
    two rows have the same key, one of them is stored and the other is repeated, also if they are in different shards.

    Args:
        scheduler: a Dask scheduler's address, or a `distributed.Client`, whose scheduler and TLS settings are used.
        path: the file: CSV, JSON Lines or Parquet.
        journal: the address of a PostgreSQL that all processes can reach. Preferably it has no password, because
            workers can take it from `PGPASSWORD` or a password file. Or a function that opens a journal; it is pickled.
        name: name of the migration. Ids are made of it.
        redis: the address of the Redis that shares the rate.
        rate: maximum calls per second over all workers: a number, which needs `redis`; or a function that opens a rate.
        concurrency: maximum number of concurrent calls of each worker.
        gateway: creates a client in a worker; it is pickled, so it should not hold a key.
        rows_per_shard: rows that a worker processes at a time.
        retries: how often a shard is restarted after a failure. Dask restarts it by itself until
            `distributed.scheduler.allowed-failures` workers have died, which then counts as one failure.
        give_up_after: seconds without a single success, or without a worker, after which it stops.
        retry_rejected: as in `migrate_vaults`.
        max_rows: maximum number of rows stored in this run by all workers, as in `migrate_vaults`. The workers share a
            counter in the journal's database. It is not exceeded if workers die or a shard runs twice. The rows that a
            dead worker had started count as stored, so that fewer may be stored.
        stop_when: called twice a second; returns the reason to stop, or None. Running shards finish their calls in
            progress.
        on_row: called for rows that were rejected or repeated, or are unknown, when their shard is done. They are read
            again by the caller's process.
        on_progress: called with the report twice a second.
        reading: further arguments of `read_rows`: `columns`, `format`, `encoding`, …

    Returns:
        The number of rows of each result, over all workers.

    Raises:
        InvalidRequestError: an argument is wrong, the file cannot be read, here or by a worker, or no worker connected.
        JournalError: the journal cannot be used, or belongs to another migration.
    """
    sealed_journal, sealed_redis = seal_shard_address(journal), seal_shard_address(redis)
    del journal, redis  # an error's traceback shows local variables
    numbers = {"concurrency": concurrency, "rows_per_shard": rows_per_shard, "give_up_after": give_up_after}
    _check(rate, sealed_redis, max_rows=1 if max_rows is None else max_rows, **numbers)
    job = ShardJob(
        path=path,
        name=name,
        journal=sealed_journal,
        gateway=gateway,
        rate=rate,
        redis=sealed_redis,
        concurrency=concurrency,
        give_up_after=give_up_after,
        max_rows=max_rows,
        reading=reading,
    )
    await read_rows(job.path, **reading).header()
    shards = await anyio.to_thread.run_sync(lambda: shards_of(job.path, rows_per_shard, **reading))
    async with _connect(scheduler) as client, job.open_journal() as store:
        run = await store.start(name)
        await _check_workers(client, job)
        if max_rows is not None:
            await store.reserve_rows(0, limit=max_rows)  # creates the counter, before workers do it at once
        if retry_rejected:
            await store.delete_rejected()
        job = attrs.evolve(job, name=run.name, since=run.number)
        coordinator = _Coordinator(
            client=client,
            job=job,
            journal=store,
            callbacks=ReportCallbacks(Report(run.name), stop_when, on_progress),
            retries=retries,
            on_row=on_row,
        )
        return await coordinator.run(shards)


# --- before the start


def _check(rate: Any, redis: Any, **numbers: Any) -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        raise RuntimeError("migrate_vaults_dask needs asyncio") from None
    is_number = isinstance(rate, int | float)
    problems = number_problems(above=0, rate=rate if is_number else 1, **numbers)
    if is_number and redis is None:
        problems.append("rate: redis required, through which workers share the rate")
    if problems:
        raise InvalidRequestError(problems)
    if redis is not None:
        try:
            RedisRate(redis, rate if is_number else 1)  # a check only: it connects when it is first used
        except InvalidRequestError as error:
            raise InvalidRequestError([Problem(Problem.of(line).message, "redis") for line in error.problems]) from None


@asynccontextmanager
async def _connect(scheduler: Any) -> AsyncIterator[Any]:
    client_class = import_extra("distributed", extra="dask", user="migrate_vaults_dask").Client
    address, security = (
        (scheduler, None) if isinstance(scheduler, str) else (scheduler.scheduler.address, scheduler.security)
    )
    try:
        client = await client_class(address, asynchronous=True, security=security, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InvalidRequestError(f"scheduler: {address} cannot be reached: {error}") from None
    try:
        try:
            await client.wait_for_workers(1, timeout=_FIRST_WORKER_SECONDS)
        except TimeoutError:
            raise InvalidRequestError(f"scheduler: no worker connected within {_FIRST_WORKER_SECONDS} s") from None
        yield client
    finally:
        with anyio.CancelScope(shield=True), suppress(Exception):  # it would replace the caller's error
            await client.close(timeout=_RESPONSE_SECONDS)


async def _check_workers(client: Any, job: ShardJob) -> None:
    results: dict[str, Any] = await client.run(job.check, on_error="return")
    wrong = {worker: error for worker, error in results.items() if isinstance(error, InvalidRequestError)}
    if wrong:
        raise InvalidRequestError(
            [f"worker {each}: {line}" for each, error in wrong.items() for line in error.problems]
        )


# --- in a worker

_stopping: set[str] = set()
"""Ids of migrations that were asked to stop."""


def stop_shards(migration: str) -> None:
    """Stop the shards of a migration in this worker."""
    _stopping.add(migration)


def run_shard(migration: str, job: ShardJob, shard: Any) -> ShardResult:
    """Run one shard, on a new event loop, and log its progress as events of the worker."""
    from distributed import get_worker

    worker = get_worker()
    next_at = float("-inf")

    def send_progress(report: Report) -> None:
        nonlocal next_at
        if report.seconds >= next_at:
            next_at = report.seconds + _TICK_SECONDS
            values = attrs.asdict(report, filter=attrs.filters.exclude("samples", "started_at", "ended_at", "totals"))
            worker.log_event(migration, {"shard": shard.start, "report": values})

    def stop_when(_report: Report) -> str | None:
        return "the coordinator asked to stop" if migration in _stopping else None

    return asyncio.run(job.run(shard, stop_when=stop_when, on_progress=send_progress))


# --- in the caller's process


class _Workers:
    """The workers of a cluster, which run shards and report their progress.

    Attributes:
        threads: of all workers that are connected.
        seen_at: when a worker was last connected, by the event loop's clock.
        slots: shards that may run or be queued at a time.
        progress: the first byte of each shard that runs → its report so far.
    """

    def __init__(self, client: Any, job: ShardJob) -> None:
        self.threads = 0
        self.seen_at = anyio.current_time()
        self.slots = anyio.CapacityLimiter(1)
        self.progress: dict[int, Report] = {}
        self._client = client
        self._job = job
        self._id = token_hex(8)
        client.subscribe_topic(self._id, self._receive_progress)

    async def run(self, shard: Shard) -> ShardResult:
        """Run a shard once. It raises any error of the worker."""
        self.progress[shard.start] = Report()
        try:
            result: ShardResult = await self._client.submit(run_shard, self._id, self._job, shard, pure=False)
            return result
        finally:
            del self.progress[shard.start]

    async def count(self) -> None:
        """Count the threads, and adapt the number of shards to them."""
        threads = 0  # also if the scheduler does not respond, or is lost, which raises any error
        with anyio.move_on_after(_RESPONSE_SECONDS), suppress(Exception):
            threads = sum((await self._client.nthreads()).values())
        self.threads = threads
        if threads:
            self.seen_at = anyio.current_time()
        self.slots.total_tokens = max(1, threads * _SHARDS_PER_THREAD)

    async def stop(self) -> None:
        """Ask all workers to stop their shards."""
        with anyio.move_on_after(_RESPONSE_SECONDS), suppress(Exception):  # a lost scheduler raises any error
            await self._client.run(stop_shards, self._id, on_error="ignore")

    def _receive_progress(self, event: tuple[float, Mapping[str, Any]]) -> None:
        _, message = event
        if message["shard"] in self.progress:
            self.progress[message["shard"]] = Report(**message["report"])


class _Coordinator:
    """Runs the shards of a migration on the workers of a cluster, and adds up their reports."""

    def __init__(
        self,
        *,
        client: Any,
        job: ShardJob,
        journal: Any,
        callbacks: ReportCallbacks,
        retries: int,
        on_row: RowCallback | None = None,
    ) -> None:
        self.report = callbacks.report
        self._job = job
        self._journal = journal
        self._callbacks = callbacks
        self._retries = retries
        self._on_row = on_row
        self._workers = _Workers(client, job)
        self._stop_signal = StopSignal(self.report)
        self._journal_writer = JournalWriter(journal, self._stop_signal, job.give_up_after)
        self._waiting = anyio.CancelScope()  # cancelled if no worker is left when the migration stops
        self._readers = anyio.CapacityLimiter(_MAX_READERS)
        self._results: dict[Shard, ShardResult] = {}
        self._given_up: list[str] = []
        self._rows = 0
        self._stored_before: int | None = None

    async def run(self, shards: Sequence[Shard]) -> Report:
        report = self.report
        report.started_at = datetime.now(UTC)
        self._rows = sum(shard.rows for shard in shards)
        try:
            ticks = partial(repeat, self._tick, _TICK_SECONDS)
            async with counting_totals(report, self._journal) as is_counted, run_beside(ticks):
                await is_counted.wait()
                self._stored_before = report.totals.stored if report.totals else None
                async with anyio.create_task_group() as readers:
                    with self._waiting:
                        await self._run_shards(shards, readers)
                    for shard, result in self._results.items():
                        if result.report.at_cap:  # it was to run again
                            readers.start_soon(self._report_rows, shard, result)
                if self._given_up:
                    self._stop_signal.set("; ".join(self._given_up))
                if not report.stopped:
                    await self._journal_writer.finish()
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self._workers.stop()
            raise
        finally:
            report.ended_at = datetime.now(UTC)
        self._update_report()
        return report

    async def _run_shards(self, shards: Sequence[Shard], readers: TaskGroup) -> None:
        """Run all shards. Those held back run again when the others have ended, with what they have given back."""
        while shards and not self.report.stopped:
            held_back: list[Shard] = []
            async with anyio.create_task_group() as runs:
                for shard in shards:
                    runs.start_soon(self._run_shard, shard, held_back, readers)
            shards = held_back
            if shards and not self.report.stopped and not await self._can_reserve():
                await update_totals(self.report, self._journal)
                self._update_report()
                self.report.at_cap = not self._given_up
                self._stop_signal.set("; ".join(self._given_up) or describe_cap(self.report, self._job.max_rows or 0))

    async def _can_reserve(self) -> bool:
        """Reserve a row and give it back, to find out whether one is left."""
        reserved = await self._journal.reserve_rows(1, limit=self._job.max_rows)
        await self._journal.reserve_rows(-reserved, limit=self._job.max_rows)
        return bool(reserved)

    async def _run_shard(self, shard: Shard, held_back: list[Shard], readers: TaskGroup) -> None:
        async with self._workers.slots:
            if self.report.stopped:
                return
            if held_back:  # another shard is at the cap
                held_back.append(shard)
                return
            result = await self._run_with_retries(shard)
        if result is None:
            return
        if earlier := self._results.get(shard):  # its rows are counted again, its failures are not
            result.report.failed_attempts += earlier.report.failed_attempts
            result.report.failures = Counter(result.report.failures) + Counter(earlier.report.failures)
        result.report.in_flight = result.report.limit = 0
        self._results[shard] = result
        if result.report.at_cap:
            held_back.append(shard)
            return
        if result.report.stopped:
            self._stop_signal.set(result.report.stopped)
        readers.start_soon(self._report_rows, shard, result)

    async def _run_with_retries(self, shard: Shard) -> ShardResult | None:
        """Run a shard on a worker. Return None if it is given up."""
        problem = ""
        for attempt in range(self._retries + 1):
            try:
                return await self._workers.run(shard)
            except Exception as error:  # noqa: BLE001  any failure of the worker
                problem = describe_error(error)
            if attempt < self._retries and not self.report.stopped:
                logger.warning("shard failed, it is retried: %r: %s", shard, problem)
                await self._stop_signal.sleep(min(2**attempt, _MAX_PAUSE))
            if self.report.stopped:
                break
        self._given_up.append(f"{shard!r} was given up: {problem}")
        if len(self._given_up) >= _MAX_GIVEN_UP:
            self._stop_signal.set(self._given_up[-1])
        return None

    async def _report_rows(self, shard: Shard, result: ShardResult) -> None:
        """Report the rows of a shard that are not stored. They are read again, as workers return no rows."""
        if not (self._on_row and result.results):
            return
        by_line = {row_result.line: row_result for row_result in result.results}
        async with self._readers:
            async for row in self._job.rows_of(shard):
                if row_result := by_line.pop(row.line, None):
                    self._on_row(row, row_result)

    async def _tick(self) -> None:
        """Adapt to the workers, update the report and stop if asked to."""
        await self._workers.count()
        if anyio.current_time() - self._workers.seen_at > self._job.give_up_after:
            self._stop_signal.set(f"no worker was connected for {self._job.give_up_after:g} s")
        if reason := self._update_report():
            self._stop_signal.set(reason)
        if self.report.stopped:
            await self._workers.stop()  # also those that connected later
            if not self._workers.threads:
                self._waiting.cancel()

    def _update_report(self) -> str | None:
        """Add up the shards and call the caller's functions. Return the reason to stop, if there is one."""
        report, running = self.report, self._workers.progress
        stored = 0
        if report.totals and self._stored_before is not None:
            stored = report.totals.stored - self._stored_before
        ended = [
            _failures_of(result.report) if shard.start in running else result.report
            for shard, result in self._results.items()
        ]
        add_up(report, [*ended, *running.values()], stored)
        if self._rows:
            report.share = min(1.0, report.rows / self._rows)
        if not report.stopped:
            report.waits_for = report.waits_for or self._journal_writer.waits_for
        if not (self._workers.threads or report.ended_at):
            report.waits_for = report.waits_for or "no worker is connected"
        return self._callbacks.call()


def _failures_of(report: Report) -> Report:
    """Return what counts of a shard that runs again: its other figures are reported once more."""
    return Report(failed_attempts=report.failed_attempts, failures=report.failures)
