"""Queue of rows for the workers: read a little ahead, and written to the journal in batches."""

from collections import deque
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Sequence
from contextlib import aclosing
from typing import Final, Generic, TypeVar

import anyio

from gateway_async.migration.engine.iteration import each_of

__all__ = ["Feed"]

R = TypeVar("R")
T = TypeVar("T")

_AHEAD: Final = 256


class Feed(Generic[R, T]):
    """Rows from any iterable, made into tasks in batches, for any number of workers.

    Args:
        rows: the source of the rows.
        begin: makes tasks of some rows, in order. The next rows are read meanwhile.
        admit: decides in order whether a task may be given out, and may wait. False ends the feed before that task.

    Attributes:
        error: the exception of the rows' iterable. Rows before it are still processed.
    """

    def __init__(
        self,
        rows: Iterable[R] | AsyncIterable[R],
        begin: Callable[[Sequence[R]], Awaitable[Sequence[T]]],
        admit: Callable[[T], Awaitable[bool]] | None = None,
    ) -> None:
        self._rows = rows
        self._begin = begin
        self._admit = admit
        self._kept_back: Sequence[T] = ()
        self._read = _Line[R](_AHEAD)
        self._begun = _Line[T](_AHEAD)
        self._reading = anyio.CancelScope()
        self.error: Exception | None = None

    async def read(self) -> None:
        """Read all rows, no faster than they are consumed. Run it as a separate task."""
        with self._reading:
            try:
                await self._read_all()
            except Exception as error:  # noqa: BLE001  the caller raises it when all rows before it have ended
                self.error = error
        self._read.end()

    async def _read_all(self) -> None:
        async with aclosing(each_of(self._rows)) as rows:
            async for row in rows:
                self._read.put(row)
                if self._read.is_full:
                    await self._read.room()

    async def begin(self) -> None:
        """Make tasks of the rows. Run it as a separate task."""
        while rows := await self._read.take_all():
            tasks = await self._begin(rows)
            for index, task in enumerate(tasks):
                if self._admit is not None and not await self._admit(task):
                    self._kept_back = tasks[index:]
                    self._reading.cancel()
                    return self._begun.end()
                self._begun.put(task)
            await self._begun.room()
        return self._begun.end()

    async def next(self) -> T | None:
        """Return the next task; None when there are no more, or the feed was closed."""
        return await self._begun.take()

    def close(self) -> None:
        """Read no more rows and give out no more tasks. Rows that are being started still become tasks."""
        self._reading.cancel()
        self._read.close()
        self._begun.close()

    def rest(self) -> Sequence[T]:
        """Return the tasks that were not taken, or not admitted."""
        return [*self._begun.rest(), *self._kept_back]


class _Line(Generic[T]):
    """A FIFO queue with one producer and several consumers.

    It replaces anyio's memory stream, which wakes the producer of a full stream for each item that is taken.
    """

    def __init__(self, room: int) -> None:
        self._room = room
        self._things: deque[T] = deque()
        self._takers: deque[anyio.Event] = deque()
        self._putter: anyio.Event | None = None
        self._ended = self._closed = False

    @property
    def is_full(self) -> bool:
        """Return whether the producer should wait."""
        return len(self._things) >= self._room

    def put(self, thing: T) -> None:
        """Append an item."""
        self._things.append(thing)
        if self._takers:
            self._takers.popleft().set()

    async def room(self) -> None:
        """If the queue is full, wait until it is half empty."""
        if self.is_full and not self._closed:
            self._putter = anyio.Event()
            await self._putter.wait()

    async def take(self) -> T | None:
        """Return the first item; None if there will be no more."""
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
        """Wait for one item and return all; none if there will be no more."""
        first = await self.take()
        if first is None:
            return []
        things = [first, *self._things]
        self._things.clear()
        self._make_room()
        return things

    def end(self) -> None:
        """Mark the queue as complete: no more items follow."""
        self._ended = True
        self._wake_all()

    def close(self) -> None:
        """Give out no more items."""
        self._closed = True
        self._wake_all()

    def rest(self) -> Sequence[T]:
        """Return the items that were not taken."""
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
