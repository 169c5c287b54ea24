"""Compressed responses: unpacked a little at a time, and never taken for whole when they are not."""

import gzip
import tracemalloc
import zlib

import anyio
import httpx
import pytest

from gateway_async import MalformedReplyError
from tests.support.scripted_server import client, gateway_at, once, serving

pytestmark = pytest.mark.anyio

TEXT = b'{"contact": {"id": "1"}}' * 1000


def raw_deflate(data: bytes) -> bytes:
    """Compress without zlib's header, as some servers' deflate."""
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


def packed(coding: str, body: bytes) -> bytes:
    """A response that says how its body is packed."""
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


@pytest.mark.parametrize(
    ("coding", "body"),
    [("gzip", gzip.compress(TEXT)), ("x-gzip", gzip.compress(TEXT)), ("deflate", zlib.compress(TEXT)),
     ("deflate", raw_deflate(TEXT)), ("GZIP", gzip.compress(TEXT)), ("identity", TEXT)],
    ids=["gzip", "x-gzip", "deflate", "deflate without a header", "in capitals", "not packed"],
)  # fmt: skip
async def test_codings(coding: str, body: bytes) -> None:
    """A body is unpacked in each way that the client offers, and the response no longer says that it is packed."""
    async with serving(once(packed(coding, body))) as peer, client(peer) as http:
        response = await http.get("/")
    assert response.content == TEXT
    assert response.headers.get("content-encoding") in (None, "identity")


async def test_empty_body() -> None:
    """A head that says gzip with nothing behind it, as to a 204, is an empty response."""
    async with (
        serving(once(b"HTTP/1.1 204 No Content\r\nContent-Encoding: gzip\r\n\r\n")) as peer,
        client(peer) as http,
    ):
        assert (await http.get("/")).content == b""


@pytest.mark.parametrize(
    "body", [gzip.compress(TEXT)[:-9], b"\x1f\x8b garbage", b"\x1f"], ids=["cut", "garbage", "a byte"]
)
async def test_damaged_body(body: bytes) -> None:
    """A packed body that is cut off or garbage is an error, never part of a response that passes for the whole."""
    async with serving(once(packed("gzip", body))) as peer, client(peer) as http:
        with pytest.raises(httpx.DecodingError):
            await http.get("/")


@pytest.mark.parametrize("coding", ["gzip, gzip", "br", "compress"])
async def test_a_coding_that_was_not_offered_is_rejected(coding: str) -> None:
    for body in (gzip.compress(gzip.compress(TEXT)), b""):
        async with serving(once(packed(coding, body))) as peer, client(peer) as http:
            if not body:
                assert (await http.get("/")).content == b""
                continue
            with pytest.raises(httpx.DecodingError, match="not offered"):
                await http.get("/")


@pytest.mark.parametrize("behind", [b"\0", b"x" * 100_000, gzip.compress(TEXT)], ids=["a byte", "much", "another"])
async def test_trailing_data(behind: bytes) -> None:
    """Data behind a packed body is refused at once: zlib would keep it, and no limit of the body counts it."""
    async with serving(once(packed("gzip", gzip.compress(TEXT) + behind))) as peer, client(peer) as http:
        with pytest.raises(httpx.DecodingError, match="follows the compressed body"):
            await http.get("/")


# httpx leaves its generators to the garbage collector where a body is not read to its end, and trio warns of it.
ON_ASYNCIO = pytest.mark.parametrize("anyio_backend", ["asyncio"])


@ON_ASYNCIO
async def test_a_bomb_is_unpacked_a_little_at_a_time() -> None:
    bomb = gzip.compress(bytes(200_000_000), compresslevel=6)
    async with serving(once(packed("gzip", bomb))) as peer, client(peer) as http:
        tracemalloc.start()
        try:
            async with http.stream("GET", "/") as response:
                sizes = []
                async for chunk in response.aiter_bytes():
                    sizes.append(len(chunk))
                    if sum(sizes) > 20_000_000:
                        break
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert max(sizes) <= 256 * 1024
    assert peak < 5_000_000


@ON_ASYNCIO
async def test_bomb() -> None:
    """A response that unpacks to more than the client takes is malformed, long before it is unpacked."""
    bomb = gzip.compress(bytes(200_000_000), compresslevel=6)
    async with serving(once(packed("gzip", bomb))) as peer, gateway_at(peer.url) as gateway:
        with anyio.fail_after(10), pytest.raises(MalformedReplyError, match="longer than"):
            await gateway.contacts.get("1")
