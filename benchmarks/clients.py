"""The clients that are compared: each opens, and yields a small GET and a small POST.

Each has the connections that it opens by default. Only the bare protocol has one for each call at once.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from itertools import repeat
from typing import Any, Final, NamedTuple, cast

import aiohttp
import httptools
import httpx
from server import CONTACT, CREATE, HEADERS, READ, SECONDS, gateway_at

from gateway_async import CardVaultCreate

CARD: Final[dict[str, str]] = {
    "account_number": "4111111111111111",
    "exp_date": "1230",
    "account_holder_name": "Ada Lovelace",
}

Call = Callable[[], Awaitable[object]]


class Calls(NamedTuple):
    """The calls of one client."""

    get: Call
    post: Call


@asynccontextmanager
async def ours(url: str) -> AsyncIterator[Calls]:
    """Open the client of this package; each call returns a model."""
    new = CardVaultCreate(**CARD)  # type: ignore[arg-type]  # the fields are texts
    async with gateway_at(url) as gateway:
        yield Calls(
            lambda: gateway.contacts.get(CONTACT["id"]),
            lambda: gateway.account_vaults.create(new),
        )


@asynccontextmanager
async def with_aiohttp(url: str) -> AsyncIterator[Calls]:
    """Open an aiohttp session; each call returns a dictionary."""
    body = {"accountvault": {"location_id": "location", **CARD}}
    async with aiohttp.ClientSession(url, headers=HEADERS, timeout=aiohttp.ClientTimeout(SECONDS)) as session:

        async def get() -> object:
            async with session.get(READ) as response:
                return await response.json()

        async def post() -> object:
            async with session.post(CREATE, json=body) as response:
                return await response.json()

        yield Calls(get, post)


@asynccontextmanager
async def with_httpx(url: str) -> AsyncIterator[Calls]:
    """Open an httpx client with its own connection pool; each call returns a dictionary."""
    body = {"accountvault": {"location_id": "location", **CARD}}
    async with httpx.AsyncClient(base_url=url, headers=HEADERS, timeout=SECONDS, trust_env=False) as client:

        async def get() -> object:
            return (await client.get(READ)).json()

        async def post() -> object:
            return (await client.post(CREATE, json=body)).json()

        yield Calls(get, post)


class BareConnection(asyncio.Protocol):
    """One connection of the bare client."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport for the requests."""
        self._transport = cast("asyncio.Transport", transport)

    def exchange(self, request: bytes) -> asyncio.Future[Any]:
        """Send a request, and return what its response will be."""
        self._body = b""
        self._parser = httptools.HttpResponseParser(self)
        self._response: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return self._response

    def data_received(self, data: bytes) -> None:
        """Feed the parser."""
        self._parser.feed_data(data)

    def on_body(self, data: bytes) -> None:
        """Store a part of the response."""
        self._body += data

    def on_message_complete(self) -> None:
        """Decode the response."""
        self._response.set_result(json.loads(self._body))

    def close(self) -> None:
        """Close the connection."""
        self._transport.close()


@asynccontextmanager
async def bare(url: str) -> AsyncIterator[Calls]:
    """Open nothing but sockets with an HTTP parser: less cannot be done in Python."""
    loop, port = asyncio.get_running_loop(), int(url.rpartition(":")[2])
    head = "".join(f"{name}: {value}\r\n" for name, value in HEADERS.items())
    connections: list[BareConnection] = []
    idle: list[BareConnection] = []

    async def exchange(request: bytes) -> object:
        if idle:
            connection = idle.pop()
        else:
            _, connection = await loop.create_connection(BareConnection, "127.0.0.1", port)
            connections.append(connection)
        result = await connection.exchange(request)
        idle.append(connection)
        return result

    def get() -> Awaitable[object]:
        return exchange(f"GET {READ} HTTP/1.1\r\nHost: 127.0.0.1\r\n{head}\r\n".encode())

    def post() -> Awaitable[object]:
        body = json.dumps({"accountvault": {"location_id": "location", **CARD}})
        line = f"POST {CREATE} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        return exchange(f"{line}Content-Length: {len(body)}\r\n{head}\r\n{body}".encode())

    yield Calls(get, post)
    for connection in connections:
        connection.close()


async def make_calls(call: Call, number: int, at_once: int) -> None:
    """Make a number of calls, by `at_once` workers."""

    async def work(remaining: Iterator[None]) -> None:
        for _ in remaining:
            await call()

    remaining = repeat(None, number)
    await asyncio.gather(*(work(remaining) for _ in range(at_once)))
