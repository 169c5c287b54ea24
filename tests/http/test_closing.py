"""Effects of closing the transport on connections and calls."""

import asyncio
import functools
from typing import Any, cast

import anyio
import httpx
import pytest

from gateway_async._http import pool as module
from gateway_async._http.connection import Connection
from gateway_async._http.pool import ConnectionPool
from gateway_async._http.progress import PROGRESS, Progress, Stage
from gateway_async._http.transport import POOL, DirectClient, PooledTransport
from tests.support.scripted_server import (
    at_once,
    client,
    connecting,
    idle,
    never_respond,
    serving,
    together,
    until,
    use,
    waiting_to_connect,
)

pytestmark = pytest.mark.anyio

ORIGIN = ("http", "127.0.0.1", 80)


async def test_idle_connections_are_closed() -> None:
    async with serving(together(6)) as peer:
        async with client(peer) as http, anyio.create_task_group() as tasks:
            tasks.start_soon(at_once, http, 3)
            tasks.start_soon(functools.partial(at_once, http, 3, extensions={POOL: "terminal"}))
            await until(lambda: idle(http) + idle(http, "terminal") == 6)
        await peer.deserted()
        assert idle(http) + idle(http, "terminal") == 0


async def test_use_after_closing() -> None:
    """A closed transport refuses every call, and to close it again does nothing."""
    async with serving() as peer:
        transport = PooledTransport()
        for _ in range(2):
            await transport.aclose()
        with pytest.raises(RuntimeError, match="the transport is closed"):
            await transport.handle_async_request(httpx.Request("GET", peer.url))
        assert peer.opened == 0


async def test_closing_under_cancellation() -> None:
    """Cancellation does not keep a connection from being closed."""
    async with serving(never_respond) as peer, client(peer) as http, anyio.create_task_group() as tasks:
        for pool in ("ordinary", "terminal"):
            tasks.start_soon(functools.partial(post_and_fail, http, peer.url, pool=pool))
        await until(lambda: peer.open == 2)
        with anyio.CancelScope() as scope:
            scope.cancel()
            await http.aclose()
        await peer.deserted()


async def test_sent_calls() -> None:
    """A call that waits for its response then fails, and says that it may have been sent."""
    async with serving(never_respond) as peer, client(peer) as http, anyio.create_task_group() as tasks:
        crowd = [Progress() for _ in range(20)]
        for progress in crowd:
            tasks.start_soon(post_and_fail, http, peer.url, progress)
        await until(lambda: peer.open == 20 and crowd[-1].stage is Stage.SENDING)
        await http._transport.aclose()
        await peer.deserted()
        await until(lambda: use(http).in_use == 0)
    assert {progress.stage for progress in crowd} == {Stage.SENDING}


async def test_unsent_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that waits for a slot or a connection then fails, and nothing of it is sent any more."""
    monkeypatch.setattr(module, "_MAX_CONNECTING", 1)
    async with (
        serving(never_respond) as peer,
        client(peer, max_connections=3) as http,
        anyio.create_task_group() as tasks,
    ):
        crowd = [Progress() for _ in range(9)]
        for progress in crowd:
            tasks.start_soon(post_and_fail, http, peer.secure_url, progress)
        await until(lambda: peer.open == 1 and waiting_to_connect(http) == 2)
        await http._transport.aclose()
        await peer.deserted()
        await until(lambda: use(http).in_use == 0)
    assert peer.opened == 1
    assert [progress.may_have_been_sent for progress in crowd] == [False] * 9


async def test_late_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that opens after the transport was closed is closed too, and nothing is sent over it."""

    async def connect_too_late(*address: Any) -> Connection:
        connection = await connect(*address)
        await http._transport.aclose()
        return connection

    connect = module._connect
    monkeypatch.setattr(module, "_connect", connect_too_late)
    async with serving(never_respond) as peer, client(peer) as http:
        progress = Progress()
        await post_and_fail(http, peer.url, progress)
        assert (progress.stage, progress.may_have_been_sent) == (Stage.CONNECTING, False)
        await peer.deserted()
        assert (use(http).in_use, connecting(http)) == (0, 0)


async def test_idle_connection() -> None:
    """A call that was about to take the next idle connection takes none."""
    pool = ConnectionPool(2, max_idle=2, keepalive_expiry=4.0)

    class Kept:
        idle_seconds = 0.0
        is_open = False

        async def aclose(self) -> None:
            self.is_open = False
            pool.closed = True

    first = Kept()
    first.is_open = True
    pool._idle[ORIGIN].extend(cast("list[Connection]", [first, Kept()]))
    with pytest.raises(RuntimeError, match="the transport is closed"):
        await pool.acquire(ORIGIN, None, {}, Progress())
    assert not pool._busy
    assert pool.use().in_use == 0


async def post_and_fail(
    http: httpx.AsyncClient, url: str, progress: Progress | None = None, pool: str = "ordinary"
) -> None:
    """Make a write that a closed transport must end."""
    extensions = {PROGRESS: progress or Progress(), POOL: pool}
    with pytest.raises((httpx.TransportError, RuntimeError)):
        await http.post(url, content=b"a sale", extensions=extensions, timeout=60)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("steps", range(4))
async def test_cancelled_close(steps: int) -> None:
    """A close that `Task.cancel` interrupts can be repeated, and leaves no connection open."""
    async with serving(together(2)) as peer:
        transport = PooledTransport()
        http = DirectClient(transport)
        async with anyio.create_task_group() as tasks:
            for _ in range(2):
                tasks.start_soon(read_whole, http, peer.url)
        assert peer.open == 2
        closing = asyncio.create_task(http.aclose())
        for _ in range(steps):
            await asyncio.sleep(0)
        closing.cancel()
        await asyncio.wait([closing])
        await http.aclose()
        await peer.deserted()


async def read_whole(http: httpx.AsyncClient, url: str) -> None:
    """Make a call and read its response, so that its connection is kept."""
    response = await http.send(httpx.Request("GET", url))
    await response.aread()
    await response.aclose()
