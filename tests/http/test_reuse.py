"""Which connection a call gets: the newest idle one, and never one on which anything unasked came."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import aiohappyeyeballs
import anyio
import anyio.lowlevel
import httpx
import pytest

from gateway_async._http import asyncio_connection
from gateway_async._http import pool as pool_module
from gateway_async._http import transport as module
from gateway_async._http.pool import ConnectionPool
from gateway_async._http.progress import PROGRESS, Progress
from gateway_async._http.transport import FRESH, POOL, PooledTransport
from tests.support.scripted_server import Wire, at_once, client, idle, respond_to_all, serving, together, until, use

pytestmark = pytest.mark.anyio

ORIGIN = ("http", "127.0.0.1", 80)
STRAY = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nstray"


async def test_newest_connection_first() -> None:
    """Of two idle connections the one that was used last is taken."""
    ready = {number: anyio.Event() for number in (1, 2)}

    async def in_order(wire: Wire) -> None:
        await wire.request()
        await ready[wire.number].wait()
        await wire.respond()
        await respond_to_all(wire)

    def are_idle(http: httpx.AsyncClient, count: int) -> bool:
        return idle(http) == count

    async with serving(in_order) as peer, client(peer) as http, anyio.create_task_group() as tasks:
        tasks.start_soon(http.get, "/")
        await until(lambda: peer.opened == 1)
        tasks.start_soon(http.get, "/")
        await until(lambda: peer.opened == 2)
        for number in (2, 1):
            ready[number].set()
            await until(partial(are_idle, http, 3 - number))
        assert [(await http.get("/")).text for _ in range(3)] == ["1", "1", "1"]


async def test_own_connection() -> None:
    """A request that asks for it gets a new connection, although one is idle, and leaves none behind."""
    async with serving(respond_to_all) as peer, client(peer) as http:
        assert (await http.get("/")).text == "1"
        assert idle(http) == 1
        for number in ("2", "3"):
            assert (await http.get("/", extensions={FRESH: True})).text == number
            assert idle(http) == 1
        assert (await http.get("/")).text == "1"


async def test_connection_that_the_server_closed_while_idle() -> None:
    async def respond_and_close(wire: Wire) -> None:
        await wire.request()
        await wire.respond(str(wire.number))

    async with serving(respond_and_close) as peer, client(peer) as http:
        for number in range(1, 4):
            assert (await http.post("/", content=b"once")).text == str(number)
            await peer.deserted()


async def test_idle_bytes() -> None:
    """Bytes that come in while a connection is idle end it, and reach no call."""
    strayed = anyio.Event()

    async def stray(wire: Wire) -> None:
        await wire.request()
        await wire.respond(str(wire.number))
        if wire.number == 1:
            await until(lambda: idle(http) == 1)
            await wire.send(STRAY)
            strayed.set()
        await wire.gone()

    async with serving(stray) as peer, client(peer) as http:
        assert (await http.get("/")).text == "1"
        await strayed.wait()
        assert (await http.get("/")).text == "2"


async def test_nothing_is_sent_to_a_server_that_sends_data_first(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bytes] = []
    spoken = anyio.Event()

    def wait_after(connect: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def connect_and_wait(*address: Any, **options: Any) -> Any:
            stream = await connect(*address, **options)
            await spoken.wait()
            return stream

        return connect_and_wait

    monkeypatch.setattr(anyio, "connect_tcp", wait_after(anyio.connect_tcp))
    start_connection = aiohappyeyeballs.start_connection
    monkeypatch.setattr(asyncio_connection, "start_connection", wait_after(start_connection))

    async def speak_first(wire: Wire) -> None:
        await wire.send(STRAY)
        spoken.set()
        head, _ = await wire.request()
        asked.append(head)

    async with serving(speak_first) as peer, client(peer) as http:
        with pytest.raises(httpx.ConnectError, match="before the request"):
            await http.post("/", content=b"once")
        await peer.deserted()
    assert asked == []


HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: %06d\r\n\r\n"
READ_AT_ONCE = 65536


@pytest.mark.parametrize(
    ("length", "stray"),
    [(1, STRAY), (1, STRAY[:10]), (READ_AT_ONCE - len(HEAD % 0), STRAY)],
    ids=["a response", "a piece of one", "one that is not read with the first"],
)
async def test_trailing_bytes(length: int, stray: bytes) -> None:
    """Close the connection after data behind a response; pass it to no call."""

    async def twice(wire: Wire) -> None:
        await wire.request()
        await wire.send(HEAD % length + b"%d" % wire.number * length + stray)
        await wire.gone()

    async with serving(twice) as peer, client(peer) as http:
        assert [(await http.get("/")).text for _ in range(3)] == [number * length for number in "123"]
        await peer.deserted()


async def test_stray_response() -> None:
    """The connection is closed at once, however many calls it has served before."""

    async def stray_later(wire: Wire) -> None:
        await wire.request()
        await wire.respond()
        await wire.request()
        await wire.send(STRAY + STRAY)
        await wire.gone()

    async with serving(stray_later) as peer, client(peer) as http:
        assert [(await http.get("/")).text for _ in range(2)] == ["ok", "stray"]
        await peer.deserted()


async def test_body_left_unread() -> None:
    """A response that is dropped before its end takes its connection along, and gives the slot back."""

    async def endless(wire: Wire) -> None:
        await wire.request()
        await wire.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nonly the beginning")
        await wire.gone()

    async with serving(endless) as peer, client(peer, max_connections=1) as http:
        for _ in range(3):
            async with http.stream("GET", "/") as response:
                assert response.status_code == 200
        assert peer.opened == 3
        await peer.deserted()


async def test_response_closed_twice() -> None:
    """Closing a response again does nothing, above all not to the slot of another call."""
    async with serving() as peer, client(peer, max_connections=1) as http:
        async with http.stream("GET", "/") as response:
            await response.aread()
        async with http.stream("GET", "/"):
            assert isinstance(response.stream, httpx.AsyncByteStream)
            await response.stream.aclose()
            assert use(http).in_use == 1
        assert use(http).in_use == 0


async def test_discarded_connection() -> None:
    """A connection that the reader of its response distrusts is closed, though the response was read to its end."""
    async with serving() as peer, client(peer) as http:
        progress = Progress()
        assert (await http.get("/", extensions={PROGRESS: progress})).text == "1"
        await progress.discard()
        await peer.deserted()
        assert (await http.get("/")).text == "2"


async def test_early_distrust() -> None:
    """A connection may be distrusted by the head alone, and more than once."""
    async with serving() as peer, client(peer) as http:
        progress = Progress()
        async with http.stream("GET", "/", extensions={PROGRESS: progress}):
            for _ in range(2):
                await progress.discard()
        await peer.deserted()
        assert use(http).in_use == 0


async def test_cancellation_does_not_keep_a_distrusted_connection_alive() -> None:
    async with serving() as peer, client(peer) as http:
        progress = Progress()
        await http.get("/", extensions={PROGRESS: progress})
        with anyio.CancelScope() as scope:
            scope.cancel()
            await progress.discard()
        await peer.deserted()


async def test_expired_connections_are_closed_when_the_next_one_is_returned() -> None:
    async with serving(together(10)) as peer, client(peer, keepalive_expiry=0.0) as http:
        await at_once(http, 10)
        await until(lambda: peer.open == 1)
        assert idle(http) == 1


async def test_returned_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the caller still discard a connection while expired ones are closed."""
    pool, seen = ConnectionPool(2, max_idle=1, keepalive_expiry=4.0), []

    class Kept:
        idle_seconds = float("inf")

        def finish(self) -> bool:
            return True

        async def aclose(self) -> None:
            seen.append(len(pool._idle[ORIGIN]))

    async def connect(*_address: object) -> Kept:
        return Kept()

    monkeypatch.setattr(pool_module, "_connect", connect)
    connections = [await pool.acquire(ORIGIN, None, {}, Progress()) for _ in range(2)]
    for connection in connections:
        await pool.release(ORIGIN, connection)
    assert (seen, len(pool._idle[ORIGIN])) == ([0], 1)


async def test_idle_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the connections of many terminals only a few are kept."""
    monkeypatch.setattr(module, "_IDLE_TERMINALS", 3)
    async with serving(together(10)) as peer, client(peer) as http:
        await at_once(http, 10, extensions={POOL: "terminal"})
        await until(lambda: peer.open == 3)
        assert idle(http, "terminal") == 3


async def test_lanes() -> None:
    """An idle ordinary connection is not taken by a terminal, nor the other way round."""
    async with serving() as peer, client(peer) as http:
        pools = ["ordinary", "terminal", "ordinary", "terminal"]
        responses = [(await http.get("/", extensions={POOL: pool})).text for pool in pools]
        assert responses == ["1", "2", "1", "2"]


async def test_origins() -> None:
    """A connection is used only for the scheme, host and port that it was made for."""
    async with serving() as one, serving() as other, httpx.AsyncClient(transport=PooledTransport()) as http:
        for peer in (one, other, one, other):
            assert (await http.get(peer.url)).text == "1"
        assert (one.opened, other.opened) == (1, 1)
