"""Rows from any iterable. When reading stops, nothing remains open."""

from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from typing import Any

import pytest

from gateway_async.migration.rows.row import iterate

pytestmark = pytest.mark.anyio


class File:
    """A source that is open while it is read, as `read_rows` gives one.

    Attributes:
        is_open: whether it is.
    """

    def __init__(self) -> None:
        self.is_open = False

    async def __aiter__(self) -> AsyncIterator[int]:
        """Open the source, and close it in any case."""
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


async def test_all_come_in_order() -> None:
    for source in (range(100), File()):
        assert [row async for row in iterate(source)] == [*range(100)]
