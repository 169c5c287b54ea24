"""Iteration over plain and asynchronous iterables of rows. An open generator is closed at the end."""

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Iterable
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from typing import Final, TypeVar

import anyio.lowlevel

__all__ = ["iterate"]

R = TypeVar("R")

_ROWS_PER_CHECKPOINT: Final = 64
"""Rows of a plain iterable that are read before other tasks may run."""


async def iterate(rows: Iterable[R] | AsyncIterable[R]) -> AsyncGenerator[R, None]:
    """Yield all rows in order. A caller that may stop before the end must close this generator."""
    if isinstance(rows, AsyncIterable):
        async with _closing(aiter(rows)) as iterator:
            async for row in iterator:
                yield row
        return
    for number, row in enumerate(rows):
        if number % _ROWS_PER_CHECKPOINT == 0:
            await anyio.lowlevel.checkpoint()
        yield row


def _closing(iterator: AsyncIterator[R]) -> AbstractAsyncContextManager[AsyncIterator[R]]:
    """Return a context that closes a generator. The caller owns other iterators."""
    return aclosing(iterator) if isinstance(iterator, AsyncGenerator) else nullcontext(iterator)
