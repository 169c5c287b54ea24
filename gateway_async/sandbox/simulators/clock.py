"""The clock of a sandbox, which all its time-dependent code uses.

The clock follows real time and can be moved or set. A card entry of two minutes or a wait of 300 seconds then ends at
once, in the same order as without the move.
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime

_EARLIEST, _LATEST = 0.0, datetime(9000, 1, 1, tzinfo=UTC).timestamp()


class Timer:
    """Calls a function when the clock reaches a time."""

    __slots__ = ("_call", "_clock", "_handle", "when")

    def __init__(self, clock: "Clock", when: float, call: Callable[[], None]) -> None:
        self.when = when
        self._clock = clock
        self._call = call
        self.arm()

    def arm(self) -> None:
        """Restart the wait from the current time of the clock."""
        delay = max(0.0, self.when - self._clock.now())
        self._handle = asyncio.get_running_loop().call_later(delay, self._fire)

    def cancel(self) -> None:
        """Cancel the call, if it has not happened yet."""
        self._handle.cancel()
        self._clock.timers.discard(self)

    def _fire(self) -> None:
        self._clock.timers.discard(self)
        self._call()


class Clock:
    """Seconds since 1970 (UTC): real time plus an adjustable offset.

    Attributes:
        on_move: Called after each move of the clock, before `set` or `advance` returns.
    """

    def __init__(self) -> None:
        self._offset = time.time() - time.monotonic()
        self.timers: set[Timer] = set()
        self.on_move: Callable[[], None] | None = None

    def now(self) -> float:
        """The time in Unix seconds."""
        return time.monotonic() + self._offset

    def timestamp(self) -> int:
        """The time in whole Unix seconds, as records store it."""
        return int(self.now())

    def utc_now(self) -> datetime:
        """The time as an aware UTC datetime."""
        return datetime.fromtimestamp(self.now(), UTC)

    def today(self) -> date:
        """The day in UTC."""
        return self.utc_now().date()

    def advance(self, seconds: float) -> None:
        """Move the clock by some seconds.

        Everything that becomes due happens at once.

        Raises:
            ValueError: The time is outside the supported range of years.
        """
        self.set(self.now() + seconds)

    def set(self, now: float) -> None:
        """Set the clock to a time in Unix seconds.

        Raises:
            ValueError: The time is outside the supported range of years.
        """
        if not _EARLIEST <= now <= _LATEST:
            raise ValueError("clock: must show a time from 1970 to the year 9000.")
        self._offset = now - time.monotonic()
        for timer in sorted(self.timers, key=lambda timer: timer.when):
            timer.cancel()
            self.timers.add(timer)
            timer.arm()
        if self.on_move:
            self.on_move()

    @contextmanager
    def at_time(self, now: float) -> Iterator[None]:
        """Show another time inside the block, which must not wait."""
        offset, self._offset = self._offset, now - time.monotonic()
        try:
            yield
        finally:
            self._offset = offset

    def call_at(self, when: float, call: Callable[[], None]) -> Timer:
        """Call a function when the clock shows `when`."""
        timer = Timer(self, when, call)
        self.timers.add(timer)
        return timer

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock has advanced by some seconds."""
        due = asyncio.Event()
        timer = self.call_at(self.now() + seconds, due.set)
        try:
            await due.wait()
        finally:
            timer.cancel()
