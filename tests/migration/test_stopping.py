"""When a migration stops: windows over midnight, budgets to the row."""

from collections.abc import AsyncIterator
from datetime import datetime

import anyio
import pytest

from gateway_async import InvalidRequestError
from gateway_async.migration import Report
from gateway_async.migration.stopping import Budget, Window, any_of, outside, rejected_more, taken_longer

NIGHT = Window.parse("22:00-06:00")
DAY = Window.parse("09:30 - 17:00")


def at(clock: str) -> datetime:
    """A moment of one day."""
    return datetime.fromisoformat(f"2026-11-21T{clock}")


@pytest.mark.parametrize(
    ("window", "clock", "opens_in"),
    [
        (NIGHT, "21:59:59", 1),
        (NIGHT, "22:00:00", 0),
        (NIGHT, "03:00:00", 0),
        (NIGHT, "06:00:00", 16 * 3600),
        (DAY, "09:00:00", 1800),
        (DAY, "12:00:00", 0),
        (DAY, "17:00:00", 16.5 * 3600),
    ],
)
def test_a_window_opens_and_closes(window: Window, clock: str, opens_in: float) -> None:
    """Its beginning belongs to it, its end does not, and it may reach over midnight."""
    assert window.opens_in(at(clock)) == opens_in
    assert window.holds(at(clock)) is (opens_in == 0)
    stops = outside(window, lambda: at(clock))(Report())
    assert stops == (None if opens_in == 0 else f"it is past the window {window}")


@pytest.mark.parametrize("text", ["22", "22:00", "22:00-22:00", "25:00-06:00", "22:00+01:00-06:00", "late-early"])
def test_what_is_no_window_is_refused(text: str) -> None:
    """With the form that is meant."""
    with pytest.raises(InvalidRequestError, match="window: must be two") as caught:
        Window.parse(text)
    assert text in str(caught.value)


def test_the_first_reason_counts() -> None:
    """Of several limits the first that is reached says why; None is no limit."""
    stop = any_of(None, taken_longer(10), rejected_more(2))
    assert stop(Report(seconds=9.9, rejected=2)) is None
    assert stop(Report(seconds=10)) == "it ran for 10 seconds, as asked"
    assert stop(Report(rejected=3)) == "more than 2 rows are rejected"


async def migrated(budget: Budget[int], ends: dict[int, str]) -> tuple[list[int], str | None]:
    """What a budget lets through to a migration in which rows end as they are told, and why it stopped."""
    report, given = Report(), []
    async for row in budget.rows():
        budget.look(report)
        given.append(row)
        name = ends.get(row, "stored")
        setattr(report, name, getattr(report, name) + 1)
        await anyio.lowlevel.checkpoint()
    return given, budget.look(report)


@pytest.mark.anyio
async def test_a_budget_counts_what_is_stored() -> None:
    """Rows that are skipped or rejected come again in every run and use up nothing; so each run gets on."""
    ends = {0: "skipped", 1: "skipped", 3: "rejected"}
    given, why = await migrated(Budget(2, range(100)), ends)
    assert [row for row in given if row not in ends] == [2, 4]
    assert why == "2 rows were stored, as asked"


@pytest.mark.anyio
async def test_a_budget_that_is_not_used_up_stops_nothing() -> None:
    """Not even when it is used up to the last row."""

    async def source() -> AsyncIterator[int]:
        for row in range(3):
            yield row

    assert await migrated(Budget(3, source()), {}) == ([0, 1, 2], None)


@pytest.mark.anyio
async def test_a_row_in_doubt_does_not_hold_a_budget_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is settled after all others have been read, so that waiting for it would have no end."""
    monkeypatch.setattr("gateway_async.migration.stopping._LOOK_SECONDS", 0)
    budget = Budget(1, range(9))
    given = []
    with anyio.fail_after(30):
        async for row in budget.rows():
            given.append(row)  # noqa: PERF401  and none of them ends
    assert given == [0]
