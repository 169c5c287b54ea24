"""`RateLimit`: how many requests are read per second."""

import pytest

from gateway_async.errors import PostbackRefusedError
from gateway_async.postbacks.http.rate_limit import RateLimit


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


def allowed(limit: RateLimit, requests: int) -> int:
    """Return how many of some requests at the same time are allowed."""
    return sum(is_allowed(limit) for _ in range(requests))


def is_allowed(limit: RateLimit) -> bool:
    """Return whether one request is allowed."""
    try:
        limit.check()
    except PostbackRefusedError:
        return False
    return True


def test_limit() -> None:
    """As many at once as in a second; after a second as many again, and never more."""
    clock = Clock()
    limit = RateLimit(5, clock)
    assert allowed(limit, 20) == 5
    clock.now = 0.4
    assert allowed(limit, 20) == 2
    clock.now = 1000
    assert allowed(limit, 20) == 5


def test_a_refused_request_does_not_prolong_the_wait() -> None:
    clock = Clock()
    limit = RateLimit(1, clock)
    assert allowed(limit, 1000) == 1
    clock.now = 1.0
    assert allowed(limit, 1) == 1


@pytest.mark.parametrize(("per_second", "seconds"), [(100, 1), (1, 1), (0.5, 2), (0.1, 10)])
def test_wait(per_second: float, seconds: int) -> None:
    """The seconds to wait are whole, at least one; after them a request is allowed."""
    clock = Clock()
    limit = RateLimit(per_second, clock)
    while is_allowed(limit):
        pass
    with pytest.raises(PostbackRefusedError) as caught:
        limit.check()
    assert (caught.value.status_code, caught.value.retry_after) == (429, seconds)
    clock.now = seconds
    limit.check()


def test_by_default_every_request_is_allowed() -> None:
    assert allowed(RateLimit(None), 10_000) == 10_000
