"""A server on 127.0.0.1 that does exactly what a test tells it to, byte by byte, on asyncio and on trio."""

import contextlib
import functools
import json
import re
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from socket import SO_LINGER, SOL_SOCKET
from typing import Any, cast

import anyio
import anyio.abc
import attrs
import httpx
from anyio.streams.buffered import BufferedByteReceiveStream
from anyio.streams.tls import TLSStream

from gateway_async import AsyncGateway, UserApiKey
from gateway_async._http.transport import PooledTransport
from gateway_async.telemetry.health import PoolUse
from tests.support.waiting import PATIENCE

LOST = (anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError, anyio.ClosedResourceError, OSError)


class Wire:
    """One connection, seen from the server."""

    def __init__(self, stream: anyio.abc.SocketStream | TLSStream, number: int) -> None:
        self.stream = stream
        self.number = number
        self._reader = BufferedByteReceiveStream(stream)

    async def request(self) -> tuple[bytes, bytes]:
        """The head and the body of the next request (the body as far as its Content-Length goes)."""
        head = await self._reader.receive_until(b"\r\n\r\n", 65536)
        length = re.search(rb"(?i)content-length: *(\d+)", head)
        return head, await self._reader.receive_exactly(int(length[1])) if length else b""

    async def send(self, data: bytes) -> None:
        """Write these bytes."""
        await self.stream.send(data)

    async def respond(self, body: str = "ok") -> None:
        """Write a 200 with this body."""
        await self.send(f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())

    async def gone(self) -> None:
        """Wait until the client hangs up."""
        while await self.stream.receive():
            pass

    def reset_on_close(self) -> None:
        """Have the connection end with a reset."""
        raw = self.stream.extra(anyio.abc.SocketAttribute.raw_socket)  # noqa: S610, anyio's and not Django's
        raw.setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))


def response(status: int = 200, content: Any = b"") -> bytes:
    """Return a response with a body of bytes or of JSON."""
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


Script = Callable[[Wire], Awaitable[None]]
"""Run the script of one connection, which is closed at its end."""


async def respond_to_all(wire: Wire) -> None:
    """Answer every request with the number of its connection."""
    while True:
        await wire.request()
        await wire.respond(str(wire.number))


async def never_respond(wire: Wire) -> None:
    """Read whatever comes, and never answer."""
    await wire.gone()


def always(response: bytes) -> Script:
    """Answer every request with these bytes."""

    async def script(wire: Wire) -> None:
        while True:
            await wire.request()
            await wire.send(response)

    return script


def once(response: bytes, *, linger: bool = False) -> Script:
    """Answer one request with these bytes, then close, or `linger` until the client hangs up."""

    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.send(response)
        if linger:
            await wire.gone()

    return script


@attrs.define
class Peer:
    """The server: where it is, and which connections it has."""

    url: str
    opened: int = 0
    open: int = 0

    @property
    def secure_url(self) -> str:
        """Its address, as of a server that speaks TLS."""
        return self.url.replace("http:", "https:")

    async def deserted(self) -> None:
        """Wait until no connection is open."""
        await until(lambda: self.open == 0)


async def until(condition: Callable[[], bool]) -> None:
    """Wait for a condition that no event tells, at most half a minute: machines may be busy."""
    with anyio.fail_after(PATIENCE):
        while not condition():
            await anyio.sleep(0.001)


def together(count: int) -> Script:
    """Hold the first `count` requests back until all of them are there, then answer them and all others."""
    arrived = 0
    complete = anyio.Event()

    async def script(wire: Wire) -> None:
        nonlocal arrived
        await wire.request()
        arrived += 1
        if arrived == count:
            complete.set()
        await complete.wait()
        await wire.respond(str(wire.number))
        await respond_to_all(wire)

    return script


def client(peer: Peer, **options: Any) -> httpx.AsyncClient:
    """Give an httpx client over our transport. Its limits of time are so long that a busy machine keeps them."""
    transport = PooledTransport(**{"keepalive_expiry": PATIENCE, **options})
    return httpx.AsyncClient(base_url=peer.url, transport=transport, timeout=PATIENCE)


def gateway_at(url: str, **options: Any) -> AsyncGateway:
    """Give the SDK's client of a server."""
    credentials = UserApiKey("user", "key")
    return AsyncGateway(url, developer_id="dev", **{"location_id": "loc", "credentials": credentials, **options})


def use(http: httpx.AsyncClient, pool: str = "ordinary") -> PoolUse:
    """Return how many calls of a client have a connection of a pool, or wait for one."""
    return transport_of(http).pool_use(pool)


def connecting(http: httpx.AsyncClient, pool: str = "ordinary") -> int:
    """Count the connections that a pool is opening."""
    slots = transport_of(http)._pools[pool]._connect_slots
    assert slots.max_value is not None
    return slots.max_value - slots.value


def waiting_to_connect(http: httpx.AsyncClient) -> int:
    """Count the calls that wait until fewer connections are being opened."""
    return transport_of(http)._pools["ordinary"]._connect_slots.statistics().tasks_waiting


def idle(http: httpx.AsyncClient, pool: str = "ordinary") -> int:
    """Count the connections that a pool keeps for the next calls."""
    return sum(len(stack) for stack in transport_of(http)._pools[pool]._idle.values())


def transport_of(http: httpx.AsyncClient) -> PooledTransport:
    """Return the transport of a client."""
    return cast("PooledTransport", http._transport)


async def at_once(http: httpx.AsyncClient, count: int, url: str = "/", **options: Any) -> None:
    """Make `count` calls at the same time."""
    async with anyio.create_task_group() as tasks:
        for _ in range(count):
            tasks.start_soon(functools.partial(http.get, url, **options))


@contextlib.asynccontextmanager
async def serving(
    script: Script = respond_to_all, *, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None
) -> AsyncIterator[Peer]:
    """Run `script` for every connection that is made."""
    listener = await anyio.create_tcp_listener(local_host=host, backlog=4096)
    port = listener.extra(anyio.abc.SocketAttribute.local_port)  # noqa: S610, anyio's and not Django's
    shown = f"[{host}]" if ":" in host else host
    peer = Peer(f"{'https' if tls else 'http'}://{shown}:{port}")

    async def handle(stream: anyio.abc.SocketStream) -> None:
        peer.opened += 1
        peer.open += 1
        number = peer.opened
        try:
            with contextlib.suppress(*LOST):
                async with stream:
                    secured = await _secured(stream, tls)
                    await script(Wire(secured, number))
        finally:
            peer.open -= 1

    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, handle)
        yield peer
        tasks.cancel_scope.cancel()


async def _secured(stream: anyio.abc.SocketStream, tls: ssl.SSLContext | None) -> anyio.abc.SocketStream | TLSStream:
    if tls is None:
        return stream
    return await TLSStream.wrap(stream, ssl_context=tls, server_side=True, standard_compatible=False)
