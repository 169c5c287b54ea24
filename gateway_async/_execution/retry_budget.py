"""`RetryBudget`: limit a client's retries, to protect a failing gateway from overload.

Each call deposits a fifth of a retry, and each retry withdraws one. Over time a client sends at most 20 % more requests
than it makes calls. The budget starts at its maximum of a hundred retries. They cover a restart of the gateway, which
breaks every connection of a busy client. Lookups of lost writes withdraw nothing: the outcome of a payment is always
worth a request.
"""

from typing import Final

DEPOSIT: Final = 0.2
"""Retries that each call deposits."""

MAX_BALANCE: Final = 100.0
"""The initial and maximum number of retries."""


class RetryBudget:
    """The retries that a client has left."""

    __slots__ = ("_balance",)

    def __init__(self) -> None:
        self._balance = MAX_BALANCE

    @property
    def retries_left(self) -> int:
        """The number of retries that can be withdrawn at once."""
        return int(self._balance)

    def deposit(self) -> None:
        """Deposit the share of one call."""
        self._balance = min(self._balance + DEPOSIT, MAX_BALANCE)

    def try_withdraw(self) -> bool:
        """Withdraw a retry and return whether there was one."""
        if self._balance < 1:
            return False
        self._balance -= 1
        return True
