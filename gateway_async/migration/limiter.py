"""Limits of concurrency and rate that adapt to the gateway's latency and errors.

The limit grows by addition and shrinks by multiplication (AIMD), as in TCP. A round has as many calls as the limit
allows, at least 20. After each round:

- Without overload the limit grows by one call. Until the first overload it doubles (slow start).
- It shrinks by a third if the gateway throttles or is slow, or if more than a twentieth of the calls fails.
"""

from collections import Counter, deque
from collections.abc import Mapping
from statistics import median
from typing import Final

import anyio
import attrs

from gateway_async._secrets import mask_text
from gateway_async.errors import (
    BadRequestError,
    ConnectionLostError,
    DeadlineExceededError,
    GatewayError,
    MalformedReplyError,
    MismatchedReplyError,
    NotFoundError,
    NotSentError,
    RateLimitError,
    RecordDeletedError,
    StatusError,
    ValidationError,
)
from gateway_async.migration.rate import Rate
from gateway_async.observe import AttemptFailed, Event, LookupOutcome, NextStep, OutcomeLookedUp

_DECREASE: Final = 2 / 3
_TOLERATED: Final = 0.05
"""Share of the calls of a round that may fail without being overload."""

_SLOW_FACTOR: Final = 4.0
"""Factor above the usual latency that counts as overload."""

_SLOW_SECONDS: Final = 0.25
"""Latency up to which a gateway is never overloaded."""

_LATENCY_DRIFT: Final = 1.02
"""How much the usual latency, the lowest so far, may rise each round."""

_MAX_REASONS: Final = 50
_OTHER: Final = "other failures"
_KINDS: Final[Mapping[type[GatewayError], str]] = {
    NotSentError: "not sent",
    ConnectionLostError: "connection lost",
    DeadlineExceededError: "deadline exceeded",
    MalformedReplyError: "unreadable response",
    MismatchedReplyError: "response to another request",
}

_OVERLOAD: Final = frozenset({429, 502, 503, 504})
_MAX_PAUSE: Final = 300.0
_DEFAULT_PAUSE: Final = 1.0
"""Seconds to pause after a 429 response without a Retry-After time."""


