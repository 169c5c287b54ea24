"""System ids: 24 hexadecimal digits that grow with time, so that sorting by id is sorting by age."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gateway_async.sandbox.simulators.clock import Clock

_TIME = 16
"""Digits that grow; those after them are chance."""


class Identifiers:
    """Makes system ids; each is greater than the one before, even when the clock is set back or the gateway restarts.

    Args:
        clock: Whose time they begin with.
        last: The greatest id there is already; empty for none.
    """

    def __init__(self, clock: Clock, last: str = "") -> None:
        self._clock = clock
        self._last = int(last[:_TIME] or "0", 16)

    def new(self) -> str:
        """An id nobody has seen."""
        self._last = max(self._last + 1, int(self._clock.now() * 1000) << 16)
        return f"{self._last:0{_TIME}x}{secrets.token_hex(4)}"
