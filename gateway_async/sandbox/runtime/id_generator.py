"""System ids: 24 hexadecimal digits that grow with time.

Therefore sorting by id sorts by age.
"""

import secrets

from gateway_async.sandbox.simulators.clock import Clock

__all__ = ["IdGenerator"]


_TIME_DIGITS = 16
"""The number of leading hexadecimal digits that increase; the digits after them are random."""


class IdGenerator:
    """Creates system ids that always increase.

    Each id is greater than the one before, even when the clock is set back or the gateway restarts. `last` is the
    greatest existing id; empty without records.
    """

    def __init__(self, clock: Clock, last: str = "") -> None:
        self._clock = clock
        self._last = int(last[:_TIME_DIGITS] or "0", 16)

    def new(self) -> str:
        """Return a new, unused id."""
        self._last = max(self._last + 1, int(self._clock.now() * 1000) << 16)
        return f"{self._last:0{_TIME_DIGITS}x}{secrets.token_hex(4)}"
