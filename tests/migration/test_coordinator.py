"""The coordinator of a Dask migration, with a fake cluster on a virtual clock: no row is lost, whatever ends first."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

import anyio
import attrs
import pytest

from gateway_async.errors import JournalError
from gateway_async.migration.dask import _Coordinator
from gateway_async.migration.journal.protocol import LimitedJournal, RowResult, RowState
from gateway_async.migration.report import Report, ReportCallbacks
from gateway_async.migration.rows.row import VaultRow
from gateway_async.migration.shard_job import ShardJob, ShardResult
from gateway_async.migration.sources.boundaries import Shard
from tests.support.virtual_time import virtual_time

pytestmark = pytest.mark.anyio
anyio_backend = virtual_time

SHARDS = [Shard(number * 100, number * 100 + 100, number * 2, 2) for number in range(4)]
"""Of two rows each."""


class Cluster:
    """A client of a fake cluster, with a journal that has little to say.

    Attributes:
        run_shard: what a worker does with a shard.
        threads: of all workers.
        is_lost: whether the scheduler is gone; then a client raises any error.
        runs: the shards that were run.
        reserved: what the journal's next calls of `reserve_rows` return.
        silent: the methods of the journal that do not respond.
    """

    def __init__(self, run_shard: Callable[[Shard], Awaitable[ShardResult]]) -> None:
        self.run_shard = run_shard
        self.threads = 1
        self.is_lost = False
        self.runs: list[Shard] = []
        self.reserved: list[int] = []
        self.silent: tuple[str, ...] = ()

    def subscribe_topic(self, *_: Any) -> None:
        pass

    async def nthreads(self) -> Mapping[str, int]:
        self._check()
        await anyio.sleep(0.1)
        return {"worker": self.threads} if self.threads else {}

    async def run(self, *_: Any, **_options: Any) -> None:
        self._check()

    async def submit(self, _function: Any, _id: str, _job: Any, shard: Shard, **_options: Any) -> ShardResult:
        self._check()
        self.runs.append(shard)
        return await self.run_shard(shard)

    async def counts(self) -> Mapping[RowState, int]:
        await self._respond("counts")
        return {}

    async def reserve_rows(self, number: int, **_limit: int) -> int:
        await self._respond("reserve_rows")
        return self.reserved.pop(0) if number > 0 else 0

    async def finish(self) -> None:
        await self._respond("finish")

    async def _respond(self, method: str) -> None:
        if method in self.silent:
            await anyio.sleep_forever()

    def _check(self) -> None:
        if self.is_lost:
            raise AttributeError("'NoneType' object has no attribute 'ncores'")


@attrs.define
class Rows:
    """The rows that a coordinator reports by their line, after a while for reading them.

    Attributes:
        reported: their lines.
        most: how many shards were read at a time.
    """

    reported: list[int] = attrs.field(factory=list)
    most: int = 0
    _readers: int = 0

    async def of(self, shard: Shard) -> AsyncIterator[VaultRow]:
        self._readers += 1
        self.most = max(self.most, self._readers)
        await anyio.sleep(5)
        for line in (shard.first_line, shard.first_line + 1):
            yield VaultRow(key=f"k{line}", line=line)
        self._readers -= 1

    def report(self, row: VaultRow, _result: RowResult) -> None:
        assert row.line is not None
        self.reported.append(row.line)


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> Rows:
    rows = Rows()
    monkeypatch.setattr(ShardJob, "rows_of", staticmethod(rows.of))
    return rows


def coordinator(cluster: Any, rows: Rows, *, retries: int = 0, **callbacks: Any) -> _Coordinator:
    job = ShardJob(path="cards.csv", name="cards", journal=lambda: cluster, size=0, give_up_after=60.0, max_rows=9)
    journal = LimitedJournal(cluster)
    called = ReportCallbacks(Report(), **callbacks)
    return _Coordinator(client=cluster, job=job, journal=journal, callbacks=called, retries=retries, on_row=rows.report)


def rejected(shard: Shard, **fields: Any) -> ShardResult:
    """The result of a shard whose first row was rejected."""
    line = shard.first_line
    row = RowResult(
        key=f"k{line}", state=RowState.REJECTED, line=line, api_id="", fingerprint="", row_number=line, reasons=("no",)
    )
    return ShardResult(Report(rejected=1, **fields), (row,))


AT_CAP: Any = {"at_cap": True, "stopped": "maximum of 9 rows stored"}


async def test_rows_are_reported_when_the_workers_leave_after_a_stop(rows: Rows) -> None:
    async def run_shard(shard: Shard) -> ShardResult:
        await anyio.sleep(2)
        if cluster.runs.index(shard):
            await anyio.sleep_forever()  # its worker is gone
        cluster.threads = 0
        return rejected(shard)

    def stop_when(_report: Report) -> str | None:
        return None if cluster.threads else "enough"

    cluster = Cluster(run_shard)
    report = await coordinator(cluster, rows, stop_when=stop_when).run(SHARDS)
    assert (report.stopped, report.rejected, rows.reported) == ("enough", 1, [cluster.runs[0].first_line])
    assert len(cluster.runs) < len(SHARDS)


@pytest.mark.parametrize("end", ["at the cap", "stopped", "given up"])
async def test_rows_of_a_shard_that_is_held_back_are_reported(rows: Rows, end: str) -> None:
    # A shard at the cap is to run again. Its rows are reported once, also if it does not.
    stopping: list[str] = []

    async def run_shard(shard: Shard) -> ShardResult:
        is_first = cluster.runs.count(shard) == 1
        if len(cluster.runs) == 2:
            cluster.threads = 0  # so that the next round has one shard at a time, and holds the other back
        await anyio.sleep(2)
        if not is_first and end == "stopped":
            stopping.append("enough")
            await anyio.sleep(2)
        if not is_first and end == "given up":
            raise ValueError("no")
        return rejected(shard, **AT_CAP)

    cluster = Cluster(run_shard)
    cluster.reserved = [1, 0]
    made = coordinator(cluster, rows, stop_when=lambda _: stopping[0] if stopping else None)
    report = await made.run(SHARDS[:2])
    assert (sorted(rows.reported), report.rejected) == ([0, 2], 2)
    assert report.at_cap is (end == "at the cap")
    assert len(cluster.runs) == (4 if end == "given up" else 3)


async def test_a_lost_scheduler_is_waited_for(rows: Rows) -> None:
    async def run_shard(_shard: Shard) -> ShardResult:
        cluster.is_lost = True
        await anyio.sleep_forever()
        raise AssertionError

    cluster = Cluster(run_shard)
    report = await coordinator(cluster, rows).run(SHARDS)
    assert report.stopped == "no worker was connected for 60 s"
    assert 60 <= report.seconds < 62


async def test_a_lost_scheduler_does_not_replace_the_callers_error(rows: Rows) -> None:
    async def run_shard(_shard: Shard) -> ShardResult:
        cluster.is_lost = True
        raise OSError("lost")

    def fail(report: Report) -> None:
        if report.seconds > 2:
            raise ValueError("the caller's own")

    cluster = Cluster(run_shard)
    with pytest.raises(ValueError, match="the caller's own"):
        await coordinator(cluster, rows, retries=9, on_progress=fail).run(SHARDS)


async def test_connected_workers_are_not_missing_while_they_are_counted(rows: Rows) -> None:
    async def run_shard(_shard: Shard) -> ShardResult:
        await anyio.sleep(1.1)
        return ShardResult(Report(stored=2), ())

    waits: list[str] = []
    made = coordinator(cluster := Cluster(run_shard), rows)
    async with anyio.create_task_group() as tasks:

        async def watch() -> None:
            while True:
                await anyio.sleep(0.05)
                made._update_report()  # as the end of a round does
                waits.append(made.report.waits_for)

        tasks.start_soon(watch)
        await made.run(SHARDS)
        tasks.cancel_scope.cancel()
    assert len(cluster.runs) == len(SHARDS)
    assert set(waits[5:]) == {""}


async def test_rows_of_a_few_shards_are_read_at_a_time(rows: Rows) -> None:
    async def run_shard(shard: Shard) -> ShardResult:
        return rejected(shard)

    shards = [Shard(number * 100, number * 100 + 100, number * 2, 2) for number in range(20)]
    await coordinator(Cluster(run_shard), rows).run(shards)
    assert (sorted(rows.reported), rows.most) == ([shard.first_line for shard in shards], 4)


async def test_a_stop_ends_the_pause_before_a_retry(rows: Rows) -> None:
    async def run_shard(_shard: Shard) -> ShardResult:
        raise ValueError("no")

    def stop_when(report: Report) -> str | None:
        return "enough" if report.seconds >= 10 else None

    cluster = Cluster(run_shard)
    report = await coordinator(cluster, rows, retries=9, stop_when=stop_when).run(SHARDS[:1])
    assert (report.stopped, len(cluster.runs)) == ("enough", 4)  # after 0, 1, 3 and 7 s
    assert report.seconds < 12


async def store_both(_shard: Shard) -> ShardResult:
    return ShardResult(Report(stored=2), ())


async def test_a_silent_journal_delays_start_and_end_by_one_count(rows: Rows) -> None:
    seen: list[float] = []
    cluster = Cluster(store_both)
    cluster.silent = ("counts",)
    made = coordinator(cluster, rows, on_progress=lambda report: seen.append(report.seconds))
    report = await made.run(SHARDS)
    assert (report.stored, report.complete, report.totals) == (8, True, None)
    assert (seen[0] <= 2, 60 <= report.seconds < 64) == (True, True)


async def test_the_end_gives_up_a_journal_that_hangs(rows: Rows) -> None:
    waits: list[str] = []
    cluster = Cluster(store_both)
    cluster.silent = ("finish",)
    made = coordinator(cluster, rows, on_progress=lambda report: waits.append(report.waits_for))
    report = await made.run(SHARDS)
    said = "the journal Cluster cannot be used: no response within 30 s"
    assert report.stopped.startswith(f"{said}; nothing is lost, run the migration again")
    assert (said in waits, report.waits_for, report.seconds <= 60 + 2 * 30) == (True, "", True)


async def test_a_counter_of_rows_that_hangs_ends_the_migration(rows: Rows) -> None:
    async def run_shard(shard: Shard) -> ShardResult:
        return rejected(shard, **AT_CAP)

    cluster = Cluster(run_shard)
    cluster.silent = ("reserve_rows",)
    with pytest.raises(JournalError, match="no response within 30 s"):
        await coordinator(cluster, rows).run(SHARDS)
    assert anyio.current_time() < 40
