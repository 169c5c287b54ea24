"""A receiver as a handler of aiohttp's server, over real sockets."""

import asyncio
import contextlib
import gzip
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest
from aiohttp import web

from gateway_async.postbacks import PostbackReceiver

from .postback_requests import HEADERS, form, receiver, recording_receiver, sale

pytestmark = pytest.mark.asyncio


@asynccontextmanager
async def served(shop: PostbackReceiver, *, method: str = "POST") -> AsyncIterator[str]:
    """An application with a receiver in it; its address."""
    app = web.Application()
    app.router.add_route(method, "/postbacks", shop.aiohttp)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/postbacks"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A bare connection, for what no client would send."""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(url.split(":")[2].split("/", maxsplit=1)[0]))
    try:
        yield reader, writer
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


async def test_a_postback_in_pieces_reaches_its_handler() -> None:
    shop, received = recording_receiver("transaction")

    async def pieces() -> AsyncIterator[bytes]:
        yield form(sale(id="b"))[:9]
        yield form(sale(id="b"))[9:]

    async with served(shop) as url, aiohttp.ClientSession(headers=HEADERS) as gateway:
        for body in (form(sale(id="a")), pieces()):
            async with gateway.post(url, data=body) as response:
                assert (response.status, await response.read()) == (204, b"")
    assert [postback.record_id for postback in received] == ["a", "b"]


async def test_refusals() -> None:
    """A refusal is plain text: 401 and 405 with their headers, 400 with its words, 413 without reading on."""
    async with served(receiver(max_bytes=5000), method="*") as url, aiohttp.ClientSession() as gateway:
        for method in ("GET", "HEAD", "PUT"):
            async with gateway.request(method, url, headers=HEADERS) as response:
                assert (response.status, response.headers["allow"]) == (405, "POST")
        async with gateway.post(url, data=form()) as response:
            assert (response.status, response.headers["www-authenticate"][:6]) == (401, "Basic ")
        async with gateway.post(url, data=b"x", headers=HEADERS) as response:
            assert (response.status, response.content_type) == (400, "text/plain")
            assert (await response.text()).startswith("the body: ")
        async with gateway.post(url, data=b"x" * 5001, headers=HEADERS) as response:
            assert response.status == 413


@pytest.mark.parametrize(("network", "status"), [("127.0.0.0/8", 204), ("203.0.113.0/24", 403)])
async def test_a_header_does_not_change_the_peer(network: str, status: int) -> None:
    shop, received = recording_receiver(allowed_networks=[network])
    headers = {**HEADERS, "X-Forwarded-For": "203.0.113.9", "Forwarded": "for=203.0.113.9"}
    async with (
        served(shop) as url,
        aiohttp.ClientSession(headers=headers) as gateway,
        gateway.post(url, data=form()) as response,
    ):
        assert response.status == status
    assert len(received) == (status == 204)


async def test_packed_body() -> None:
    """The server unpacks a body; the limit counts what comes out."""
    packed = gzip.compress(b"data=" + b" " * 20_000_000)
    async with (
        served(receiver()) as url,
        aiohttp.ClientSession(headers={**HEADERS, "Content-Encoding": "gzip"}) as gateway,
        gateway.post(url, data=packed) as response,
    ):
        assert response.status == 413


HEAD = f"POST /postbacks HTTP/1.1\r\nHost: shop.test\r\nAuthorization: {HEADERS['Authorization']}\r\n"


@pytest.mark.parametrize(
    "rest",
    [
        b"Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello",
        b"Content-Encoding: br\r\nContent-Length: 5\r\n\r\nhello",
        b"Transfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n",
    ],
)
async def test_broken_body(rest: bytes) -> None:
    """The server or the receiver reads a body that cannot be unpacked; no handler has failed."""
    async with served(receiver()) as url, connected(url) as (reader, writer):
        writer.write(HEAD.encode() + rest)
        assert re.match(rb"HTTP/1.[01] 4", await reader.readline())


async def test_disconnect(caplog: pytest.LogCaptureFixture) -> None:
    """No handler is called, and no error is logged."""
    shop, received = recording_receiver()
    async with served(shop) as url, connected(url) as (_, writer):
        writer.write(f"{HEAD}Content-Length: 10000\r\n\r\n".encode() + form())
        await writer.drain()
    assert (received, [record.getMessage() for record in caplog.records]) == ([], [])
