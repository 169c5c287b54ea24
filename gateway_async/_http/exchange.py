"""`Exchange`: one request and its response on a connection of a pool, and the reader of its body.

The body is read up to a limit, and decompressed in steps of limited size. A small compressed response therefore cannot
fill the memory.
"""

import ssl
import zlib
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator
from contextlib import aclosing
from typing import TYPE_CHECKING, Final, Self, cast

import attrs
import httpx

from gateway_async._http.connection import Connection
from gateway_async._http.messages import WRONG_LENGTH, Origin
from gateway_async._http.pool import ConnectionPool, Timeouts, within
from gateway_async._http.progress import Progress, Stage
from gateway_async._http.response_parser import ResponseParser

if TYPE_CHECKING:
    from zlib import _Decompress

_CLOSED: Final = "the server closed the connection before the request"

_STEP: Final = 256 * 1024
"""Maximum bytes that are decompressed at a time."""

_CODINGS: Final = ("gzip", "x-gzip", "deflate")


@attrs.define(eq=False)
class Exchange(httpx.AsyncByteStream):
    """One request and its response, until the response is read or dropped.

    It holds the connection, and is also the body of the response. One object has both roles to save memory, because
    thousands of calls may wait.

    Attributes:
        pool: the pool of the connection.
        origin: scheme, host and port.
        tls: the TLS context; None for plain http.
        timeouts: httpx's timeouts in seconds, by phase.
        progress: is updated with how far the request got.
        fresh: whether the connection is opened for this exchange and closed after it.
        connection: the connection, while it is in use.
        response: the response, after its head has arrived.
    """

    pool: ConnectionPool
    origin: Origin
    tls: ssl.SSLContext | None
    timeouts: Timeouts
    progress: Progress
    fresh: bool = False
    connection: Connection | None = None
    response: ResponseParser | None = None

    async def send(self, start: bytes, rest: AsyncIterator[bytes] | None = None) -> None:
        """Acquire a connection and send the request.

        On failure, the connection is released. Nothing of the request is kept.

        Args:
            start: its first bytes.
            rest: its remaining chunks; None if `start` is the whole request.
        """
        progress = self.progress
        progress.stage = Stage.QUEUED
        connection = self.connection = await self.pool.acquire(
            self.origin, self.tls, self.timeouts, progress, fresh=self.fresh
        )
        try:
            if progress.before_sending is not None:
                await progress.check()  # takes a while, in which the server may close the connection
                if not connection.is_silent:
                    raise httpx.ConnectError(_CLOSED)  # noqa: TRY301  its connection is released below
            self.pool.check_open()  # it may have been closed while the connection was opened
            progress.discard = connection.aclose
            progress.stage = Stage.SENDING
            await within(self.timeouts.get("write"), connection.send(start, rest), httpx.WriteTimeout)
        except BaseException:
            await self.aclose()
            raise

    async def upload(self, start: bytes, request: httpx.Request) -> None:
        """Send a request as `send` does, with a body that is read in chunks."""
        async with aclosing(_encode_body(request)) as body:
            # Read the body's first chunks now, so that writing starts as soon as there is a connection.
            chunks = [start, await anext(body, b""), await anext(body, b"")]
            await self.send(b"".join(chunks), body)

    async def head(self, *, bodiless: bool) -> ResponseParser:
        """Wait for the head of the response; on failure, the connection is released."""
        if (connection := self.connection) is None:
            raise RuntimeError("the request was not sent")
        try:
            work = connection.head(bodiless=bodiless)
            self.response = response = await within(self.timeouts.get("read"), work, httpx.ReadTimeout)
            self.progress.stage = Stage.RESPONSE_STARTED
            if self.pool.staggered:
                await self.pool.wait_to_read()
        except BaseException:
            await self.aclose()
            raise
        return response

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        if self.connection is not None and (
            chunk := await within(self.timeouts.get("read"), self.connection.read(), httpx.ReadTimeout)
        ):
            return chunk
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Give the connection back to the pool; a second call does nothing."""
        connection, self.connection = self.connection, None
        if connection is not None:
            await self.pool.release(self.origin, connection, discard=self.fresh)


async def _encode_body(request: httpx.Request) -> AsyncGenerator[bytes]:
    """Iterate over the body, in chunked encoding if its length is unknown.

    Raises:
        httpx.LocalProtocolError: its length differs from the content-length header.
    """
    chunked, left = "transfer-encoding" in request.headers, int(request.headers.get("content-length", 0))
    # Close the generator here; after an interrupted upload, only the garbage collector would.
    async with aclosing(cast("AsyncGenerator[bytes]", aiter(cast("AsyncIterable[bytes]", request.stream)))) as chunks:
        async for chunk in chunks:
            left -= len(chunk)
            if not chunked and left < 0:
                break
            if chunk:  # an empty chunk would mean the end of the body
                yield b"%x\r\n%b\r\n" % (len(chunk), chunk) if chunked else chunk
    if chunked:
        yield b"0\r\n\r\n"
    elif left:
        raise httpx.LocalProtocolError(WRONG_LENGTH)


class BodyTooLongError(Exception):
    """A body has more bytes than allowed."""


async def read_response_body(response: httpx.Response, limit: int) -> bytes:
    """Read the whole body of a response, and end its exchange.

    Raises:
        BodyTooLongError: it has more than `limit` bytes.
        httpx.TransportError: the connection ended before the end of the body.
    """
    stream = response.stream
    try:
        if isinstance(stream, Exchange) and (parsed := stream.response) and parsed.complete:
            body = parsed.take_body()
            if len(body) > limit:
                raise BodyTooLongError
            return body
        if isinstance(stream, Exchange | BoundedDecompressor):  # without httpx's layers
            return await _join(stream, limit)
        async with aclosing(cast("AsyncGenerator[bytes]", response.aiter_bytes())) as chunks:
            return await _join(chunks, limit)
    finally:
        await (stream if isinstance(stream, Exchange) else response).aclose()


async def _join(stream: AsyncIterable[bytes], limit: int) -> bytes:
    chunks: list[bytes] = []
    size = 0
    async for chunk in stream:
        size += len(chunk)
        if size > limit:
            raise BodyTooLongError
        chunks.append(chunk)
    return b"".join(chunks)


def take_coding(headers: list[tuple[bytes, bytes]]) -> str:
    """Remove the content codings from the headers; return them, or "" if the body has none."""
    codings: list[bytes] = []
    for name, value in headers:
        if name.lower() == b"content-encoding":
            codings.append(value)
    if not codings:
        return ""
    headers[:] = [field for field in headers if field[0].lower() != b"content-encoding"]
    named = b", ".join(codings).decode("latin-1").strip().lower()
    return "" if named == "identity" else named


class BoundedDecompressor(httpx.AsyncByteStream):
    """Decompresses a response body with a single gzip or deflate coding.

    The client's `Accept-Encoding` offers no other coding.
    """

    def __init__(self, compressed: httpx.AsyncByteStream, coding: str) -> None:
        self._compressed = compressed
        self._coding = coding
        self._chunks: AsyncIterator[bytes] = aiter(compressed)
        self._decompressor: _Decompress | None = None
        self._rest = b""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        """Decompress the next piece.

        Raises:
            httpx.DecodingError: the coding is unknown, the body is invalid or cut off, or other data follows it.
        """
        while not self._rest:
            self._rest = await anext(self._chunks, b"")
            if not self._rest:
                if self._decompressor is not None and not self._decompressor.eof:
                    raise httpx.DecodingError("the compressed body is truncated")
                raise StopAsyncIteration
        decompressor = self._decompressor = self._decompressor or _make_decompressor(self._coding, self._rest)
        if decompressor.eof:  # zlib would buffer all data after the end
            raise httpx.DecodingError("data follows the compressed body")
        try:
            piece = decompressor.decompress(self._rest, _STEP)
        except zlib.error as error:
            raise httpx.DecodingError(f"the body does not match its content-encoding: {error}") from None
        self._rest = decompressor.unconsumed_tail or decompressor.unused_data
        return piece

    async def aclose(self) -> None:
        await self._compressed.aclose()


def _make_decompressor(coding: str, start: bytes) -> "_Decompress":
    if coding not in _CODINGS:
        raise httpx.DecodingError(f"the body is encoded as {coding!r}, which was not offered")
    has_header = start[:1] in (b"\x1f", b"\x78")  # some servers send `deflate` without one
    return zlib.decompressobj(32 + zlib.MAX_WBITS if has_header else -zlib.MAX_WBITS)
