"""The listening socket by itself."""

import asyncio
import socket

import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from gateway_async.sandbox.http.server import Listener


@pytest.mark.asyncio
@pytest.mark.parametrize("way", ["pause", "close"])
async def test_a_connection_just_accepted_is_closed_properly(way: str) -> None:
    """Closing at the moment of a connection drops it, and leaves nothing to the garbage collector."""
    listener = Listener(PlainTextResponse("here"), "127.0.0.1", 0)
    await listener.bind()
    await listener.open()
    with socket.create_connection(("127.0.0.1", listener.port)) as caller:
        for _ in range(2):  # in the second iteration of the loop the connection is accepted, and has no transport yet
            await asyncio.sleep(0)
        await getattr(listener, way)()
        await asyncio.sleep(0)
        caller.setblocking(False)
        try:
            said = await asyncio.wait_for(asyncio.get_running_loop().sock_recv(caller, 1), 10)
        except ConnectionResetError:
            said = b""
    assert said == b""


@pytest.mark.asyncio
async def test_a_cancelled_wait_closes_its_connection() -> None:
    """`wait_until_idle` leaves no open connection when its timeout cancels it before the response."""
    requested, disconnected = asyncio.Event(), asyncio.Event()

    async def wait_for_disconnect(scope: Scope, receive: Receive, send: Send) -> None:
        requested.set()
        while (await receive())["type"] != "http.disconnect":
            pass
        disconnected.set()

    listener = Listener(wait_for_disconnect, "127.0.0.1", 0)
    await listener.bind()
    await listener.open()
    waiting = asyncio.create_task(listener.wait_until_idle())
    try:
        await asyncio.wait_for(requested.wait(), 10)
        waiting.cancel()
        await asyncio.wait_for(disconnected.wait(), 10)
    finally:
        await listener.close()
