"""The workers of a Dask cluster at one migration: shards out, counts back."""

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from secrets import token_hex
from typing import Any, Final

import anyio
import attrs

from gateway_async._net.beside import beside
from gateway_async.errors import JournalError
from gateway_async.migration._dask_shards import TICK_SECONDS, carry_out, stop
from gateway_async.migration.endings import OnEnd
from gateway_async.migration.journal import Journal, RowState
from gateway_async.migration.report import Report, Samples
from gateway_async.migration.sharding import ShardResult, ShardWork, Sum

__all__ = ["ANSWER_SECONDS", "Crew", "Told"]

_logger = logging.getLogger("gateway_async")

ANSWER_SECONDS: Final = 5
"""How long a scheduler may take to answer."""

_SHARDS_PER_THREAD: Final = 2
"""One that is carried out, and one that is there when it is done."""

_COUNTING_SHARE: Final = 10
"""The journal is counted for no more than a tenth of the time: millions of rows take it a while."""

_MOST_GIVEN_UP: Final = 10
_LONGEST_PAUSE: Final = 30


@attrs.frozen
class Told:
    """Whom the caller wants to be asked and told."""

    stop_when: Callable[[Report], str | None] | None
    on_end: OnEnd | None
    on_progress: Callable[[Report], object] | None


class Crew:
    """The workers of a cluster at one migration: shards out, counts back.

    Attributes:
        report: what all shards come to.
    """

    def __init__(self, client: Any, work: ShardWork, journal: Journal, total: Sum, retries: int, told: Told) -> None:
        self.report = total.report
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
        self._given_up: list[str] = []
        self._began = self._with_worker = anyio.current_time()
        self._handing_out = anyio.CancelScope()

    async def run(self, shards: Sequence[Any]) -> None:
        """Have all shards carried out."""
        self._client.subscribe_topic(self._migration, self._hear)
        try:
            async with beside(self._watch):
                await self._hand_out(shards)
        except BaseException as error:  # noqa: BLE001  also when it is cancelled
            with anyio.CancelScope(shield=True):
                await self._have_stop()
            raise _first(error) from None
        if self._given_up:
            self.stop("; ".join(self._given_up))
        self._lacking = ""
        self._show(await self._counter.count(at_once=True), [])

    def stop(self, why: str) -> None:
        """Begin no more shards; the first reason counts."""
        self.report.stopped = self.report.stopped or why

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
        """One shard, until it is done or given up."""
        try:
            trouble = await self._attempt(shard)
            for attempt in range(self._retries):
                if not trouble or self.report.stopped:
                    break
                _logger.warning("%r failed: %s", shard, trouble)
                await anyio.sleep(min(2**attempt, _LONGEST_PAUSE))
                trouble = await self._attempt(shard)
            if trouble:
                self._give_up(f"{shard!r} was given up: {trouble}")
        finally:
            self._places.release_on_behalf_of(place)

    async def _attempt(self, shard: Any) -> str:
        """Have a worker carry it out; what went wrong, or ""."""
        future = self._client.submit(carry_out, self._migration, self._work, shard, pure=False)
        self._running[shard.start] = Report()
        try:
            result: ShardResult = await future
        except Exception as error:  # noqa: BLE001  whatever happened in the worker, or to it
            return f"{type(error).__name__}: {error}"
        finally:
            del self._running[shard.start]
        self._sum.add(result.report)
        if result.report.stopped:
            self.stop(result.report.stopped)
        if self._told.on_end and result.ends:
            await self._tell(shard, result, self._told.on_end)
        return ""

    def _give_up(self, why: str) -> None:
        self._given_up.append(why)
        if len(self._given_up) >= _MOST_GIVEN_UP:
            self.stop(why)

    async def _tell(self, shard: Any, result: ShardResult, on_end: OnEnd) -> None:
        """Tell of rows that are not stored; they are read again, as they did not come back from the worker."""
        by_line = {end.line: end for end in result.ends}
        async for row in self._work.rows_of(shard):
            if end := by_line.pop(row.line, None):
                on_end(row, end)

    # --- looking at them

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
        """A worker tells how a shard stands."""
        _, said = event
        if said["shard"] in self._running:
            self._running[said["shard"]] = Report(**said["report"])

    async def _have_stop(self) -> None:
        """Ask all workers to stop, also those that have come since."""
        with anyio.move_on_after(ANSWER_SECONDS), suppress(OSError):
            await self._client.run(stop, self._migration, on_error="ignore")

    def _show(self, counts: Mapping[RowState, int], running: Sequence[Report]) -> None:
        self._sum.look(counts, running, anyio.current_time() - self._began)
        self.report.waiting = self.report.waiting or self._lacking
        self.report.samples = self._samples.with_one_of(self.report)
        if self._told.on_progress:
            self._told.on_progress(self.report)

    async def _see_workers(self) -> None:
        """Hand out as many shards as there are hands; without any, wait, but not for ever."""
        threads = await self._threads()
        self._places.total_tokens = max(1, threads * _SHARDS_PER_THREAD)
        self._lacking = "" if threads else "no worker is connected"
        if threads:
            self._with_worker = anyio.current_time()
        elif anyio.current_time() - self._with_worker > self._work.patience:
            self.stop(f"no worker was connected for {self._work.patience:g} s")
        if self.report.stopped and not threads:
            self._handing_out.cancel()

    async def _threads(self) -> int:
        """Of all workers; 0 also if the scheduler is not there."""
        threads = 0
        with anyio.move_on_after(ANSWER_SECONDS), suppress(OSError):
            threads = sum((await self._client.nthreads()).values())
        return threads


class _Counter:
    """Counts the journal's rows, now and then."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._counts: Mapping[RowState, int] = {}
        self._next = float("-inf")

    async def count(self, *, at_once: bool = False) -> Mapping[RowState, int]:
        """What the journal had a little while ago, or has now; the last known while it cannot be asked."""
        began = anyio.current_time()
        if at_once or began >= self._next:
            with suppress(JournalError):
                self._counts = await self._journal.counts()
            self._next = anyio.current_time() + _COUNTING_SHARE * (anyio.current_time() - began)
        return self._counts


def _first(error: BaseException) -> BaseException:
    """What a caller's own function has raised, without the groups around it."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
