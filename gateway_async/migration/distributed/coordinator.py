"""`Coordinator`: submits the shards of a migration to Dask workers and collects their counts."""

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from secrets import token_hex
from typing import Any, Final

import anyio
import attrs

from gateway_async._http.background import run_in_background
from gateway_async.errors import JournalError
from gateway_async.migration.distributed.shard_job import ReportTotals, ShardJob, ShardResult
from gateway_async.migration.distributed.worker import TICK_SECONDS, carry_out, stop
from gateway_async.migration.engine.result_recorder import OnEnd
from gateway_async.migration.engine.row_allowance import RowGrants, cap_reached
from gateway_async.migration.journal.protocol import Journal, RowState
from gateway_async.migration.report import Report, Samples

__all__ = ["ANSWER_SECONDS", "Callbacks", "Coordinator"]

_logger = logging.getLogger("gateway_async")

ANSWER_SECONDS: Final = 5
"""Seconds that a scheduler may take to respond."""

_SHARDS_PER_THREAD: Final = 2
"""One that is running, and one that waits to follow it."""

_COUNTING_SHARE: Final = 10
"""Counting the journal takes at most a tenth of the time, because millions of rows take a while."""

_MOST_GIVEN_UP: Final = 10
_LONGEST_PAUSE: Final = 30


@attrs.frozen
class Callbacks:
    """The callbacks of the caller."""

    stop_when: Callable[[Report], str | None] | None
    on_row: OnEnd | None
    on_progress: Callable[[Report], object] | None


