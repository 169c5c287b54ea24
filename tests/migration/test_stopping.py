"""When a migration stops: windows over midnight, limits of time and of rejects."""

from datetime import datetime

import pytest

from gateway_async import InvalidRequestError
from gateway_async.migration import Report
from gateway_async.migration.stop_conditions import Window, any_of, outside, rejected_more, taken_longer

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
