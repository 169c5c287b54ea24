"""Exponential backoff: the pauses between attempts."""

from collections.abc import Iterator
from itertools import count
from typing import Final

_MAX_DOUBLINGS: Final = 60
"""More doublings exceed every maximum, and many more exceed a float."""


def exponential_backoff(attempt: int, *, first: float, longest: float) -> float:
    """The seconds to wait after attempt number `attempt`, from 1.

    `first` seconds after the first attempt, twice as long after each further one, and at most `longest`.
    """
    return min(first * 2.0 ** min(attempt - 1, _MAX_DOUBLINGS), longest)


def exponential_backoffs(*, first: float, longest: float) -> Iterator[float]:
    """Yield the seconds to wait after each attempt, without end."""
    return (exponential_backoff(attempt, first=first, longest=longest) for attempt in count(1))
