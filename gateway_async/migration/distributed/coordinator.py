"""`Coordinator`: submits the shards of a migration to Dask workers and collects their counts."""

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from secrets import token_hex
from typing import Any, Final

import anyio

from gateway_async._background import run_in_background
from gateway_async._kernel import first_error
from gateway_async.errors import JournalError
from gateway_async.migration.distributed.shard_job import ReportTotals, ShardJob, ShardResult
from gateway_async.migration.distributed.worker import TICK_SECONDS, run_shard, stop_shards
from gateway_async.migration.engine.result_recorder import RowCallback
from gateway_async.migration.engine.row_allowance import RowAllowance, describe_cap
from gateway_async.migration.journal.protocol import Journal, RowState
from gateway_async.migration.report import Report, Samples, read_totals

__all__ = ["RESPONSE_SECONDS", "Coordinator"]

_logger = logging.getLogger("gateway_async")

RESPONSE_SECONDS: Final = 5
"""Seconds that a scheduler may take to respond."""

_SHARDS_PER_THREAD: Final = 2
"""One that is running, and one that is queued."""

_COUNT_PAUSE_FACTOR: Final = 10
"""Pause after a count of the journal, in multiples of its duration: counting millions of rows takes a while."""

_MAX_GIVEN_UP: Final = 10
_MAX_PAUSE: Final = 30


