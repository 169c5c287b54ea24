"""`Budget`: how many repeats a client may make, so that a gateway in trouble is not hit by a storm of them.

Each call puts in a fifth of a repeat, each repeat takes out one: over time a client makes at most 20 % more requests
than it has calls. `STOCK` is what it may spend at once, and what it begins with: a hundred, so that a restart of the
gateway, which breaks every connection of a busy client, is not felt. Lookups of lost writes take nothing out: what
became of money is worth asking.
"""

from typing import Final

__all__ = ["RATIO", "STOCK", "Budget"]

RATIO: Final = 0.2
"""Repeats that each call puts in."""

STOCK: Final = 100.0
"""Repeats at most, and to begin with."""


class Budget:
    """The repeats that a client has left."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = STOCK

    def earn(self) -> None:
        """Put in what a call earns."""
        self._left = min(self._left + RATIO, STOCK)

    def spend(self) -> bool:
        """Take out a repeat, if there is one."""
        if self._left < 1:
            return False
        self._left -= 1
        return True
