"""Forms that a browser submits more than once."""

import asyncio

import pytest

from gateway_async.sandbox.runtime.live_pages import SubmittedForms

pytestmark = pytest.mark.asyncio


class Handler:
    """A handler that waits until it may end, and counts its calls."""

    def __init__(self) -> None:
        self.calls = 0
        self.has_begun, self.may_end = asyncio.Event(), asyncio.Event()

    async def handle(self) -> str:
        """Return the number of the call."""
        self.calls += 1
        number = self.calls
        self.has_begun.set()
        await self.may_end.wait()
        return str(number)


async def submit_twice(forms: SubmittedForms, handler: Handler) -> list[asyncio.Task[str]]:
    """Submit one form twice, and wait until the first submission is being handled."""
    tasks = [asyncio.create_task(forms.handle_once("form", handler.handle)) for _ in range(2)]
    await handler.has_begun.wait()
    return tasks


async def test_simultaneous_submissions() -> None:
    """The second submission waits for the first one, and a later one has the same result."""
    forms, handler = SubmittedForms(), Handler()
    tasks = await submit_twice(forms, handler)
    handler.may_end.set()
    assert await asyncio.gather(*tasks) == ["1", "1"]
    assert await forms.handle_once("form", handler.handle) == "1"
    assert await forms.handle_once("another form", handler.handle) == "2"


async def test_cancelled_submission() -> None:
    """If the first submission is cancelled, the second one is handled."""
    forms, handler = SubmittedForms(), Handler()
    first, second = await submit_twice(forms, handler)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    handler.may_end.set()
    assert await second == "2"
