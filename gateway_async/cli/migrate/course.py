"""Where a migration stands: how fast it is just now, how much of its input is done, how long it will take."""

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
    """How it stands at one moment.

    Attributes:
        rate: rows a second, of late; skipped ones not counted.
        share: how much of the input is read, from 0 to 1; None while nobody knows.
        eta: seconds to its end; None while nobody knows.
    """

    rate: float
    share: float | None
    eta: float | None


class Course:
    """Follows a migration.

    Args:
        share: how much of the input is read, from 0 to 1; None where nobody knows.
    """

    def __init__(self, share: Callable[[], float | None]) -> None:
        self._share = share
        self._rows: deque[tuple[float, float]] = deque([(0.0, 0.0)])
        self._shares: deque[tuple[float, float]] = deque()

    def look(self, report: Report) -> Glance:
        """Look once more."""
        rate = _speed(self._rows, report.seconds, report.rows - report.skipped, _RATE_SECONDS)
        share = self._share()
        if share is None:
            return Glance(rate, None, None)
        speed = _speed(self._shares, report.seconds, share, _ETA_SECONDS)
        return Glance(rate, share, (1 - share) / speed if speed > 0 else None)


def _speed(past: deque[tuple[float, float]], seconds: float, value: float, span: float) -> float:
    """How much a value grows in a second, over the last so many seconds."""
    past.append((seconds, value))
    while len(past) > 2 and past[1][0] <= seconds - span:  # noqa: PLR2004  one before the span begins
        past.popleft()
    began, was = past[0]
    return (value - was) / (seconds - began) if seconds > began else 0.0
