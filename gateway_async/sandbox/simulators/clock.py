"""The clock of a sandbox. All time in it goes through here, so moving the clock moves everything.

The clock runs with real time and can be moved on or set by hand: a card entry of two minutes or a
wait of 300 seconds then ends at once, in the order in which it would have ended by itself.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_EARLIEST, _LATEST = 0.0, datetime(9000, 1, 1, tzinfo=UTC).timestamp()


class Timer:
    """A function to be called when the clock shows a time."""

    __slots__ = ("_call", "_clock", "_handle", "when")

    def __init__(self, clock: Clock, when: float, call: Callable[[], None]) -> None:
        self.when = when
        self._clock = clock
        self._call = call
        self.arm()

    def arm(self) -> None:
        """Count the wait anew from what the clock shows now."""
        delay = max(0.0, self.when - self._clock.now())
        self._handle = asyncio.get_running_loop().call_later(delay, self._ring)

    def cancel(self) -> None:
        """Never call the function, if it was not called yet."""
        self._handle.cancel()
        self._clock.timers.discard(self)

    def _ring(self) -> None:
        self._clock.timers.discard(self)
        self._call()


class Clock:
    """Seconds since 1970 (UTC), in real time plus whatever it was moved by.

    Attributes:
        on_move: Called whenever the clock was moved, before whoever moved it goes on.
    """

    def __init__(self) -> None:
        self._offset = time.time() - time.monotonic()
        self.timers: set[Timer] = set()
        self.on_move: Callable[[], None] | None = None

    def now(self) -> float:
        """The time in Unix seconds."""
        return time.monotonic() + self._offset

    def timestamp(self) -> int:
        """The time in whole Unix seconds, as records carry it."""
        return int(self.now())

    def date(self) -> datetime:
        """The time as an aware UTC datetime."""
        return datetime.fromtimestamp(self.now(), UTC)

    def advance(self, seconds: float) -> None:
        """Move the clock by some seconds; whatever falls due is done at once.

        Raises:
            ValueError: The clock would show a year that dates do not reach.
        """
        self.set(self.now() + seconds)

    def set(self, now: float) -> None:
        """Set the clock to a time in Unix seconds.

        Raises:
            ValueError: The clock would show a year that dates do not reach.
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
    def showing(self, now: float) -> Iterator[None]:
        """Show another time to what happens in the block, which must not wait."""
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
        """Wait until the clock has moved on by some seconds."""
        rung = asyncio.Event()
        timer = self.call_at(self.now() + seconds, rung.set)
        try:
            await rung.wait()
        finally:
            timer.cancel()
