"""Give the client one processor core and its server another, where the system allows it."""

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Final

_AVAILABLE: Final = sorted(os.sched_getaffinity(0)) if sys.platform == "linux" else []
"""The cores of this process when it started."""


def pin_client() -> None:
    """Run this process on the first core only."""
    _pin(_AVAILABLE[:1])


@contextlib.contextmanager
def on_server_core() -> Iterator[None]:
    """Start processes in this block on the last core."""
    before = _pin(_AVAILABLE[-1:])
    try:
        yield
    finally:
        _pin(before)


def _pin(cores: list[int]) -> list[int]:
    """Run this process on some cores, if any; return those that it had."""
    if sys.platform != "linux":
        return []
    before = sorted(os.sched_getaffinity(0))
    if cores:
        os.sched_setaffinity(0, cores)
    return before
