"""Rows from any iterable, plain or asynchronous; what is open in there is closed when nobody reads on."""

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Iterable
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from typing import Final, TypeVar

import anyio.lowlevel

__all__ = ["each_of"]

R = TypeVar("R")

_BREATH: Final = 64
"""Rows of a plain iterable that are taken without letting others run."""


async def each_of(rows: Iterable[R] | AsyncIterable[R]) -> AsyncGenerator[R, None]:
    """All of them, in order; to be closed by whoever may stop before the end."""
    if isinstance(rows, AsyncIterable):
        async with _closed_at_last(aiter(rows)) as iterator:
            async for row in iterator:
                yield row
        return
    for number, row in enumerate(rows):
        if number % _BREATH == 0:
            await anyio.lowlevel.checkpoint()
        yield row


def _closed_at_last(iterator: AsyncIterator[R]) -> AbstractAsyncContextManager[AsyncIterator[R]]:
    """A file may be open in a generator; other iterators are their owners'."""
    return aclosing(iterator) if isinstance(iterator, AsyncGenerator) else nullcontext(iterator)
