"""`Exchange`: one request and its response on a connection of a pool."""

import contextlib
import ssl
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator
from typing import Final, Self, cast

import attrs
import httpx

from gateway_async._http.connection import Connection
from gateway_async._http.messages import WRONG_LENGTH, Origin
from gateway_async._http.pool import ConnectionPool, Timeouts, within
from gateway_async._http.progress import Progress, Stage
from gateway_async._http.response_parser import ResponseParser

_CLOSED: Final = "the server closed the connection before the request"


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
        """Send a request whose body is read in chunks; the rest is as for `send`."""
        async with contextlib.aclosing(_encode_body(request)) as body:
            # Read the body's first chunks now, so that writing starts as soon as there is a connection.
            chunks = [start, await anext(body, b""), await anext(body, b"")]
            await self.send(b"".join(chunks), body)

    async def head(self, *, bodiless: bool) -> ResponseParser:
        """Wait for the head of the response.

        A `bodiless` response is complete after its head. On failure, the connection is released.
        """
        connection = cast("Connection", self.connection)
        try:
            response = self.response = await within(
                self.timeouts.get("read"), connection.head(bodiless=bodiless), httpx.ReadTimeout
            )
            self.progress.stage = Stage.RESPONSE_STARTED
            if self.pool.staggered:
                await self.pool.wait_to_read()
        except BaseException:
            await self.aclose()
            raise
        return response

    def take_complete_body(self) -> bytes | None:
        """Return the whole body if it has arrived, otherwise None."""
        response = self.response
        return response.take_body() if response is not None and response.complete else None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        if self.connection is not None and (
            chunk := await within(self.timeouts.get("read"), self.connection.read(), httpx.ReadTimeout)
        ):
            return chunk
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """End the exchange; give the connection back to the pool.

        A second call does nothing.
        """
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
    async with contextlib.aclosing(
        cast("AsyncGenerator[bytes]", aiter(cast("AsyncIterable[bytes]", request.stream)))
    ) as chunks:
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
