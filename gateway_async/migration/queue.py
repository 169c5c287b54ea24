"""Queue of rows for the workers: read a little ahead, and written to the journal in batches."""

from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Final, Generic, TypeVar

import anyio

R = TypeVar("R")
T = TypeVar("T")

AHEAD: Final = 256
"""Rows that are read, and tasks that are made, before a worker needs them."""


class RowQueue(Generic[R, T]):
    """Rows of a generator, converted to row tasks in batches, for any number of workers.

    Args:
        rows: the source of the rows, which is closed.
        start_rows: converts some rows to row tasks, in order. The next rows are read meanwhile.
        admit: decides in order whether a task may be given out, and may wait. False ends the queue before that task.
        ahead: rows that are read, and tasks that are made, before a worker needs them.

    Attributes:
        error: the exception of the rows' generator. Rows before it are still processed.
    """

    def __init__(
        self,
        rows: AsyncGenerator[R],
        start_rows: Callable[[Sequence[R]], Awaitable[Sequence[T]]],
        admit: Callable[[T], Awaitable[bool]] | None = None,
        ahead: int = AHEAD,
    ) -> None:
        self._rows = rows
        self._start_rows = start_rows
        self._admit = admit
        self._not_admitted: Sequence[T] = ()
        self._read = _BoundedQueue[R](ahead)
        self._started = _BoundedQueue[T](ahead)
        self._reading = anyio.CancelScope()
        self.error: Exception | None = None

    async def read(self) -> None:
        """Read all rows, no faster than they are consumed. It runs concurrently with the workers."""
        with self._reading:
            try:
                async with aclosing(self._rows) as rows:
                    async for row in rows:
                        self._read.put(row)
                        if self._read.is_full:
                            await self._read.wait_for_room()
            except Exception as error:  # noqa: BLE001  the caller raises it when all rows before it have ended
                self.error = error
        self._read.end()

    async def start(self) -> None:
        """Convert the rows to row tasks. It runs concurrently with `read` and the workers."""
        while rows := await self._read.get_all():
            tasks = await self._start_rows(rows)
            for index, task in enumerate(tasks):
                if self._admit is not None and not await self._admit(task):
                    self._not_admitted = tasks[index:]
                    self._reading.cancel()
                    return self._started.end()
                self._started.put(task)
            await self._started.wait_for_room()
        return self._started.end()

    async def get(self) -> T | None:
        """Take the next task; None when there are no more, or the queue was closed."""
        return await self._started.get()

    def close(self) -> None:
        """Read no more rows and give out no more tasks. Rows that are being converted still become tasks."""
        self._reading.cancel()
        self._read.close()
        self._started.close()

    def remaining(self) -> Sequence[T]:
        """List the tasks that were not taken, or not admitted."""
        return [*self._started.remaining(), *self._not_admitted]


class _BoundedQueue(Generic[T]):
    """A FIFO queue with one producer and several consumers.

    It replaces anyio's memory stream, which wakes the producer of a full stream for each item that is taken.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._items: deque[T] = deque()
        self._getters: deque[anyio.Event] = deque()
        self._producer: anyio.Event | None = None
        self._ended = self._closed = False

    @property
    def is_full(self) -> bool:
        return len(self._items) >= self._capacity

    def put(self, item: T) -> None:
        self._items.append(item)
        if self._getters:
            self._getters.popleft().set()

    async def wait_for_room(self) -> None:
        """Wait until a full queue is half empty."""
        if self.is_full and not self._closed:
            self._producer = anyio.Event()
            await self._producer.wait()

    async def get(self) -> T | None:
        while not self._items or self._closed:
            if self._ended or self._closed:
                return None
            getter = anyio.Event()
            self._getters.append(getter)
            await getter.wait()
        item = self._items.popleft()
        self._wake_producer()
        return item

    async def get_all(self) -> Sequence[T]:
        first = await self.get()
        if first is None:
            return []
        items = [first, *self._items]
        self._items.clear()
        self._wake_producer()
        return items

    def end(self) -> None:
        self._ended = True
        self._wake_all()

    def close(self) -> None:
        self._closed = True
        self._wake_all()

    def remaining(self) -> Sequence[T]:
        return list(self._items)

    def _wake_producer(self) -> None:
        if self._producer and len(self._items) <= self._capacity // 2:
            self._producer.set()
            self._producer = None

    def _wake_all(self) -> None:
        while self._getters:
            self._getters.popleft().set()
        if self._producer:
            self._producer.set()
