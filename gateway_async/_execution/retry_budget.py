"""`RetryBudget`: limit a client's retries, to protect a failing gateway from overload.

Each call deposits a fifth of a retry, and each retry withdraws one. Over time a client sends at most 20 % more requests
than it makes calls. The budget starts at `STOCK`, which is also its maximum. A stock of a hundred covers a restart of
the gateway, which breaks every connection of a busy client. Lookups of lost writes withdraw nothing: the outcome of a
payment is always worth a request.
"""

from typing import Final

__all__ = ["RATIO", "STOCK", "RetryBudget"]

RATIO: Final = 0.2
"""Retries that each call deposits."""

STOCK: Final = 100.0
"""The initial and maximum number of retries."""


class RetryBudget:
    """The retries that a client has left."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = STOCK

    def deposit(self) -> None:
        """Deposit the share of one call."""
        self._left = min(self._left + RATIO, STOCK)

    def try_withdraw(self) -> bool:
        """Withdraw a retry and return whether there was one."""
        if self._left < 1:
            return False
        self._left -= 1
        return True
