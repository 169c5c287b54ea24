"""When a migration stops: windows over midnight, limits of time and of rejects."""

from datetime import datetime

import pytest

from gateway_async import InvalidRequestError
from gateway_async.migration import Report
from gateway_async.migration.stop import (
    Window,
    stop_after_rejects,
    stop_after_seconds,
    stop_on_any,
    stop_outside,
)

OVERNIGHT = Window.parse("22:00-06:00")
DAY = Window.parse("09:30 - 17:00")


def at(clock: str) -> datetime:
    return datetime.fromisoformat(f"2026-11-21T{clock}")


@pytest.mark.parametrize(
    ("window", "clock", "seconds_until_open"),
    [
        (OVERNIGHT, "21:59:59", 1),
        (OVERNIGHT, "22:00:00", 0),
        (OVERNIGHT, "03:00:00", 0),
        (OVERNIGHT, "06:00:00", 16 * 3600),
        (DAY, "09:00:00", 1800),
        (DAY, "12:00:00", 0),
        (DAY, "17:00:00", 16.5 * 3600),
    ],
)
def test_a_window_opens_and_closes(window: Window, clock: str, seconds_until_open: float) -> None:
    assert window.seconds_until_open(at(clock)) == seconds_until_open
    assert window.contains(at(clock)) is (seconds_until_open == 0)
    stops = stop_outside(window, lambda: at(clock))(Report())
    assert stops == (None if seconds_until_open == 0 else f"the window {window} has closed")


@pytest.mark.parametrize("text", ["22", "22:00", "22:00-22:00", "25:00-06:00", "22:00+01:00-06:00", "late-early"])
def test_what_is_no_window_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequestError, match="window: must be two") as caught:
        Window.parse(text)
    assert text in str(caught.value)


def test_the_first_reason_counts() -> None:
    stop = stop_on_any(None, stop_after_seconds(10), stop_after_rejects(2))
    assert stop(Report(seconds=9.9, rejected=2)) is None
    assert stop(Report(seconds=10)) == "maximum of 10 seconds reached"
    assert stop(Report(rejected=3)) == "more than 2 rows were rejected"