class Coordinator:
    """Submits the shards of a migration to the workers of a cluster, and collects their counts.

    Attributes:
        report: the sums of all shards.
    """

    def __init__(
        self,
        client: Any,
        work: ShardJob,
        journal: Journal,
        total: ReportTotals,
        *,
        retries: int,
        max_rows: int | None,
        told: Callbacks,
    ) -> None:
        self.report = total.report
        self.report.began = datetime.now(UTC)
        self._max_rows = max_rows
        self._grants = RowGrants(max_rows)
        self._client = client
        self._work = work
        self._sum = total
        self._retries = retries
        self._told = told
        self._counter = _Counter(journal)
        self._samples = Samples()
        self._migration = token_hex(8)
        self._places = anyio.CapacityLimiter(1)
        self._lacking = ""
        self._running: dict[int, Report] = {}
        self._rows = self._rows_ended = 0
        self._given_up: list[str] = []
        self._began = self._with_worker = anyio.current_time()
        self._handing_out = anyio.CancelScope()

    async def run(self, shards: Sequence[Any]) -> None:
        """Run all shards."""
        self._rows = sum(shard.rows for shard in shards)
        self._client.subscribe_topic(self._migration, self._hear)
        try:
            async with run_in_background(self._watch):
                await self._hand_out(shards)
        except BaseException as error:  # noqa: BLE001  also on cancellation
            with anyio.CancelScope(shield=True):
                await self._have_stop()
            raise _first(error) from None
        finally:
            self.report.ended = datetime.now(UTC)
        if self._given_up:
            self.stop("; ".join(self._given_up))
        self._lacking = ""
        counts = await self._counter.count(at_once=True)
        self._sum.look(counts, [], self._seconds())
        if self.report.at_cap and self._max_rows is not None:
            self.report.stopped = cap_reached(self.report, self._max_rows)
        self._show(counts, [])

    def stop(self, why: str) -> None:
        """Start no more shards. The first reason counts."""
        self.report.stopped = self.report.stopped or why
        self._grants.close()

    # --- shards

    async def _hand_out(self, shards: Sequence[Any]) -> None:
        with self._handing_out:
            async with anyio.create_task_group() as handed_out:
                for shard in shards:
                    place = object()
                    await self._places.acquire_on_behalf_of(place)
                    if self.report.stopped:
                        break
                    handed_out.start_soon(self._carry, shard, place)

    async def _carry(self, shard: Any, place: object) -> None:
        """Run one shard until it is done or given up. Enlarge its grant as long as it needs and gets more rows."""
        try:
            grant = self._grants.take(shard.rows)
            while result := await self._carry_out(shard, grant):
                if not result.report.at_cap:
                    return await self._end(shard, result)
                self._sum.hold(shard.start, result.report)
                more = await self._grants.take_some(max(1, shard.rows - grant))
                if not more:
                    self._stop_at_cap()
                    return await self._tell(shard, result)
                grant += more
        finally:
            self._places.release_on_behalf_of(place)

    async def _carry_out(self, shard: Any, grant: int) -> ShardResult | None:
        """Run a shard with retries. Return None if it is given up; then its whole grant counts as used."""
        with self._grants.running():
            result = await self._retry(shard, grant)
            if result is not None and not result.report.at_cap:
                self._grants.give_back(grant - result.used)
        return result

    async def _retry(self, shard: Any, grant: int) -> ShardResult | None:
        trouble = ""
        for attempt in range(self._retries + 1):
            try:
                return await self._attempt(shard, grant)
            except Exception as error:  # noqa: BLE001  any failure of the worker
                trouble = f"{type(error).__name__}: {error}"
            if self.report.stopped or attempt == self._retries:
                break
            _logger.warning("%r failed: %s", shard, trouble)
            await anyio.sleep(min(2**attempt, _LONGEST_PAUSE))
        self._give_up(f"{shard!r} was given up: {trouble}")
        return None

    async def _attempt(self, shard: Any, grant: int) -> ShardResult:
        """Run a shard once on a worker."""
        allowed = None if self._max_rows is None else grant
        future = self._client.submit(carry_out, self._migration, self._work, shard, allowed, pure=False)
        self._sum.resume(shard.start)
        self._running[shard.start] = Report()
        try:
            result: ShardResult = await future
        finally:
            del self._running[shard.start]
        return result

    async def _end(self, shard: Any, result: ShardResult) -> None:
        """Count a shard that is done, and report its rows."""
        self._sum.add(result.report)
        self._rows_ended += shard.rows
        if result.report.stopped:
            self.stop(result.report.stopped)
        await self._tell(shard, result)

    def _stop_at_cap(self) -> None:
        """Stop at the row limit. A shard that was given up may have stored its whole grant."""
        if not self.report.stopped and self._max_rows is not None:
            self.report.at_cap = not self._given_up
            self.stop("; ".join(self._given_up) or cap_reached(self.report, self._max_rows))

    def _give_up(self, why: str) -> None:
        self._given_up.append(why)
        if len(self._given_up) >= _MOST_GIVEN_UP:
            self.stop(why)

    async def _tell(self, shard: Any, result: ShardResult) -> None:
        """Report rows that are not stored. They are read again here, because workers do not return rows."""
        if not self._told.on_row or not result.ends:
            return
        by_line = {end.line: end for end in result.ends}
        async for row in self._work.rows_of(shard):
            if end := by_line.pop(row.line, None):
                self._told.on_row(row, end)

    # --- progress of the shards

    async def _watch(self) -> None:
        while True:
            await self._see_workers()
            self._show(await self._counter.count(), list(self._running.values()))
            if self._told.stop_when and (why := self._told.stop_when(self.report)):
                self.stop(why)
            if self.report.stopped:
                await self._have_stop()
            await anyio.sleep(TICK_SECONDS)

    def _hear(self, event: tuple[float, Mapping[str, Any]]) -> None:
        """Receive the progress of a shard from a worker."""
        _, said = event
        if said["shard"] in self._running:
            self._running[said["shard"]] = Report(**said["report"])

    async def _have_stop(self) -> None:
        """Ask all workers to stop, also those that connected later."""
        with anyio.move_on_after(ANSWER_SECONDS), suppress(OSError):
            await self._client.run(stop, self._migration, on_error="ignore")

    def _show(self, counts: Mapping[RowState, int], running: Sequence[Report]) -> None:
        self._sum.look(counts, running, self._seconds())
        if self._rows:
            ended = self._rows_ended + sum(report.rows for report in running)
            self.report.share = min(1.0, ended / self._rows)
        self.report.waiting = self.report.waiting or self._lacking
        self.report.samples = self._samples.with_one_of(self.report)
        if self._told.on_progress:
            self._told.on_progress(self.report)

    def _seconds(self) -> float:
        return anyio.current_time() - self._began

    async def _see_workers(self) -> None:
        """Adapt the number of submitted shards to the worker threads. Without workers, wait up to `give_up_after`."""
        threads = await self._threads()
        self._places.total_tokens = max(1, threads * _SHARDS_PER_THREAD)
        self._lacking = "" if threads else "no worker is connected"
        if threads:
            self._with_worker = anyio.current_time()
        elif anyio.current_time() - self._with_worker > self._work.give_up_after:
            self.stop(f"no worker was connected for {self._work.give_up_after:g} s")
        if self.report.stopped and not threads:
            self._handing_out.cancel()

    async def _threads(self) -> int:
        """Return the number of threads of all workers; 0 if the scheduler does not respond."""
        threads = 0
        with anyio.move_on_after(ANSWER_SECONDS), suppress(OSError):
            threads = sum((await self._client.nthreads()).values())
        return threads


class _Counter:
    """Counts the journal's rows from time to time."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._counts: Mapping[RowState, int] = {}
        self._next = float("-inf")

    async def count(self, *, at_once: bool = False) -> Mapping[RowState, int]:
        """Return recent counts of the journal, or current ones; the last known ones while it cannot be read."""
        began = anyio.current_time()
        if at_once or began >= self._next:
            with suppress(JournalError):
                self._counts = await self._journal.counts()
            self._next = anyio.current_time() + _COUNTING_SHARE * (anyio.current_time() - began)
        return self._counts


def _first(error: BaseException) -> BaseException:
    """Return the first exception inside nested exception groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
