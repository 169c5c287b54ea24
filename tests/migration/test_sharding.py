"""Shards of a migration, without a cluster: what goes to them, whose rows they take for theirs, what they come to."""

import asyncio
import json
import os
import pickle
import sys
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import anyio
import pytest

from gateway_async import AsyncGateway, UserApiKey
from gateway_async.errors import InvalidRequestError
from gateway_async.migration import migrate_vaults, migrate_vaults_dask, read_rows
from gateway_async.migration.dask import _Coordinator
from gateway_async.migration.journal.store import SqliteJournal
from gateway_async.migration.report import Report, ReportCallbacks, add_up
from gateway_async.migration.shard_job import ShardJob, ShardResult
from gateway_async.migration.sources.boundaries import Shard
from gateway_async.migration.sources.files import shards
from gateway_async.sandbox import Sandbox
from tests.support.leaks import leaks

from .files import CARD, all_of, card_row, lines, put, row, write_rows
from .journals import MemoryJournal, counts

pytestmark = pytest.mark.anyio


# --- what goes through the scheduler


def found_in(value: object) -> set[str]:
    """Return how a value leads to the password, but for the pickle, which workers need."""
    return {leak for leak in leaks(value, ["hidden"], [__file__]) if "partial" not in leak}


def test_no_secret_goes_to_a_worker_or_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATEWAY_USER_API_KEY", "key-" + "7" * 20)
    path = write_rows(tmp_path / "cards.jsonl", [row("k")])
    work = ShardJob(
        path=str(path), size=1, name="m", journal="postgresql://me:hidden@host/db", redis="redis://:hidden@"
    )
    sent = pickle.dumps((work, shards(path, 10)))
    assert b"41111111" not in sent
    assert b"7777777" not in sent
    assert "hidden" not in repr(work)
    assert found_in(work) == set()
    there, _ = pickle.loads(sent)  # noqa: S301  our own bytes
    assert (there, there.journal.reveal()) == (work, "postgresql://me:hidden@host/db")


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_no_address_is_in_the_frames_of_an_error(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "cards.jsonl", [row("k")])
    addresses: Any = {"journal": "postgresql://me:hidden@host/db", "redis": "redis://:hidden@host"}
    for wrong in ({"rate": -1}, {"redis": "redis://:hidden@host:port"}, {"journal": "postgresql://me:hidden@h:x/db"}):
        with pytest.raises(InvalidRequestError) as refused:
            await migrate_vaults_dask("127.0.0.1:1", path, name="m", **addresses | wrong)
        assert found_in(refused.value) == set()


# --- a cap on all shards


class Scheduler:
    """A fake of Dask's client: two workers, which store as many rows of a shard as the shared counter allows.

    Attributes:
        stored: start of a shard → how many of its rows are stored.
        dead: the start of the shard whose worker dies.
    """

    def __init__(self, journal: SqliteJournal, dead: int | None = None) -> None:
        self.journal = journal
        self.stored: dict[int, int] = {}
        self.dead = dead

    def subscribe_topic(self, _topic: str, _receive: Any) -> None:
        """No events come."""

    async def nthreads(self) -> dict[str, int]:
        """Two workers of one thread."""
        return {"a": 1, "b": 1}

    async def run(self, *_: Any, **__: Any) -> None:
        """Nothing runs that could be stopped."""

    async def submit(self, _run: Any, _id: str, job: ShardJob, shard: Shard, *, pure: bool) -> ShardResult:
        """Run a shard, whose last row is rejected, with some time for the others."""
        assert not pure
        assert job.max_rows is not None
        before = self.stored.get(shard.start, 0)
        reserved = await self.journal.reserve_rows(shard.rows - before, limit=job.max_rows)
        await asyncio.sleep(0.001)
        if shard.start == self.dead:
            raise OSError("the worker died")
        if is_whole := before + reserved == shard.rows:
            await self.journal.reserve_rows(-1, limit=job.max_rows)
        self.stored[shard.start] = before + reserved - is_whole
        return ShardResult(
            Report(stored=reserved - is_whole, skipped=before, rejected=is_whole, at_cap=not is_whole), ()
        )


