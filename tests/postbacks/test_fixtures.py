"""A receiver in fixtures of pytest-asyncio and anyio, which may end in another task than the one that they began in."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
import pytest_asyncio

from gateway_async.postbacks import InboxError, Postback, PostbackReceiver, SqliteInbox
from tests.support.waiting import until

from .inboxes import change
from .postback_requests import HEADERS, MemoryInbox, chunks, form, receiver, recording_receiver, sale

Shop = tuple[PostbackReceiver, list[Postback[Any]]]
ON_BOTH = pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])


async def shop_at_work(tmp_path: Path) -> AsyncIterator[Shop]:
    """A receiver at work. On pytest-asyncio, its setup and teardown are different tasks."""
    shop, received = recording_receiver(inbox=SqliteInbox(tmp_path / "inbox.db"))
    async with shop:
        yield shop, received


shop_on_asyncio, shop_on_anyio = pytest_asyncio.fixture(shop_at_work), pytest.fixture(shop_at_work)


async def handles_a_postback(shop: PostbackReceiver, received: list[Postback[Any]]) -> None:
    """Check that a postback that is stored is handled."""
    assert (await shop.receive("POST", HEADERS, chunks(form()))).status_code == 204
    await until(lambda: [each.record_id for each in received] == [sale()["id"]])


@pytest.mark.asyncio
async def test_pytest_asyncio(shop_on_asyncio: Shop) -> None:
    """Setup, test and teardown of its fixture are three tasks."""
    await handles_a_postback(*shop_on_asyncio)


@pytest.mark.anyio
@ON_BOTH
async def test_a_fixture_of_anyio_works_on_asyncio_and_trio(shop_on_anyio: Shop) -> None:
    await handles_a_postback(*shop_on_anyio)


async def in_another_task(function: Callable[[], Awaitable[object]]) -> None:
    """Call a function in a task of its own."""

    async def call() -> None:
        await function()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call)


@pytest.mark.anyio
@ON_BOTH
async def test_interruption(tmp_path: Path) -> None:
    """The worker has stopped when the block ends in another task: the handler is cancelled, its postback waits."""
    events: list[str] = []
    shop = receiver(inbox=(inbox := SqliteInbox(tmp_path / "inbox.db")))

    @shop.on()
    async def handle(_: Postback[Any]) -> None:
        events.append("started")
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.lowlevel.checkpoint()
            events.append("cancelled")

    await in_another_task(shop.__aenter__)
    await shop.accept(change())
    await until(lambda: events == ["started"])
    await in_another_task(lambda: shop.__aexit__(None, None, None))
    assert events == ["started", "cancelled"]
    with pytest.raises(InboxError, match="closed"):
        await inbox.list()
    inbox.reopen()
    assert [(each.state, each.attempts) for each in await inbox.list()] == [("waiting", 0)]
    await inbox.aclose()


@pytest.mark.anyio
@ON_BOTH
async def test_error() -> None:
    """The block keeps its own error and cancellation, and the inbox is closed in any case."""
    inbox = MemoryInbox()
    with pytest.raises(ZeroDivisionError):
        async with receiver(inbox=inbox):
            raise ZeroDivisionError
    with anyio.move_on_after(0.01) as scope:
        async with receiver(inbox=inbox):
            await anyio.sleep_forever()
    assert (scope.cancelled_caught, inbox.closed) == (True, 2)


@pytest.mark.asyncio
async def test_second_cancellation(tmp_path: Path) -> None:
    """The inbox is closed after the last handler has stopped, however often the program is told to end."""
    shop = receiver(inbox=SqliteInbox(tmp_path / "inbox.db"))
    stopping, may_stop = asyncio.Event(), asyncio.Event()
    entered: list[str] = []

    @shop.on()
    async def handle(postback: Postback[Any]) -> None:
        entered.append(postback.record_id)
        try:
            await anyio.sleep_forever()
        finally:
            stopping.set()
            with anyio.CancelScope(shield=True):
                await may_stop.wait()

    async def serve() -> None:
        async with shop:
            await shop.accept(change())
            await anyio.sleep_forever()

    server = asyncio.create_task(serve())
    await until(lambda: entered)
    server.cancel()
    await stopping.wait()
    for _ in range(3):
        server.cancel()
        await asyncio.sleep(0)
    assert not server.done()
    may_stop.set()
    with pytest.raises(asyncio.CancelledError):
        await server
    inbox = SqliteInbox(tmp_path / "inbox.db")
    assert [(each.state, each.attempts) for each in await inbox.list()] == [("waiting", 0)]
    await inbox.aclose()


@pytest.mark.anyio
@ON_BOTH
async def test_failing_worker(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """A worker starts again: an inbox may raise anything; the log says so, and the postbacks are handled later."""
    inbox = MemoryInbox()
    claims = 0

    async def claim(_: int, __: float) -> list[Any]:
        nonlocal claims
        claims += 1
        if claims == 1:
            raise ZeroDivisionError("planted")
        return []

    monkeypatch.setattr(inbox, "claim", claim)
    monkeypatch.setattr("gateway_async.postbacks.receiver._RESTART_SECONDS", 0.01)
    shop, _ = recording_receiver(inbox=inbox)
    with caplog.at_level(logging.ERROR):
        async with shop:
            await until(lambda: claims > 1)
            assert (await shop.health()).is_working
    assert "the worker failed, it starts again in 0.01 s" in caplog.text
    assert "planted" in caplog.text
