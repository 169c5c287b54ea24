"""How many calls at once, and how many a second: more while the gateway bears it, fewer when it does not.

Additive up, multiplicative down (AIMD), as TCP does: one call more for each full round without trouble, a third fewer
when the gateway asks for it or more than a twentieth of a round fails, once a round at most.
"""

from collections import deque
from statistics import median
from typing import Final, Protocol

import anyio

from gateway_async.errors import ConnectionLostError, GatewayError, NotSentError, RateLimitError, StatusError
from gateway_async.observe import AttemptFailed, Event, LookedUp

__all__ = ["Pace", "Rate", "SteadyRate"]

_FEWER: Final = 2 / 3
_TOLERATED: Final = 0.05
_SLOWER: Final = 4.0
"""How many times the usual latency count as trouble."""

_SLOW_SECONDS: Final = 0.25
_FORGETTING: Final = 1.02
"""How much slower, round by round, the quickest one may become and still count as usual."""

_OVERLOAD: Final = frozenset({429, 502, 503, 504})
_CREDIT: Final = 0.05
"""Seconds of lateness that a rate makes up for."""

_LONGEST_PAUSE: Final = 300.0
_PAUSE: Final = 1.0
"""Seconds without a call after a refusal for too many that names no time."""


class Rate(Protocol):
    """Says when the next call may go. Several migrations may share one."""

    async def take(self) -> None:
        """Wait for one call's turn."""
        ...

    async def pause(self, seconds: float) -> None:
        """The gateway asked for a pause: nobody's turn comes before its end."""
        ...


class SteadyRate:
    """So many calls a second, evenly; for one process."""

    def __init__(self, per_second: float) -> None:
        self._between = 1 / per_second
        self._next = float("-inf")

    async def take(self) -> None:
        """Wait for one call's turn."""
        now = anyio.current_time()
        self._next = max(self._next + self._between, now - _CREDIT)
        if self._next > now:
            await anyio.sleep(self._next - now)

    async def pause(self, seconds: float) -> None:
        """Nobody's turn comes before the end of the pause."""
        self._next = max(self._next, anyio.current_time() + seconds)


class Pace:
    """How many calls a migration has under way at once.

    Args:
        ceiling: never more than that.
        rate: says when each may go; None for at once.

    Attributes:
        ceiling: never more than that.
        limit: how many may be under way now.
        in_flight: how many are.
        trouble: attempts that have failed so far.
    """

    def __init__(self, ceiling: int, rate: Rate | None = None) -> None:
        self.limit = max(1, ceiling // 4)
        self.in_flight = 0
        self.trouble = 0
        self.ceiling = ceiling
        self._rate = rate
        self._resume_at = float("-inf")
        self._unshared = 0.0
        self._untaken = 0
        self._waiting: deque[anyio.Event] = deque()
        self._starting = True
        self._round = _Round()
        self._usual = float("inf")

    def enter_at_once(self) -> bool:
        """Take a place if nothing has to be waited for; whether it was taken."""
        is_free = self._rate is None and self.in_flight < self.limit and not self._waiting
        if is_free and self._resume_at <= anyio.current_time():
            self.in_flight += 1
            return True
        return False

    async def enter(self) -> None:
        """Wait for a place, and for its time."""
        if self.in_flight >= self.limit or self._waiting:
            await self._wait_for_place()
        else:
            self.in_flight += 1
        try:
            await self._wait_for_time()
        except BaseException:
            self._give_back()
            raise

    def leave(self, seconds: float) -> None:
        """Give the place back, after a call of so many seconds."""
        self._round.seconds.append(seconds)
        if len(self._round.seconds) >= max(self.limit, 1 / _TOLERATED):
            self._judge(self._round)
            self._round = _Round()
        self._give_back()

    def watch(self, event: Event) -> None:
        """Hear of attempts that failed: an observer of the client. What it sends of its own accord counts, too."""
        if isinstance(event, AttemptFailed):
            self.failed(event.error)
            self._untaken += event.verdict != "stop"
        elif isinstance(event, LookedUp):
            self._untaken += event.outcome == "not there"

    def failed(self, error: GatewayError) -> None:
        """Count an attempt that failed, and stop for a while when the gateway asks for it."""
        self.trouble += 1
        self._round.failed += _is_overload(error)
        if isinstance(error, RateLimitError):
            pause = _pause_of(error)
            self._round.throttled = True
            self._unshared = max(self._unshared, pause)
            self._resume_at = max(self._resume_at, anyio.current_time() + pause)

    async def _wait_for_time(self) -> None:
        await self._wait_for_pause()
        if self._rate is None:
            return
        untaken, self._untaken = self._untaken, 0
        for _ in range(untaken + 1):
            await self._rate.take()
        await self._wait_for_pause()

    async def _wait_for_pause(self) -> None:
        """Wait until the gateway wants to be called again, and have all who share the rate do so."""
        if self._rate is not None and self._unshared:
            pause, self._unshared = self._unshared, 0.0
            await self._rate.pause(pause)
        while (left := self._resume_at - anyio.current_time()) > 0:  # noqa: ASYNC110  it may be put off meanwhile
            await anyio.sleep(left)

    async def _wait_for_place(self) -> None:
        """Wait in line; who leaves hands the place over."""
        event = anyio.Event()
        self._waiting.append(event)
        try:
            await event.wait()
        except BaseException:
            if event.is_set():
                self._give_back()
            else:
                self._waiting.remove(event)
            raise

    def _give_back(self) -> None:
        self.in_flight -= 1
        while self._waiting and self.in_flight < self.limit:
            self.in_flight += 1
            self._waiting.popleft().set()

    def _judge(self, past: "_Round") -> None:
        """After each round: fewer, or one more. The usual latency is the median's: a few slow calls mean nothing."""
        latency = median(past.seconds)
        slow = latency > self._usual * _SLOWER and latency > _SLOW_SECONDS
        self._usual = min(self._usual * _FORGETTING, latency)
        if past.throttled or slow or past.failed > len(past.seconds) * _TOLERATED:
            self._starting = False
            self.limit = max(1, int(self.limit * _FEWER))
        else:
            self.limit = min(self.ceiling, self.limit * 2 if self._starting else self.limit + 1)


class _Round:
    """What happened to as many calls as may be under way at once."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.failed = 0
        self.throttled = False


def _is_overload(error: GatewayError) -> bool:
    if isinstance(error, StatusError):
        return error.status_code in _OVERLOAD
    return isinstance(error, NotSentError | ConnectionLostError)


def _pause_of(error: RateLimitError) -> float:
    return min(_PAUSE if error.retry_after is None else error.retry_after, _LONGEST_PAUSE)
