"""`TimeRange`: seven names and a span of one's own."""

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from gateway_async.errors import InvalidRequestError
from gateway_async.models.time_range import TimeRange

NAMES = ["today", "yesterday", "this week", "last week", "last 30 days", "this month", "last month"]
BERLIN = ZoneInfo("Europe/Berlin")
NOON = datetime(2025, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize("name", NAMES)
def test_the_named_ranges(name: str) -> None:
    """Each constant has the contract's name and no bounds of its own."""
    assert getattr(TimeRange, name.upper().replace(" ", "_")) == TimeRange(name, None, None)


def test_custom_span() -> None:
    """`custom` keeps both ends, in any time zone; a moment is a span too."""
    end = datetime(2025, 3, 2, tzinfo=timezone(timedelta(hours=-5)))
    assert TimeRange.custom(NOON, end) == TimeRange("custom", NOON, end)
    assert TimeRange.custom(NOON, NOON) == TimeRange("custom", NOON, NOON)


@pytest.mark.parametrize("wrong", [datetime(2025, 3, 1), date(2025, 3, 1), "2025-03-01", 1740830400, None])  # noqa: DTZ001  the mistake under test
def test_naive_end(wrong: Any) -> None:
    """Only aware datetimes say what they mean."""
    with pytest.raises(InvalidRequestError, match="aware datetimes"):
        TimeRange.custom(wrong, NOON)
    with pytest.raises(InvalidRequestError, match="aware datetimes"):
        TimeRange.custom(NOON, wrong)


def test_repeated_hour() -> None:
    """Times in one zone are compared as moments, not by their clocks, when summer time ends."""
    summer = datetime(2026, 10, 25, 2, 30, fold=0, tzinfo=BERLIN)
    winter = datetime(2026, 10, 25, 2, 10, fold=1, tzinfo=BERLIN)
    assert TimeRange.custom(summer, winter) == TimeRange("custom", summer, winter)
    with pytest.raises(InvalidRequestError, match="end is before start"):
        TimeRange.custom(winter, summer)


def test_reversed_span() -> None:
    """The gateway would answer an empty list, which looks like a response."""
    with pytest.raises(InvalidRequestError, match="end is before start"):
        TimeRange.custom(NOON, NOON - timedelta(seconds=1))
