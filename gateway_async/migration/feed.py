"""Rows on their way to the workers: read ahead a little, and noted in the journal many at a time."""

from collections import deque
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Sequence
from contextlib import aclosing
from typing import Final, Generic, TypeVar

import anyio

from gateway_async.migration.iterating import each_of

__all__ = ["Feed"]

R = TypeVar("R")
T = TypeVar("T")

_AHEAD: Final = 256


class Feed(Generic[R, T]):
    """Rows from any iterable, made into turns in batches, for any number of workers.

    Args:
        rows: where they come from.
        begin: makes turns of some rows, in order; the next are read meanwhile.

    Attributes:
        error: what the rows' iterable raised; those before it are carried out all the same.
    """

    def __init__(
        self, rows: Iterable[R] | AsyncIterable[R], begin: Callable[[Sequence[R]], Awaitable[Sequence[T]]]
    ) -> None:
        self._rows = rows
        self._begin = begin
        self._read = _Line[R](_AHEAD)
        self._begun = _Line[T](_AHEAD)
        self._reading = anyio.CancelScope()
        self.error: Exception | None = None

    async def read(self) -> None:
        """Read all rows, no faster than they are taken; to run as a task of its own."""
        with self._reading:
            try:
                await self._read_all()
            except Exception as error:  # noqa: BLE001  it is the caller's, who gets it when all before it is done
                self.error = error
        self._read.end()

    async def _read_all(self) -> None:
        async with aclosing(each_of(self._rows)) as rows:
            async for row in rows:
                self._read.put(row)
                if self._read.is_full:
                    await self._read.room()

    async def begin(self) -> None:
        """Make turns of them; to run as a task of its own."""
        while rows := await self._read.take_all():
            for turn in await self._begin(rows):
                self._begun.put(turn)
            await self._begun.room()
        self._begun.end()

    async def next(self) -> T | None:
        """The next turn; None when there are no more, or the feed was closed."""
        return await self._begun.take()

    def close(self) -> None:
        """Read no more, and give out no more turns; what is being begun becomes one all the same."""
        self._reading.cancel()
        self._read.close()
        self._begun.close()

    def rest(self) -> Sequence[T]:
        """The turns that nobody took."""
        return self._begun.rest()


class _Line(Generic[T]):
    """Things that one task puts and others take, in order.

    Not a memory stream of anyio's: with that, who puts into a full one is woken for each thing that is taken.
    """

    def __init__(self, room: int) -> None:
        self._room = room
        self._things: deque[T] = deque()
        self._takers: deque[anyio.Event] = deque()
        self._putter: anyio.Event | None = None
        self._ended = self._closed = False

    @property
    def is_full(self) -> bool:
        """Whether more should wait."""
        return len(self._things) >= self._room

    def put(self, thing: T) -> None:
        """Put one in."""
        self._things.append(thing)
        if self._takers:
            self._takers.popleft().set()

    async def room(self) -> None:
        """Wait, if it is full, until it is half empty."""
        if self.is_full and not self._closed:
            self._putter = anyio.Event()
            await self._putter.wait()

    async def take(self) -> T | None:
        """The first; None if there will be no more."""
        while not self._things or self._closed:
            if self._ended or self._closed:
                return None
            taker = anyio.Event()
            self._takers.append(taker)
            await taker.wait()
        thing = self._things.popleft()
        self._make_room()
        return thing

    async def take_all(self) -> Sequence[T]:
        """All that there are, once there is one; none if there will be no more."""
        first = await self.take()
        if first is None:
            return []
        things = [first, *self._things]
        self._things.clear()
        self._make_room()
        return things

    def end(self) -> None:
        """There will be no more."""
        self._ended = True
        self._wake_all()

    def close(self) -> None:
        """Give out no more."""
        self._closed = True
        self._wake_all()

    def rest(self) -> Sequence[T]:
        """What nobody took."""
        return list(self._things)

    def _make_room(self) -> None:
        if self._putter and len(self._things) <= self._room // 2:
            self._putter.set()
            self._putter = None

    def _wake_all(self) -> None:
        while self._takers:
            self._takers.popleft().set()
        if self._putter:
            self._putter.set()