class ConcurrencyLimiter:
    """Limits the concurrent calls of a migration.

    Args:
        ceiling: maximum of the limit.
        rate: decides when each call may be sent; None for immediately.

    Attributes:
        limit: number of concurrent calls allowed now.
        failures: reason of failed attempts → number of attempts; the rarest reasons share one entry.
    """

    def __init__(self, ceiling: int, rate: Rate | None = None) -> None:
        self.limit = max(1, ceiling // 4)
        self.in_flight = 0
        self.failed_attempts = 0
        self.failures: Counter[str] = Counter()
        self.ceiling = ceiling
        self._rate = rate
        self._resume_at = float("-inf")
        self._unshared_pause = 0.0  # a pause that the rate does not know yet
        self._uncounted_calls = 0  # calls that the client made by itself; the rate does not know them yet
        self._waiting: deque[anyio.Event] = deque()
        self._in_slow_start = True
        self._round = _Round()
        self._usual_latency = float("inf")

    def acquire_nowait(self) -> bool:
        """Start a call if no wait is needed. Return whether it was started."""
        is_free = self._rate is None and self.in_flight < self.limit and not self._waiting
        if is_free and self._resume_at <= anyio.current_time():
            self.in_flight += 1
            return True
        return False

    async def acquire(self) -> None:
        """Wait until limit, pause and rate allow one more call."""
        if self.in_flight >= self.limit or self._waiting:
            await self._wait_for_slot()
        else:
            self.in_flight += 1
        try:
            await self._wait_for_rate()
        except BaseException:
            self._release_slot()
            raise

    def release(self, seconds: float) -> None:
        """End a call. After a full round, the limit adapts."""
        self._round.seconds.append(seconds)
        if len(self._round.seconds) >= max(self.limit, 1 / _TOLERATED):
            self._adapt(self._round)
            self._round = _Round()
        self._release_slot()

    def observe(self, event: Event) -> None:
        """Count failed attempts, as an observer of the client. The client's own retries and lookups count too."""
        if isinstance(event, AttemptFailed):
            if not _is_expected_response(event):
                self.record_failure(event.error)
            self._uncounted_calls += event.next_step is not NextStep.STOP
        elif isinstance(event, OutcomeLookedUp):
            self._uncounted_calls += event.outcome is LookupOutcome.NOT_FOUND

    def record_failure(self, error: GatewayError) -> None:
        """Count a failed attempt, and pause if the gateway asks for it."""
        self.failed_attempts += 1
        reason = _describe_failure(error)
        self.failures[reason if reason in self.failures or len(self.failures) < _MAX_REASONS else _OTHER] += 1
        self._round.failed += _is_overload(error)
        if isinstance(error, RateLimitError):
            pause = min(_DEFAULT_PAUSE if error.retry_after is None else error.retry_after, _MAX_PAUSE)
            self._round.throttled = True
            self._unshared_pause = max(self._unshared_pause, pause)
            self._resume_at = max(self._resume_at, anyio.current_time() + pause)

    async def _wait_for_rate(self) -> None:
        await self._wait_for_pause()
        if self._rate is None:
            return
        uncounted, self._uncounted_calls = self._uncounted_calls, 0
        for _ in range(uncounted + 1):
            await self._rate.acquire()
        await self._wait_for_pause()

    async def _wait_for_pause(self) -> None:
        """Wait until the gateway's pause ends. A shared rate is paused, too."""
        if self._rate is not None and self._unshared_pause:
            pause, self._unshared_pause = self._unshared_pause, 0.0
            await self._rate.pause(pause)
        while (left := self._resume_at - anyio.current_time()) > 0:  # noqa: ASYNC110  the pause may be extended meanwhile
            await anyio.sleep(left)

    async def _wait_for_slot(self) -> None:
        """Wait in FIFO order. A call that ends wakes the next waiter."""
        event = anyio.Event()
        self._waiting.append(event)
        try:
            await event.wait()
        except BaseException:
            if event.is_set():
                self._release_slot()
            else:
                self._waiting.remove(event)
            raise

    def _release_slot(self) -> None:
        self.in_flight -= 1
        while self._waiting and self.in_flight < self.limit:
            self.in_flight += 1
            self._waiting.popleft().set()

    def _adapt(self, finished_round: "_Round") -> None:
        """Lower or raise the limit after a round.

        The latency of a round is its median, so that a few slow calls do not matter.
        """
        latency = median(finished_round.seconds)
        slow = latency > self._usual_latency * _SLOW_FACTOR and latency > _SLOW_SECONDS
        self._usual_latency = min(self._usual_latency * _LATENCY_DRIFT, latency)
        if finished_round.throttled or slow or finished_round.failed > len(finished_round.seconds) * _TOLERATED:
            self._in_slow_start = False
            self.limit = max(1, int(self.limit * _DECREASE))
        else:
            self.limit = min(self.ceiling, self.limit * 2 if self._in_slow_start else self.limit + 1)


@attrs.define
class _Round:
    """Durations and failures of the calls of a round."""

    seconds: list[float] = attrs.field(factory=list)
    failed: int = 0
    throttled: bool = False


def _is_expected_response(event: AttemptFailed) -> bool:
    """Return whether it is an expected response: a lookup that finds nothing, or a row that counts as rejected."""
    if event.call.startswith("GET "):
        return isinstance(event.error, NotFoundError | RecordDeletedError)
    return isinstance(event.error, BadRequestError | RecordDeletedError | ValidationError)


def _describe_failure(error: GatewayError) -> str:
    """Return why an attempt failed, without the details of a single row."""
    if isinstance(error, StatusError):
        return f"{error.meaning} ({error.status_code})"
    reason = getattr(error, "reason", "")
    kind = _KINDS.get(type(error), type(error).__name__)
    return mask_text(f"{kind}: {reason}" if reason else kind)


def _is_overload(error: GatewayError) -> bool:
    if isinstance(error, StatusError):
        return error.status_code in _OVERLOAD
    return isinstance(error, NotSentError | ConnectionLostError)
