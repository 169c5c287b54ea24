"""`finish_within`: time limits for the methods of a ledger, which may hang."""

from collections.abc import Awaitable
from typing import Final, TypeVar

import anyio

from gateway_async.errors import LedgerError
from gateway_async.ledger.protocol import Ledger

__all__ = ["INTENT_SECONDS", "finish_within"]

T = TypeVar("T")

INTENT_SECONDS: Final = 30.0
"""Maximum seconds for storing an intent, and for reading the open ones."""


async def finish_within(seconds: float, work: Awaitable[T], ledger: Ledger, method: str) -> T:
    """Await a method of a ledger for a limited time.

    Raises:
        LedgerError: it takes longer.
    """
    with anyio.move_on_after(seconds):
        return await work
    raise LedgerError(type(ledger).__name__, f"{method} did not end within {seconds:.3g} s")
