"""Rows on their way: in order, in batches, no further ahead than needed."""

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from gateway_async.migration.engine.row_queue import RowQueue

pytestmark = pytest.mark.anyio


class Begun:
    """Makes turns of rows, and notes in what batches."""

    def __init__(self) -> None:
        self.batches: list[Sequence[int]] = []

    async def begin(self, rows: Sequence[int]) -> Sequence[str]:
        """Turns."""
        self.batches.append(rows)
        await anyio.lowlevel.checkpoint()
        return [str(row) for row in rows if row % 10]


async def taken(queue: RowQueue[Any, str], most: int = 10**9) -> list[str]:
    """What a single worker gets."""
    turns: list[str] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(queue.read)
        tasks.start_soon(queue.start)
        while len(turns) < most and (turn := await queue.get()) is not None:
            turns.append(turn)
        queue.close()
    return turns


async def numbers(count: int) -> AsyncIterator[int]:
    """So many, one at a time."""
    for number in range(count):
        yield number


@pytest.mark.parametrize("count", [0, 1, 255, 256, 257, 3000])
async def test_every_turn_comes_once_and_in_order(count: int) -> None:
    """From an iterable of either kind; rows that end before their turn leave no gap."""
    wanted = [str(number) for number in range(count) if number % 10]
    begun = Begun()
    assert await taken(RowQueue(range(count), begun.begin)) == wanted
    assert await taken(RowQueue(numbers(count), begun.begin)) == wanted
    assert len(begun.batches) <= 2 * (count // 20 + 2)


async def test_it_reads_no_further_than_needed() -> None:
    """Some hundred rows ahead of who takes them, of any number."""
    seen: list[int] = []

    def endless() -> Iterator[int]:
        while True:
            seen.append(1)
            yield len(seen)

    queue = RowQueue(endless(), Begun().begin)
    assert len(await taken(queue, 100)) == 100
    assert len(seen) < 100 + 4 * 256


async def test_what_nobody_took_is_left() -> None:
    """After a close nothing is given out, and what was begun is known."""
    begun = Begun()
    queue = RowQueue(range(1000), begun.begin)
    turns = await taken(queue, 5)
    assert await queue.get() is None
    remaining = list(queue.remaining())
    assert turns + remaining == [str(row) for batch in begun.batches for row in batch if row % 10]
    assert len(remaining) > 100


async def test_a_single_row_does_not_wait_for_company() -> None:
    """It is begun although the source has no second."""

    async def slow() -> AsyncIterator[int]:
        yield 1
        await anyio.sleep_forever()

    with anyio.fail_after(30):
        assert await taken(RowQueue(slow(), Begun().begin), 1) == ["1"]


async def test_an_error_of_the_source_ends_it() -> None:
    """What came before it is given out; the error is kept."""

    def broken() -> Iterator[int]:
        yield 1
        raise ZeroDivisionError

    queue = RowQueue(broken(), Begun().begin)
    assert await taken(queue) == ["1"]
    assert isinstance(queue.error, ZeroDivisionError)


async def test_many_workers_share_it() -> None:
    """Each turn goes to one of them, and all of them end."""
    queue = RowQueue(numbers(2000), Begun().begin)
    turns: list[str] = []

    async def work() -> None:
        while (turn := await queue.get()) is not None:
            turns.append(turn)
            await anyio.lowlevel.checkpoint()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(queue.read)
        tasks.start_soon(queue.start)
        for _ in range(50):
            tasks.start_soon(work)
    assert sorted(turns, key=int) == [str(number) for number in range(2000) if number % 10]
