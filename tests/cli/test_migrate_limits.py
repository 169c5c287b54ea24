"""When a migration stops: windows over midnight, limits of time and of rejects."""

from datetime import datetime

import pytest

from gateway_async import InvalidRequestError
from gateway_async.cli.migrate.options import MigrationOptions
from gateway_async.cli.migrate.window import Window
from gateway_async.migration import Report

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
    reason = MigrationOptions(file="-", window=str(window)).reason_to_stop(Report(), at(clock))
    assert reason == (None if seconds_until_open == 0 else f"the window {window} has closed")


@pytest.mark.parametrize("text", ["22", "22:00", "22:00-22:00", "25:00-06:00", "22:00+01:00-06:00", "late-early"])
def test_what_is_no_window_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequestError, match="window: must be two") as caught:
        Window.parse(text)
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("report", "reason"),
    [
        (Report(seconds=9.9, rejected=1, repeated=1), None),
        (Report(seconds=10), "maximum of 10 seconds reached"),
        (Report(rejected=2, repeated=1), "more than 2 rows were rejected"),
    ],
)
def test_a_limit_that_is_reached_is_named(report: Report, reason: str | None) -> None:
    assert MigrationOptions(file="-", max_seconds=10, max_rejected=2).reason_to_stop(report, at("12:00")) == reason
