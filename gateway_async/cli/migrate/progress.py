"""Progress of a migration: its current rate, the share of the input done, and the remaining time."""

from collections import deque
from collections.abc import Callable
from typing import Final

import attrs

from gateway_async.migration.report import Report

__all__ = ["Course", "Glance"]

_RATE_SECONDS: Final = 5.0
_ETA_SECONDS: Final = 30.0


@attrs.frozen
class Glance:
    """The progress at one moment.

    Attributes:
        rate: rows per second over the last seconds, without skipped ones.
        share: part of the input that was read, from 0 to 1; None if not known.
        eta: seconds to its end; None if not known.
    """

    rate: float
    share: float | None
    eta: float | None


class Course:
    """Measures the progress of a migration.

    Args:
        share: returns the part of the input that was read, from 0 to 1; None if not known.
    """

    def __init__(self, share: Callable[[], float | None]) -> None:
        self._share = share
        self._rows: deque[tuple[float, float]] = deque([(0.0, 0.0)])
        self._shares: deque[tuple[float, float]] = deque()

    def look(self, report: Report) -> Glance:
        """Return the progress after a new report."""
        rate = _speed(self._rows, report.seconds, report.rows - report.skipped, _RATE_SECONDS)
        share = self._share()
        if share is None:
            return Glance(rate, None, None)
        speed = _speed(self._shares, report.seconds, share, _ETA_SECONDS)
        return Glance(rate, share, (1 - share) / speed if speed > 0 else None)


def _speed(past: deque[tuple[float, float]], seconds: float, value: float, span: float) -> float:
    """Return how much a value grows per second, over the last `span` seconds."""
    past.append((seconds, value))
    while len(past) > 2 and past[1][0] <= seconds - span:  # noqa: PLR2004  one before the span begins
        past.popleft()
    began, was = past[0]
    return (value - was) / (seconds - began) if seconds > began else 0.0
