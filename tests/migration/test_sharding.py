"""Shards of a migration, without a cluster: what goes to them, whose rows they take for theirs, what they come to."""

import asyncio
import json
import os
import pickle
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import attrs
import pytest

from gateway_async import AsyncGateway, UserApiKey
from gateway_async.errors import InvalidRequestError
from gateway_async.migration import migrate_vaults, migrate_vaults_dask, read_rows
from gateway_async.migration.dask import ReportTotals, _Coordinator
from gateway_async.migration.journal.protocol import JournalEntry, RowState
from gateway_async.migration.migrate import migrate_rows
from gateway_async.migration.report import Report
from gateway_async.migration.rows.row import fingerprint_of, iterate_rows
from gateway_async.migration.shard_job import ShardJob, ShardResult
from gateway_async.migration.sources.files import shards
from gateway_async.migration.sources.records import Shard
from gateway_async.migration.stop import RowAllowance
from gateway_async.sandbox import Sandbox
from tests.support.leaks import leaks
from tests.support.sandbox_environment import environment_of

from .cluster import CARD, row, write_rows
from .files import all_of, card_row, lines, put
from .journals import MemoryJournal, counts
from .test_runner import FakeGateway

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


# --- whose rows they take for theirs


@pytest.mark.parametrize(
    ("row_number", "run", "charged"),
    [
        (4, 8, 1),  # The same row was stored by a worker that died.
        (5, 8, 0),  # Another row in another shard has the same key.
        (4, 6, 0),  # An earlier migration has stored the row, and this one has read it.
    ],
)
async def test_what_an_earlier_attempt_has_stored_is_charged(
    row_number: int, run: int, charged: int, tmp_path: Path
) -> None:
    path = tmp_path / "cards.jsonl"
    path.write_text("\n\n\n" + json.dumps(row("k")) + "\n")  # in line 4
    rows = read_rows(path, shard=shards(path, 10)[0])
    fingerprint = fingerprint_of((await all_of(rows))[0])
    journal, allowance = MemoryJournal(), RowAllowance(None)
    journal.run = 8
    journal.kept["k"] = attrs.evolve(ENTRY, fingerprint=fingerprint, row_number=row_number, run=run)
    report = await migrate_rows(
        FakeGateway(),  # type: ignore[arg-type]
        iterate_rows(rows),
        journal,
        is_shard=True,
        name="m",
        allowance=allowance,
        concurrency=1,
        rate=None,
        give_up_after=1,
        since=7,
        stop_when=None,
        on_row=None,
        on_progress=None,
    )
    assert (allowance.used, report.repeated, report.skipped) == (charged, row_number != 4, row_number == 4)


ENTRY = JournalEntry(
    key="k",
    api_id="a",
    state=RowState.STORED,
    fingerprint="",
    line=4,
    reasons=(),
    vault_id=None,
    last_four=None,
    brand=None,
    run=8,
    changed_at=datetime.now(UTC),
    read_by=8,
)


# --- a cap on all shards


class Scheduler:
    """A fake of Dask's client: two workers, which store as many rows of a shard as its quota allows.

    Attributes:
        stored: start of a shard → how many of its rows are stored.
        dead: the start of the shard whose worker dies.
    """

    def __init__(self, dead: int | None = None) -> None:
        self.stored: dict[int, int] = {}
        self.dead = dead

    def subscribe_topic(self, _topic: str, _receive: Any) -> None:
        """No events come."""

    async def nthreads(self) -> dict[str, int]:
        """Two workers of one thread."""
        return {"a": 1, "b": 1}

    async def run(self, *_: Any, **__: Any) -> None:
        """Nothing runs that could be stopped."""

    async def submit(self, _run: Any, _id: str, _job: ShardJob, shard: Shard, quota: int, *, pure: bool) -> ShardResult:
        assert not pure
        await asyncio.sleep(0.001)
        if shard.start == self.dead:
            raise OSError("the worker died")
        stored = self.stored[shard.start] = min(shard.rows, quota)
        return ShardResult(Report(stored=stored, at_cap=stored < shard.rows), (), stored)


async def coordinate(scheduler: Scheduler, sizes: Sequence[int], max_rows: int) -> Report:
    coordinator = _Coordinator(
        client=scheduler,
        job=ShardJob(path="cards.csv", size=1, name="m", journal=MemoryJournal),
        journal=MemoryJournal(),
        totals=ReportTotals("m", {}),
        retries=0,
        max_rows=max_rows,
        stop_when=None,
        on_row=None,
        on_progress=None,
    )
    return await coordinator.run([Shard(start, start + 1, 1, rows) for start, rows in enumerate(sizes)])


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("cap", [1, 10, 19, 20, 25, 60])
async def test_quotas_never_exceed_the_cap(cap: int) -> None:
    scheduler = Scheduler()
    report = await coordinate(scheduler, [10] * 5, cap)
    assert (sum(scheduler.stored.values()), report.stored, report.at_cap) == (min(cap, 50), min(cap, 50), cap < 50)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_shard_that_is_given_up_keeps_its_quota() -> None:
    scheduler = Scheduler(dead=0)
    report = await coordinate(scheduler, [6, 3, 10], 10)
    assert (scheduler.stored, report.at_cap) == ({1: 3, 2: 1}, False)
    assert "was given up: OSError: the worker died" in report.stopped


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
                command, env={**os.environ, **environment_of(sandbox)}, check=False, stderr=None
            )
            return process.returncode, json.loads(process.stdout.splitlines()[-1])

        (first, one), (second, two) = await asyncio.gather(migrate("--shard", "1/2"), migrate("--shard", "2/2"))
        whole, both = await migrate("--out", str(tmp_path / "vaults.csv"))
        stored = sandbox.ledger()["stored"]
    assert (first, one["stored"], one["rejected"]) == (3, 29, 1)
    assert (second, two["stored"], two["rejected"]) == (0, 30, 0)
    assert (whole, both["skipped"], both["totals"]["stored"], both["totals"]["rejected"]) == (3, 59, 59, 1)
    assert sorted(stored.values()) == [1] * 59


async def test_a_part_does_not_retry_rejects(tmp_path: Path) -> None:
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


def test_what_a_dead_worker_stored_is_not_skipped() -> None:
    total = ReportTotals("m", {RowState.STORED: 100})
    total.add(Report(stored=30, skipped=20, rejected=1))
    total.update({RowState.STORED: 155}, [Report(stored=5)], 1.0)
    assert counts(total.report) == (55, 1, 0, 0)


def test_what_an_earlier_run_stored_is_skipped() -> None:
    total = ReportTotals("m", {RowState.STORED: 20})
    total.add(Report(stored=30, skipped=20))
    total.update({RowState.STORED: 50}, [], 1.0)
    assert counts(total.report) == (30, 0, 0, 20)


def test_a_journal_that_lags_behind_takes_nothing_away() -> None:
    total = ReportTotals("m", {})
    total.add(Report(stored=30))
    total.update({RowState.STORED: 10}, [Report(stored=7, in_flight=3, limit=8, waits_for="room")], 1.0)
    report = total.report
    assert (report.stored, report.in_flight, report.limit, report.waits_for) == (37, 3, 8, "room")