async def coordinate(folder: Path, sizes: Sequence[int], max_rows: int, dead: int | None = None) -> tuple[Any, Report]:
    async with aclosing(SqliteJournal(folder / "cards.journal")) as journal:
        await journal.start("m")
        scheduler = Scheduler(journal, dead)
        job = ShardJob(path="cards.csv", size=1, name="m", journal=MemoryJournal, max_rows=max_rows)
        callbacks = ReportCallbacks(Report("m"))
        coordinator = _Coordinator(client=scheduler, job=job, journal=journal, callbacks=callbacks, retries=0)
        report = await coordinator.run([Shard(start, start + 1, 1, rows) for start, rows in enumerate(sizes)])
    return scheduler.stored, report


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("cap", [1, 10, 18, 19, 25, 45, 60])
async def test_shards_never_exceed_the_cap_and_use_it_up(cap: int, tmp_path: Path) -> None:
    stored, report = await coordinate(tmp_path, [10] * 5, cap)
    assert (sum(stored.values()), report.at_cap) == (min(cap, 45), cap < 46)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_shard_that_is_given_up_keeps_what_it_reserved(tmp_path: Path) -> None:
    stored, report = await coordinate(tmp_path, [6, 3, 10], 10, dead=0)
    assert (stored, report.at_cap) == ({1: 2, 2: 2}, False)
    assert "was given up: OSError: the worker died" in report.stopped


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_new_run_has_the_whole_cap(tmp_path: Path) -> None:
    async with aclosing(SqliteJournal(tmp_path / "cards.journal")) as journal:
        await journal.start("m")
        assert await journal.reserve_rows(7, limit=10) == 7
        await journal.start("m", since=1)  # a part of the same run
        assert await journal.reserve_rows(7, limit=10) == 3
        assert await journal.reserve_rows(7, limit=10) == 0
        await journal.start("m")
        assert await journal.reserve_rows(7, limit=10) == 7


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("since", [0, 1], ids=["not started", "of an earlier run"])
async def test_a_process_that_is_left_behind_does_not_reset_the_cap(since: int, tmp_path: Path) -> None:
    async with aclosing(SqliteJournal(tmp_path / "cards.journal")) as journal:
        await journal.start("m")
        await journal.start("m")
        assert await journal.reserve_rows(10, limit=10) == 10
        async with aclosing(SqliteJournal(tmp_path / "cards.journal")) as other:
            if since:
                await other.start("m", since=since)
            assert [await other.reserve_rows(number, limit=10) for number in (7, 0, -7)] == [0, 0, 0]
        assert await journal.reserve_rows(1, limit=10) == 0


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_journal_that_cannot_count_reserved_rows_is_closed(tmp_path: Path) -> None:
    journal = MemoryJournal()
    path = write_rows(tmp_path / "cards.jsonl", [row("k")])
    job = ShardJob(path=str(path), name="m", journal=lambda: journal, max_rows=1)
    with pytest.raises(InvalidRequestError, match="max_rows: not possible with this journal"):
        async with job.open_journal():
            pass
    assert journal.is_closed


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_missing_file_is_missing_here_only_on_a_worker(tmp_path: Path) -> None:
    path = tmp_path / "cards.jsonl"
    with pytest.raises(InvalidRequestError, match=r"path: \S+cards.jsonl cannot be read: "):
        ShardJob(path=path, name="m", journal=MemoryJournal)
    job = ShardJob(path=path, name="m", journal=MemoryJournal, size=1)
    with pytest.raises(InvalidRequestError, match=r"path: \S+cards.jsonl cannot be read here: "):
        await job.check()