class Coordinator:
    """Submits the shards of a migration to the workers of a cluster, and collects their counts.

    Attributes:
        report: the sums of all shards.
    """

    def __init__(
        self,
        client: Any,
        job: ShardJob,
        journal: Journal,
        total: ReportTotals,
        *,
        retries: int,
        max_rows: int | None,
        stop_when: Callable[[Report], str | None] | None,
        on_row: RowCallback | None,
        on_progress: Callable[[Report], object] | None,
    ) -> None:
        self.report = total.report
        self.report.started_at = datetime.now(UTC)
        self._allowance = RowAllowance(max_rows)
        self._client = client
        self._job = job
        self._totals = total
        self._retries = retries
        self._stop_when = stop_when
        self._on_row = on_row
        self._on_progress = on_progress
        self._journal = journal
        self._counter = _Counter(journal)
        self._samples = Samples()
        self._migration = token_hex(8)
        self._slots = anyio.CapacityLimiter(1)
        self._worker_problem = ""
        self._running: dict[int, Report] = {}
        self._rows = self._rows_ended = 0
        self._given_up: list[str] = []
        self._started_at = self._last_worker_at = anyio.current_time()
        self._submitting = anyio.CancelScope()

    async def run(self, shards: Sequence[Any]) -> None:
        """Run all shards."""
        self._rows = sum(shard.rows for shard in shards)
        self._client.subscribe_topic(self._migration, self._receive_progress)
        try:
            async with run_in_background(self._watch):
                await self._submit_shards(shards)
        except BaseException as error:  # noqa: BLE001  also on cancellation
            with anyio.CancelScope(shield=True):
                await self._stop_workers()
            raise first_error(error) from None
        finally:
            self.report.ended_at = datetime.now(UTC)
        if self._given_up:
            self.stop("; ".join(self._given_up))
        self._worker_problem = ""
        counts = await self._counter.count(refresh=True)
        self._totals.update(counts, [], self._seconds())
        if self.report.at_cap and self._allowance.rows is not None:
            self.report.stopped = describe_cap(self.report, self._allowance.rows)
        self._update_report(counts, [])
        if not self.report.stopped:
            with suppress(JournalError):
                await self._journal.finish()
        self.report.totals = await read_totals(self._journal)

    def stop(self, reason: str) -> None:
        """Start no more shards. The first reason counts."""
        self.report.stopped = self.report.stopped or reason
        self._allowance.close()

    # --- shards

    async def _submit_shards(self, shards: Sequence[Any]) -> None:
        with self._submitting:
            async with anyio.create_task_group() as shard_tasks:
                for shard in shards:
                    slot = object()
                    await self._slots.acquire_on_behalf_of(slot)
                    if self.report.stopped:
                        break
                    shard_tasks.start_soon(self._run_shard, shard, slot)

    async def _run_shard(self, shard: Any, slot: object) -> None:
        """Run one shard until it is done or given up. Enlarge its quota as long as it needs and gets more rows."""
        try:
            quota = self._allowance.take(shard.rows)
            while result := await self._run_with_quota(shard, quota):
                if not result.report.at_cap:
                    return await self._record_result(shard, result)
                self._totals.suspend(shard.start, result.report)
                more = await self._allowance.reserve(max(1, shard.rows - quota))
                if not more:
                    self._stop_at_cap()
                    return await self._report_rows(shard, result)
                quota += more
        finally:
            self._slots.release_on_behalf_of(slot)

    async def _run_with_quota(self, shard: Any, quota: int) -> ShardResult | None:
        """Run a shard with retries. Return None if it is given up; then its whole quota counts as used."""
        with self._allowance.running():
            result = await self._run_with_retries(shard, quota)
            if result is not None and not result.report.at_cap:
                self._allowance.release(quota - result.used)
        return result

    async def _run_with_retries(self, shard: Any, quota: int) -> ShardResult | None:
        problem = ""
        for attempt in range(self._retries + 1):
            try:
                return await self._run_once(shard, quota)
            except Exception as error:  # noqa: BLE001  any failure of the worker
                problem = f"{type(error).__name__}: {error}"
            if self.report.stopped or attempt == self._retries:
                break
            _logger.warning("shard failed, it is retried: %r: %s", shard, problem)
            await anyio.sleep(min(2**attempt, _MAX_PAUSE))
        self._given_up.append(f"{shard!r} was given up: {problem}")
        if len(self._given_up) >= _MAX_GIVEN_UP:
            self.stop(self._given_up[-1])
        return None

    async def _run_once(self, shard: Any, quota: int) -> ShardResult:
        """Run a shard once on a worker."""
        allowed = None if self._allowance.rows is None else quota
        future = self._client.submit(run_shard, self._migration, self._job, shard, allowed, pure=False)
        self._totals.resume(shard.start)
        self._running[shard.start] = Report()
        try:
            result: ShardResult = await future
        finally:
            del self._running[shard.start]
        return result

    async def _record_result(self, shard: Any, result: ShardResult) -> None:
        """Count a shard that is done, and report its rows."""
        self._totals.add(result.report)
        self._rows_ended += shard.rows
        if result.report.stopped:
            self.stop(result.report.stopped)
        await self._report_rows(shard, result)

    def _stop_at_cap(self) -> None:
        """Stop at the row limit. A shard that was given up may have stored its whole quota."""
        if not self.report.stopped and self._allowance.rows is not None:
            self.report.at_cap = not self._given_up
            self.stop("; ".join(self._given_up) or describe_cap(self.report, self._allowance.rows))

    async def _report_rows(self, shard: Any, result: ShardResult) -> None:
        """Report rows that are not stored. They are read again here, because workers do not return rows."""
        if not self._on_row or not result.results:
            return
        by_line = {row_result.line: row_result for row_result in result.results}
        async for row in self._job.rows_of(shard):
            if row_result := by_line.pop(row.line, None):
                self._on_row(row, row_result)

    # --- progress of the shards

    async def _watch(self) -> None:
        while True:
            await self._adapt_to_workers()
            self._update_report(await self._counter.count(), list(self._running.values()))
            if self._stop_when and (reason := self._stop_when(self.report)):
                self.stop(reason)
            if self.report.stopped:
                await self._stop_workers()
            await anyio.sleep(TICK_SECONDS)

    def _receive_progress(self, event: tuple[float, Mapping[str, Any]]) -> None:
        """Receive the progress of a shard from a worker."""
        _, message = event
        if message["shard"] in self._running:
            self._running[message["shard"]] = Report(**message["report"])

    async def _stop_workers(self) -> None:
        """Ask all workers to stop, also those that connected later."""
        with anyio.move_on_after(RESPONSE_SECONDS), suppress(OSError):
            await self._client.run(stop_shards, self._migration, on_error="ignore")

    def _update_report(self, counts: Mapping[RowState, int], running: Sequence[Report]) -> None:
        self._totals.update(counts, running, self._seconds())
        if self._rows:
            ended = self._rows_ended + sum(report.rows for report in running)
            self.report.share = min(1.0, ended / self._rows)
        self.report.waits_for = self.report.waits_for or self._worker_problem
        self.report.samples = self._samples.with_one_of(self.report)
        if self._on_progress:
            self._on_progress(self.report)

    def _seconds(self) -> float:
        return anyio.current_time() - self._started_at

    async def _adapt_to_workers(self) -> None:
        """Adapt the number of submitted shards to the worker threads. Without workers, wait up to `give_up_after`."""
        threads = 0  # also if the scheduler does not respond
        with anyio.move_on_after(RESPONSE_SECONDS), suppress(OSError):
            threads = sum((await self._client.nthreads()).values())
        self._slots.total_tokens = max(1, threads * _SHARDS_PER_THREAD)
        self._worker_problem = "" if threads else "no worker is connected"
        if threads:
            self._last_worker_at = anyio.current_time()
        elif anyio.current_time() - self._last_worker_at > self._job.give_up_after:
            self.stop(f"no worker was connected for {self._job.give_up_after:g} s")
        if self.report.stopped and not threads:
            self._submitting.cancel()


class _Counter:
    """Counts the journal's rows from time to time."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._counts: Mapping[RowState, int] = {}
        self._next_count_at = float("-inf")

    async def count(self, *, refresh: bool = False) -> Mapping[RowState, int]:
        """Return recent counts of the journal, or with `refresh` current ones; the last ones if it cannot be read."""
        began = anyio.current_time()
        if refresh or began >= self._next_count_at:
            with suppress(JournalError):
                self._counts = await self._journal.counts()
            self._next_count_at = anyio.current_time() + _COUNT_PAUSE_FACTOR * (anyio.current_time() - began)
        return self._counts
