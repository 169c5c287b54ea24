"""`Exchange`: one request and its answer on a connection of a lane."""

import contextlib
import re
import ssl
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator
from contextlib import AbstractContextManager
from typing import Final, Self, cast

import anyio
import attrs
import httpx

from gateway_async._net.answer import Answer
from gateway_async._net.connection import Connection, connect
from gateway_async._net.lane import Lane, Origin
from gateway_async._net.progress import Progress, Stage

__all__ = ["Exchange"]

_LATE: Final = "not in time"
_UNBOUND: Final = contextlib.nullcontext()
_UNSENDABLE: Final = re.compile(rb"[\r\n\0]")


@attrs.define(eq=False)
class Exchange(httpx.AsyncByteStream):
    """One request and its answer, from asking for a place until the answer is read or dropped.

    It borrows the place, holds the connection and is the body of the answer: one object, since thousands may wait.
    """

    lane: Lane
    origin: Origin
    tls: ssl.SSLContext | None
    timeouts: dict[str, float | None]
    progress: Progress | None
    connection: Connection | None = None
    placed: bool = False

    async def send(self, request: httpx.Request) -> None:
        """Wait for a place and send the request; or fail, and leave nothing. It keeps nothing of the request."""
        head = _head(request)
        try:
            self._reached(Stage.QUEUED)
            await self._borrow(self.lane.places)
            self.placed = True
            self._reached(Stage.CONNECTING)
            async with contextlib.aclosing(_measured(request)) as body:
                # Read ahead, so that nothing stands between taking a connection and writing.
                start, more = head + await anext(body, b""), await anext(body, b"")
                self.connection = await self.lane.take(self.origin) or await self._dial()
                self.lane.check_open()  # it may have been closed while the connection came about
                if self.progress is not None:
                    self.progress.discard = self.connection.aclose
                await self._write(self.connection, start, more, body)
        except BaseException:
            await self.aclose()
            raise

    async def head(self, *, bodiless: bool) -> Answer:
        """Wait for the head of the answer, which is all of it if it is `bodiless`; or fail, and leave nothing."""
        connection = cast("Connection", self.connection)
        try:
            with self._bound("read"):
                answer = await connection.head(bodiless=bodiless)
                self._reached(Stage.ANSWERED)
                return answer
        except BaseException:
            await self.aclose()
            raise
        await self.aclose()
        raise httpx.ReadTimeout(_LATE)

    async def _dial(self) -> Connection:
        await self._borrow(self.lane.dials)
        try:
            self.lane.check_open()
            with anyio.move_on_after(self.timeouts.get("connect")) as scope:
                self.lane.dialling.add(scope)
                try:
                    connection = await connect(self.origin[1], self.origin[2], self.tls)
                finally:
                    self.lane.dialling.discard(scope)
                self.lane.busy.add(connection)
                return connection
            raise httpx.ConnectTimeout(_LATE)
        finally:
            self.lane.dials.release_on_behalf_of(self)

    async def _write(self, connection: Connection, start: bytes, more: bytes, rest: AsyncIterator[bytes]) -> None:
        self._reached(Stage.SENDING)
        with self._bound("write"):
            return await connection.send(start, more, rest)
        raise httpx.WriteTimeout(_LATE)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        with self._bound("read"):
            if self.connection is not None and (chunk := await self.connection.read()):
                return chunk
            raise StopAsyncIteration
        raise httpx.ReadTimeout(_LATE)

    async def aclose(self) -> None:
        """End the exchange, once; keep the connection if it is fit for another call."""
        connection, self.connection = self.connection, None
        try:
            if connection is not None:
                await self.lane.give_back(self.origin, connection)
        finally:
            if self.placed:
                self.placed = False
                self.lane.places.release_on_behalf_of(self)

    def _reached(self, stage: Stage) -> None:
        if self.progress is not None:
            self.progress.stage = stage

    async def _borrow(self, limiter: anyio.CapacityLimiter) -> None:
        try:
            limiter.acquire_on_behalf_of_nowait(self)
        except anyio.WouldBlock:
            with self._bound("pool"):
                return await limiter.acquire_on_behalf_of(self)
            raise httpx.PoolTimeout(_LATE) from None

    def _bound(self, phase: str) -> AbstractContextManager[object, bool | None]:
        """Ends a block that takes longer than its phase may; what follows the block says so."""
        seconds = self.timeouts.get(phase)
        return _UNBOUND if seconds is None else anyio.move_on_after(seconds)


def _head(request: httpx.Request) -> bytes:
    """Request line and headers.

    Raises:
        httpx.LocalProtocolError: one of them would be read as two.
    """
    lines = [b"%b %b HTTP/1.1" % (request.method.encode(), request.url.raw_path)]
    lines += [b"%b: %b" % field for field in request.headers.raw]
    if any(map(_UNSENDABLE.search, lines)):
        raise httpx.LocalProtocolError("a header holds a line break")
    return b"\r\n".join([*lines, b"", b""])


async def _measured(request: httpx.Request) -> AsyncGenerator[bytes]:
    """The body, chunked where its length is not told.

    Raises:
        httpx.LocalProtocolError: it has another length than the head says.
    """
    chunked, left = "transfer-encoding" in request.headers, int(request.headers.get("content-length", 0))
    # An upload that ends halfway would leave its generator to the garbage collector.
    async with contextlib.aclosing(
        cast("AsyncGenerator[bytes]", aiter(cast("AsyncIterable[bytes]", request.stream)))
    ) as chunks:
        async for chunk in chunks:
            left -= len(chunk)
            if not chunked and left < 0:
                break
            if chunk:  # an empty one would be taken for the end
                yield b"%x\r\n%b\r\n" % (len(chunk), chunk) if chunked else chunk
    if chunked:
        yield b"0\r\n\r\n"
    elif left:
        raise httpx.LocalProtocolError("the body has another length than its head says")
