"""Rows on their way: in order, in batches, no further ahead than needed."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from gateway_async.migration.queue import RowQueue
from gateway_async.migration.rows.row import iterate
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio


class Begun:
    """Makes started of rows, and notes in what batches."""

    def __init__(self) -> None:
        self.batches: list[Sequence[int]] = []

    async def begin(self, rows: Sequence[int]) -> Sequence[str]:
        self.batches.append(rows)
        await anyio.lowlevel.checkpoint()
        return [str(row) for row in rows if row % 10]


async def taken(queue: RowQueue[Any, str], most: int = 10**9) -> list[str]:
    started: list[str] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(queue.read)
        tasks.start_soon(queue.start)
        while len(started) < most and (task := await queue.get()) is not None:
            started.append(task)
        queue.close()
    return started


async def numbers(count: int) -> AsyncGenerator[int]:
    for number in range(count):
        yield number


@pytest.mark.parametrize("count", [0, 1, 255, 256, 257, 3000])
async def test_every_task_comes_once_and_in_order(count: int) -> None:
    wanted = [str(number) for number in range(count) if number % 10]
    begun = Begun()
    assert await taken(RowQueue(iterate(range(count)), begun.begin)) == wanted
    assert await taken(RowQueue(numbers(count), begun.begin)) == wanted
    assert len(begun.batches) <= 2 * (count // 20 + 2)


async def test_it_reads_no_further_than_needed() -> None:
    seen: list[int] = []

    def endless() -> Iterator[int]:
        while True:
            seen.append(1)
            yield len(seen)

    queue = RowQueue(iterate(endless()), Begun().begin)
    assert len(await taken(queue, 100)) == 100
    assert len(seen) < 100 + 4 * 256


async def test_tasks_that_were_not_taken_remain() -> None:
    begun = Begun()
    queue = RowQueue(iterate(range(1000)), begun.begin)
    started = await taken(queue, 5)
    assert await queue.get() is None
    remaining = list(queue.remaining())
    assert started + remaining == [str(row) for batch in begun.batches for row in batch if row % 10]
    assert len(remaining) > 100


async def test_a_single_row_does_not_wait_for_company() -> None:
    async def slow() -> AsyncGenerator[int]:
        yield 1
        await anyio.sleep_forever()

    with anyio.fail_after(PATIENCE):
        assert await taken(RowQueue(slow(), Begun().begin), 1) == ["1"]


async def test_an_error_of_the_source_ends_it() -> None:
    def broken() -> Iterator[int]:
        yield 1
        raise ZeroDivisionError

    queue = RowQueue(iterate(broken()), Begun().begin)
    assert await taken(queue) == ["1"]
    assert isinstance(queue.error, ZeroDivisionError)


async def test_many_workers_share_it() -> None:
    queue = RowQueue(numbers(2000), Begun().begin)
    started: list[str] = []

    async def work() -> None:
        while (task := await queue.get()) is not None:
            started.append(task)
            await anyio.lowlevel.checkpoint()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(queue.read)
        tasks.start_soon(queue.start)
        for _ in range(50):
            tasks.start_soon(work)
    assert sorted(started, key=int) == [str(number) for number in range(2000) if number % 10]


# --- rows from any iterable


class File:
    """A source that is open while it is read, as `read_rows` gives one.

    Attributes:
        is_open: whether it is.
    """

    def __init__(self) -> None:
        self.is_open = False

    async def __aiter__(self) -> AsyncIterator[int]:
        self.is_open = True
        try:
            for number in range(100):
                yield number
        finally:
            self.is_open = False


@pytest.mark.parametrize("given", [lambda file: file, aiter], ids=["a source", "its generator"])
async def test_who_stops_leaves_nothing_open(given: Callable[[File], Any]) -> None:
    file = File()
    async with aclosing(iterate(given(file))) as rows:
        async for row in rows:
            assert file.is_open
            if row == 10:
                break
    assert not file.is_open
