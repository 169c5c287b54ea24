"""System ids: 24 hexadecimal digits that grow with time, so that sorting by id is sorting by age."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gateway_async.sandbox.clock import Clock


class Identifiers:
    """Makes system ids; each is greater than the one before, even when the clock is set back."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last = 0

    def new(self) -> str:
        """An id nobody has seen."""
        self._last = max(self._last + 1, int(self._clock.now() * 1000) << 16)
        return f"{self._last:016x}{secrets.token_hex(4)}"
