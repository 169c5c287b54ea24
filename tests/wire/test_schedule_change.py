"""Charges that were skipped or deferred are counted in intervals of days, weeks and months."""

from datetime import date, timedelta
from itertools import product
from typing import Any

import pytest

from gateway_async._wire.call import LookupStatus, OutcomeQuery
from gateway_async._wire.convert import FieldError
from gateway_async.resources.recurrings import SCHEDULE_CHANGE, schedule_change


def found(interval: int, unit: str, start: str, end: str, count: int = 1) -> LookupStatus:
    """Return what the lookup finds after the next charge has moved from one date to another."""
    before = {"next_run_date": start, "end_date": None, "interval": interval, "interval_type": unit}
    outcome_query = OutcomeQuery(
        kind=SCHEDULE_CHANGE,
        resource="recurrings",
        id="r",
        evidence="exists",
        sent={"before": {**before, "transaction_ids": []}, "expected_shift": {"next_run_date": count, "end_date": 0}},
    )
    after: dict[str, Any] = {"id": "r", "transactions": [], "interval": interval, "interval_type": unit}
    content = {"recurring": {**after, "next_run_date": end, "end_date": "0000-00-00"}}
    return schedule_change(outcome_query).read(content).status


@pytest.mark.parametrize(
    ("interval", "unit", "start", "end", "count"),
    [
        (1, "d", "2030-02-28", "2030-03-01", 1),
        (10, "d", "2030-12-25", "2031-01-14", 2),
        (2, "w", "2030-01-01", "2030-01-15", 1),
        (1, "m", "2019-02-23", "2019-03-23", 1),
        (3, "m", "2030-11-15", "2031-05-15", 2),
        (12, "m", "2028-02-29", "2029-02-28", 1),
        (12, "m", "2028-02-29", "2029-03-01", 1),
    ],
)
def test_a_date_that_many_intervals_later_shows_it(interval: int, unit: str, start: str, end: str, count: int) -> None:
    assert found(interval, unit, start, end, count) is LookupStatus.EXECUTED


@pytest.mark.parametrize("end", ["2030-02-28", "2030-03-01", "2030-03-02", "2030-03-03"])
def test_short_month(end: str) -> None:
    """A month after the 31st of January is the end of February, or as many days into March."""
    assert found(1, "m", "2030-01-31", end) is LookupStatus.EXECUTED


@pytest.mark.parametrize("unit", ["d", "w", "m"])
def test_an_unmoved_date_shows_no_execution(unit: str) -> None:
    assert found(1, unit, "2030-01-31", "2030-01-31") is LookupStatus.NOT_EXECUTED


@pytest.mark.parametrize(
    ("interval", "unit", "end"),
    [
        (2, "d", "2030-02-01"),
        (1, "w", "2030-02-06"),
        (1, "m", "2030-02-15"),
        (1, "y", "2031-01-31"),
        (0, "d", "2030-01-31"),
    ],
)
def test_other_dates(interval: int, unit: str, end: str) -> None:
    """A part of an interval, an unknown unit, and no interval at all."""
    with pytest.raises(FieldError):
        found(interval, unit, "2030-01-31", end)


def test_months() -> None:
    """Of five years, every number of months is told from the others, from every day of a month."""
    days = [date(2027, 1, 1) + timedelta(days=each) for each in range(0, 366, 5)]
    for months, day in product(range(1, 61), days):
        years, month = divmod(day.month - 1 + months, 12)
        later = date(day.year + years, month + 1, min(day.day, 28))
        assert found(1, "m", day.isoformat(), later.isoformat(), months) is LookupStatus.EXECUTED
        with pytest.raises(FieldError):
            found(1, "m", day.isoformat(), later.isoformat(), months + 1)
