"""The time of day in which the `migrate` command may run."""

from datetime import datetime, time, timedelta
from typing import Self

import attrs

from gateway_async.errors import InvalidRequestError


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
        """Whether a moment is in the window; the end itself is outside."""
        now = at.time().replace(tzinfo=None)
        if self.begins < self.ends:
            return self.begins <= now < self.ends
        return now >= self.begins or now < self.ends

    def seconds_until_open(self, at: datetime) -> float:
        """The seconds until the window opens, by local clock time; 0 while it is open."""
        if self.contains(at):
            return 0.0
        opens = datetime.combine(at.date(), self.begins, at.tzinfo)
        return ((opens if opens > at else opens + timedelta(days=1)) - at).total_seconds()

    def __str__(self) -> str:
        return f"{self.begins:%H:%M}-{self.ends:%H:%M}"
