"""Conditions that stop a migration cleanly before the end of its input: time of day, duration, number of rejects.

Each condition is a function for `migrate_vaults(stop_when=…)`. It gets the report and returns the reason to stop, or
None. The current time is passed in as a parameter.
"""

from collections.abc import Callable
from datetime import datetime, time, timedelta
from typing import Self

import attrs

from gateway_async._kernel import pluralize
from gateway_async.errors import InvalidRequestError
from gateway_async.migration.report import Report

__all__ = ["StopCondition", "Window", "stop_after_rejects", "stop_after_seconds", "stop_on_any", "stop_outside"]

StopCondition = Callable[[Report], str | None]


@attrs.frozen
class Window:
    """The time of day in which a migration may run, local time. The end may be on the next day."""

    begins: time
    ends: time

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a window such as `22:00-06:00`.

        Raises:
            InvalidRequestError: the text is not a window.
        """
        begins, _, ends = text.replace("–", "-").partition("-")
        try:
            window = cls(time.fromisoformat(begins.strip()), time.fromisoformat(ends.strip()))
        except ValueError:
            raise InvalidRequestError(f"window: must be two times of day like 22:00-06:00, not {text!r}") from None
        if window.begins == window.ends or window.begins.tzinfo or window.ends.tzinfo:
            raise InvalidRequestError(f"window: must be two different local times of day, not {text!r}")
        return window

    def contains(self, at: datetime) -> bool:
        """Return whether a moment is in the window. The end itself is outside."""
        now = at.time().replace(tzinfo=None)
        if self.begins < self.ends:
            return self.begins <= now < self.ends
        return now >= self.begins or now < self.ends

    def seconds_until_open(self, at: datetime) -> float:
        """Return the seconds until it opens, by local clock time; 0 while it is open."""
        if self.contains(at):
            return 0.0
        opens = datetime.combine(at.date(), self.begins, at.tzinfo)
        return ((opens if opens > at else opens + timedelta(days=1)) - at).total_seconds()

    def __str__(self) -> str:
        return f"{self.begins:%H:%M}-{self.ends:%H:%M}"


def stop_on_any(*stops: StopCondition | None) -> StopCondition:
    """Combine conditions: the first reason that one returns counts. None is ignored."""
    conditions = [stop for stop in stops if stop is not None]
    return lambda report: next((reason for stop in conditions if (reason := stop(report))), None)


def stop_outside(window: Window, now: Callable[[], datetime]) -> StopCondition:
    """Return a condition that stops when the window closes."""
    return lambda _: None if window.contains(now()) else f"the window {window} has closed"


def stop_after_seconds(seconds: float) -> StopCondition:
    """Return a condition that stops after a number of seconds."""
    reason = f"maximum of {seconds:g} {pluralize(seconds, 'second')} reached"
    return lambda report: reason if report.seconds >= seconds else None


def stop_after_rejects(most: int) -> StopCondition:
    """Return a condition that stops when more than `most` rows are rejected.

    Repeated rows count as rejected.
    """
    reason = f"more than {most:,} {pluralize(most, 'row was', 'rows were')} rejected"
    return lambda report: reason if report.rejected + report.repeated > most else None
