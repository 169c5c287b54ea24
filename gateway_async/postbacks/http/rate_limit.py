"""`RateLimit`: a token bucket for the requests of a receiver."""

import time
from collections.abc import Callable
from math import ceil

from gateway_async._text import pluralize
from gateway_async.errors import PostbackRefusedError


class RateLimit:
    """Allows a number of requests per second, and as many at once.

    Args:
        per_second: the maximum; None allows any number.
        clock: returns monotonic seconds.
    """

    def __init__(self, per_second: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second = per_second
        self._clock = clock
        self._burst = max(1.0, per_second or 0.0)
        self._tokens, self._updated_at = self._burst, clock()

    def check(self) -> None:
        """Count a request, or reject it if it is one too many.

        Raises:
            PostbackRefusedError: 429; `retry_after` says when the next request is allowed.
        """
        if self._per_second is None:
            return
        now = self._clock()
        self._tokens = min(self._burst, self._tokens + (now - self._updated_at) * self._per_second)
        self._updated_at = now
        if self._tokens < 1:
            wait = ceil((1 - self._tokens) / self._per_second)
            most = f"{self._per_second:g} {pluralize(self._per_second, 'postback')}"
            raise PostbackRefusedError(429, f"more than {most} a second", retry_after=wait)
        self._tokens -= 1
