"""Shards of a migration, without a cluster: what goes to them, whose rows they take for theirs, what they come to."""

import pickle
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from gateway_async.errors import InvalidRequestError
from gateway_async.migration import migrate_vaults_dask
from gateway_async.migration.distributed.shard_job import ReportTotals, ShardJob, _ShardJournal
from gateway_async.migration.engine.row_allowance import RowAllowance
from gateway_async.migration.journal.protocol import JournalEntry, JournalRun, RowStarted, RowState
from gateway_async.migration.report import Report
from gateway_async.migration.sources.shards import shards
from tests.support.leaks import leaks

from .cluster import row, write_rows
from .journals import counts

pytestmark = pytest.mark.anyio


# --- what goes through the scheduler


def found_in(value: object) -> set[str]:
    """Return how a value leads to the password, but for the pickle, which workers need."""
    return {leak for leak in leaks(value, ["hidden"], [__file__]) if "partial" not in leak}


def test_no_secret_goes_to_a_worker_or_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a card nor a key is in what is pickled, and no address in what is logged."""
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
    """Neither that of the journal nor that of Redis, whatever argument is wrong."""
    path = write_rows(tmp_path / "cards.jsonl", [row("k")])
    addresses: Any = {"journal": "postgresql://me:hidden@host/db", "redis": "redis://:hidden@host"}
    for wrong in ({"rate": -1}, {"redis": "redis://:hidden@host:port"}, {"journal": "postgresql://me:hidden@h:x/db"}):
        with pytest.raises(InvalidRequestError) as refused:
            await migrate_vaults_dask("127.0.0.1:1", path, name="m", **addresses | wrong)
        assert found_in(refused.value) == set()


# --- whose rows they take for theirs, and what they come to


class Known:
    """As much of a journal as is asked: it knows one row."""

    def __init__(self, entry: JournalEntry | None) -> None:
        self._entry = entry
        self.record_results = self.delete_unsent = self.delete_rejected = self.flush = self.entries = None
        self.not_started = self.aclose = None

    async def start(self, name: str | None, gateway: str = "", *, since: int | None = None) -> JournalRun:
        """The ninth run, in which rows are read that no run since the seventh has read."""
        assert since == 7
        return JournalRun(f"{name}{gateway}", 9)

    async def record_starts(self, rows: Any) -> Any:
        """The one row, whatever is asked."""
        return [self._entry for _ in rows]


async def start_row(entry: JournalEntry | None) -> tuple[Sequence[JournalEntry | None], int]:
    """Start the row in line 4 in a migration whose first run is the seventh; and what is taken of the allowance."""
    known: Any = Known(entry)
    allowance = RowAllowance(None)
    journal = _ShardJournal(known, since=7, allowance=allowance)
    assert (await journal.start("m")).number == 7
    row = RowStarted(key="k", api_id="a", fingerprint="f", line=4, row_number=4)
    return await journal.record_starts([row]), allowance.used


@pytest.mark.parametrize(
    ("row_number", "run", "charged"),
    [
        (4, 8, 1),  # The same row was stored by a worker that died.
        (5, 8, 0),  # Another row in another shard has the same key.
        (4, 6, 0),  # An earlier migration has stored the row, and this one has read it.
    ],
)
async def test_what_an_earlier_attempt_has_stored_is_charged(row_number: int, run: int, charged: int) -> None:
    """A row counts against the cap if this migration has stored it, and not another row with its key."""
    entry = _entry(row_number=row_number, run=run, read_by=8)
    assert await start_row(entry) == ([entry], charged)


async def test_a_new_row_is_new() -> None:
    """Nothing is made up for a row that the journal does not know."""
    assert await start_row(None) == ([None], 0)


def _entry(**facts: Any) -> JournalEntry:
    shown: dict[str, Any] = {"vault_id": None, "last_four": None, "brand": None, "reasons": (), "line": 4}
    shown |= {"changed_at": datetime.now(UTC)}
    return JournalEntry(key="k", api_id="a", state=RowState.STORED, fingerprint="f", **{**shown, **facts})


def test_what_a_dead_worker_stored_is_not_skipped() -> None:
    """A shard that runs again skips its rows. In the whole migration they count as stored."""
    total = ReportTotals("m", {RowState.STORED: 100})
    total.add(Report(stored=30, skipped=20, rejected=1))
    total.update({RowState.STORED: 155}, [Report(stored=5)], 1.0)
    assert counts(total.report) == (55, 1, 0, 0)


def test_what_an_earlier_run_stored_is_skipped() -> None:
    """Rows that were stored before the migration was begun again are not counted as stored."""
    total = ReportTotals("m", {RowState.STORED: 20})
    total.add(Report(stored=30, skipped=20))
    total.update({RowState.STORED: 50}, [], 1.0)
    assert counts(total.report) == (30, 0, 0, 20)


def test_a_journal_that_lags_behind_takes_nothing_away() -> None:
    """While the journal is counted only now and then, the shards' own reports count."""
    total = ReportTotals("m", {})
    total.add(Report(stored=30))
    total.update({RowState.STORED: 10}, [Report(stored=7, in_flight=3, limit=8, waits_for="room")], 1.0)
    report = total.report
    assert (report.stored, report.in_flight, report.limit, report.waits_for) == (37, 3, 8, "room")