# --- processes that any scheduler starts


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_plain_processes_share_a_file(tmp_path: Path) -> None:
    rows = [row(f"k{number}", "411" if number == 3 else CARD) for number in range(60)]
    path = write_rows(tmp_path / "cards.jsonl", rows)
    options = ("--journal", str(tmp_path / "cards.journal"), "--json")
    with Sandbox() as sandbox:

        async def migrate(*more: str) -> tuple[int, dict[str, Any]]:
            command = [sys.executable, "-m", "gateway_async.cli", "migrate", str(path), *options, *more]
            process = await anyio.run_process(
                command, env={**os.environ, **sandbox.environment()}, check=False, stderr=None
            )
            return process.returncode, json.loads(process.stdout.splitlines()[-1])

        (first, one), (second, two) = await asyncio.gather(migrate("--shard", "1/2"), migrate("--shard", "2/2"))
        whole, both = await migrate("--out", str(tmp_path / "vaults.csv"))
        stored = sandbox.ledger()["stored"]
    assert (first, one["stored"], one["rejected"]) == (3, 29, 1)
    assert (second, two["stored"], two["rejected"]) == (0, 30, 0)
    assert (whole, both["skipped"], both["totals"]["stored"], both["totals"]["rejected"]) == (3, 59, 59, 1)
    assert sorted(stored.values()) == [1] * 59


async def test_rejects_of_part(tmp_path: Path) -> None:
    """A part that retried rejects would forget those of the others."""
    path = put(tmp_path, lines(card_row(1), card_row(2)))
    async with AsyncGateway("https://gateway.test", developer_id="d", credentials=UserApiKey("u", "k")) as gateway:
        with pytest.raises(InvalidRequestError, match="retry_rejected: not allowed for a part of a file"):
            await migrate_vaults(gateway, read_rows(path, shard="1/2"), journal=tmp_path / "j.db", retry_rejected=True)


@pytest.mark.parametrize("text", ["", "2", "0/2", "3/2", "1/0", "a/b", "1/2/3"])
def test_a_part_must_be_one_of_so_many(text: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidRequestError, match="shard: must be like 2/8"):
        read_rows(tmp_path / "cards.csv", shard=text)
    with pytest.raises(InvalidRequestError, match="shard: needs the path of a file"):
        read_rows("-", format="csv", shard="1/2")


@pytest.mark.parametrize("name", ["cards.jsonl", "cards.csv"])
async def test_the_parts_are_the_file(name: str, tmp_path: Path) -> None:
    given = [row(f"k{number}") for number in range(7)]
    path = write_rows(tmp_path / name, given)
    if name.endswith("csv"):
        path.write_text("key,account_number,exp_date\n" + "".join(",".join(each.values()) + "\n" for each in given))
    for count in (1, 2, 3, 9):
        parts = [await all_of(read_rows(path, shard=f"{number}/{count}")) for number in range(1, count + 1)]
        assert [each.key for part in parts for each in part] == [each["key"] for each in given]


# --- what they come to


@pytest.mark.parametrize(
    ("reports", "stored", "expected"),
    [
        ([Report(stored=30, skipped=20, rejected=1), Report(stored=5)], 55, (55, 1, 0, 0)),
        ([Report(stored=30, skipped=20)], 30, (30, 0, 0, 20)),
        ([Report(stored=30), Report(stored=7)], 10, (37, 0, 0, 0)),
    ],
    ids=["by a dead worker", "by an earlier run", "more than the journal says"],
)
def test_what_was_stored_counts_once(reports: list[Report], stored: int, expected: tuple[int, ...]) -> None:
    report = Report()
    add_up(report, reports, stored)
    assert counts(report) == expected


def test_calls_of_all_shards_are_added_up() -> None:
    report = Report()
    add_up(report, [Report(stored=30), Report(stored=7, in_flight=3, limit=8, waits_for="room")], 10)
    assert (report.in_flight, report.limit, report.waits_for) == (3, 8, "room")
