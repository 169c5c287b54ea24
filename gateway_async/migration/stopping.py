"""When a migration stops before the end of its input, cleanly: at a time of day, or when a budget is spent.

Each is a question to the report, for `migrate_vaults(stop_when=…)`: why to stop, in words, or None. What time it is
comes in as a parameter.
"""

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Iterable
from contextlib import aclosing
from datetime import datetime, time, timedelta
from typing import Final, Generic, Self, TypeVar

import anyio
import attrs

from gateway_async.errors import InvalidRequestError
from gateway_async.migration.report import Report

__all__ = ["Budget", "Stop", "Window", "any_of", "outside", "rejected_more", "taken_longer"]

R = TypeVar("R")
Stop = Callable[[Report], str | None]

_LOOK_SECONDS: Final = 0.01
_QUIET_LOOKS: Final = 200
"""How often nothing may be under way, and nothing end, before what is missing counts as put off to the end."""


@attrs.frozen
class Window:
    """The time of day in which a migration may run; the end may lie on the next day. Both are local time."""

    begins: time
    ends: time

    @classmethod
    def parse(cls, text: str) -> Self:
        """A window such as `22:00-06:00`.

        Raises:
            InvalidRequestError: it is none.
        """
        begins, _, ends = text.replace("–", "-").partition("-")
        try:
            window = cls(time.fromisoformat(begins.strip()), time.fromisoformat(ends.strip()))
        except ValueError:
            raise InvalidRequestError(f"window: must be two times of day like 22:00-06:00, not {text!r}") from None
        if window.begins == window.ends or window.begins.tzinfo or window.ends.tzinfo:
            raise InvalidRequestError(f"window: must be two different local times of day, not {text!r}")
        return window

    def holds(self, at: datetime) -> bool:
        """Whether a moment lies in it; its end does not."""
        now = at.time().replace(tzinfo=None)
        if self.begins < self.ends:
            return self.begins <= now < self.ends
        return now >= self.begins or now < self.ends

    def opens_in(self, at: datetime) -> float:
        """Seconds until it opens, by the clock on the wall; 0 while it is open."""
        if self.holds(at):
            return 0.0
        opens = datetime.combine(at.date(), self.begins, at.tzinfo)
        return ((opens if opens > at else opens + timedelta(days=1)) - at).total_seconds()

    def __str__(self) -> str:
        return f"{self.begins:%H:%M}-{self.ends:%H:%M}"


def any_of(*stops: Stop | None) -> Stop:
    """Stops as soon as one of them says so; None is one that never does."""
    asked = [stop for stop in stops if stop is not None]
    return lambda report: next((why for stop in asked if (why := stop(report))), None)


def outside(window: Window, now: Callable[[], datetime]) -> Stop:
    """Stops when the window closes."""
    return lambda _: None if window.holds(now()) else f"it is past the window {window}"


def taken_longer(seconds: float) -> Stop:
    """Stops after so many seconds."""
    return lambda report: f"it ran for {seconds:g} seconds, as asked" if report.seconds >= seconds else None


def rejected_more(most: int) -> Stop:
    """Stops when more rows than that are rejected: something may be wrong with the whole file."""
    return lambda report: f"more than {most:,} rows are rejected" if report.rejected > most else None


class Budget(Generic[R]):
    """So many rows, to the row: those that are skipped or rejected do not count, as they come again in every run.

    Its `rows` stand between the source and the migration, its `look` is a `Stop`.

    Args:
        most: how many rows may be stored in this run.
        rows: where they come from.
    """

    def __init__(self, most: int, rows: Iterable[R] | AsyncIterable[R]) -> None:
        self._most = most
        self._source = rows
        self._given = 0
        self._report = Report()
        self._spent = False

    async def rows(self) -> AsyncIterator[R]:
        """The rows, until so many have been given that can be stored."""
        async with aclosing(_each(self._source)) as source:
            async for row in source:
                if not await self._has_left():
                    self._spent = True
                    return
                self._given += 1
                yield row

    def look(self, report: Report) -> str | None:
        """Why to stop, if the budget kept rows back."""
        self._report = report
        return f"{self._most:,} rows were stored, as asked" if self._spent else None

    async def _has_left(self) -> bool:
        """Wait until it is known which of the given rows are not stored, as far as it matters."""
        quiet, ended = 0, -1
        while self._given - self._report.skipped - self._report.rejected >= self._most:
            if self._report.rows >= self._given or quiet >= _QUIET_LOOKS:
                return False
            await anyio.sleep(_LOOK_SECONDS)
            is_quiet = not self._report.in_flight and self._report.rows == ended
            quiet, ended = quiet + 1 if is_quiet else 0, self._report.rows
        return True


async def _each(rows: Iterable[R] | AsyncIterable[R]) -> AsyncGenerator[R]:
    if isinstance(rows, AsyncIterable):
        async for row in rows:
            yield row
    else:
        for row in rows:
            yield row
