"""How many rows a run may store: a cap to the row, whatever becomes of the rows."""

from collections.abc import AsyncIterator, Sequence
from typing import Any

import anyio
import pytest

from gateway_async.migration.journal.protocol import JournalEntry, RowStarted
from gateway_async.migration.report import Report
from gateway_async.migration.rows.row import VaultRow
from tests.support.virtual_time import virtual_time

from .journals import counts
from .test_runner import DOWN, WRONG, Migration, rows

pytestmark = pytest.mark.anyio
anyio_backend = virtual_time


@pytest.fixture
def migration() -> Migration:
    return Migration()


async def test_a_cap_counts_what_is_stored(migration: Migration) -> None:
    migration.gateway.when_sent["id-00003"] = [WRONG]
    given = [*rows(5), VaultRow(key="bad", line=7, problems=("exp_date: no",)), *rows(400)[5:]]
    assert counts(report := await migration.run(given, max_rows=4)) == (4, 2, 0, 0)
    assert (report.stopped, report.at_cap) == ("maximum of 4 rows stored", True)
    assert counts(await migration.run(given, max_rows=4)) == (4, 2, 0, 4)
    assert migration.gateway.sent == [f"id-{number:05}" for number in range(9)]
    assert set(migration.journal.kept) == {f"{number:05}" for number in range(9)}
    assert [entry.key for entry in migration.journal.others.values()] == ["bad"]


async def test_a_cap_that_is_not_exceeded_stops_nothing(migration: Migration) -> None:
    async def source() -> AsyncIterator[VaultRow]:
        for each in rows(3):
            yield each

    report = await migration.run(source(), max_rows=3)
    assert (counts(report), report.stopped, report.at_cap) == ((3, 0, 0, 0), "", False)


async def test_a_row_in_doubt_counts_against_the_cap(migration: Migration) -> None:
    await migration.journal.start("cards")
    await migration.journal.record_starts([RowStarted(key="00000", api_id="id-00000", fingerprint="f", line=2)])
    migration.gateway.when_looked["id-00000"] = [DOWN] * 100
    report = await migration.run(rows(9), max_rows=2)
    assert (counts(report), migration.gateway.sent) == ((1, 0, 1, 0), ["id-00001"])
    assert report.stopped == "maximum of 2 rows reached: 1 stored, 1 unknown"


async def test_no_more_rows_are_under_way_than_may_be_stored(migration: Migration) -> None:
    under_way, most = [0], [0]
    create = migration.gateway.create

    async def counted(new: Any) -> Any:
        under_way[0] += 1
        most[0] = max(most[0], under_way[0] + len(migration.gateway.kept))
        try:
            return await create(new)
        finally:
            under_way[0] -= 1

    migration.gateway.create = counted  # type: ignore[method-assign]
    for number in range(0, 100, 3):
        migration.gateway.when_sent[f"id-{number:05}"] = [WRONG]
    report = await migration.run(rows(500), max_rows=30)
    assert (report.stored, most[0]) == (30, 30)


async def test_skipping_costs_the_same_with_a_cap(migration: Migration) -> None:
    await migration.run(rows(2000))
    asked: list[int] = []
    begin = migration.journal.record_starts

    async def counted(rows: Sequence[RowStarted]) -> Sequence[JournalEntry | None]:
        asked.append(len(rows))
        return await begin(rows)

    migration.journal.record_starts = counted  # type: ignore[method-assign]
    costs = []
    for options in ({}, {"max_rows": 1}, {"max_rows": 10}):
        asked.clear()
        began = anyio.current_time()
        report = await migration.run(rows(2000), **options)
        assert counts(report) == (0, 0, 0, 2000)
        assert (sum(asked), len(asked) < 100) == (2000, True)
        costs.append(anyio.current_time() - began)  # on this clock only waiting takes time
    assert costs == [0, 0, 0]


async def test_a_cap_and_another_reason_to_stop(migration: Migration) -> None:
    migration.gateway.always = DOWN

    def enough(report: Report) -> str | None:
        return "enough" if report.seconds > 1 else None

    report = await migration.run(rows(99), max_rows=2, stop_when=enough)
    assert (report.stopped, report.at_cap, report.stored) == ("enough", False, 0)
