"""`Exchange`: one request and its answer on a connection of a lane."""

import contextlib
import re
import ssl
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Generator
from typing import Final, Self, cast

import anyio
import attrs
import httpx

from gateway_async._net.answer import Answer
from gateway_async._net.connection import Connection, connect
from gateway_async._net.lane import Lane, Origin
from gateway_async._net.progress import Progress, Stage

__all__ = ["Exchange"]

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

    async def begin(self, request: httpx.Request) -> Answer:
        """Wait for a place, send the request and read the head of its answer; or fail, and leave nothing."""
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
                return await self._ask(request, start, more, body)
        except BaseException:
            await self.aclose()
            raise

    async def _dial(self) -> Connection:
        await self._borrow(self.lane.dials)
        try:
            self.lane.check_open()
            with _within(self.timeouts.get("connect"), httpx.ConnectTimeout) as scope:
                self.lane.dialling.add(scope)
                try:
                    connection = await connect(self.origin[1], self.origin[2], self.tls)
                finally:
                    self.lane.dialling.discard(scope)
                self.lane.busy.add(connection)
                return connection
        finally:
            self.lane.dials.release_on_behalf_of(self)

    async def _ask(self, request: httpx.Request, start: bytes, more: bytes, rest: AsyncIterator[bytes]) -> Answer:
        connection = cast("Connection", self.connection)
        self._reached(Stage.SENDING)
        with _within(self.timeouts.get("write"), httpx.WriteTimeout):
            await connection.send(start, more, rest)
        with _within(self.timeouts.get("read"), httpx.ReadTimeout):
            answer = await connection.head(bodiless=request.method == "HEAD")
        self._reached(Stage.ANSWERED)
        return answer

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        with _within(self.timeouts.get("read"), httpx.ReadTimeout):
            if self.connection is not None and (chunk := await self.connection.read()):
                return chunk
        raise StopAsyncIteration

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
            with _within(self.timeouts.get("pool"), httpx.PoolTimeout):
                await limiter.acquire_on_behalf_of(self)


@contextlib.contextmanager
def _within(seconds: float | None, kind: type[httpx.TimeoutException]) -> Generator[anyio.CancelScope]:
    with anyio.move_on_after(seconds) as scope:
        yield scope
    if scope.cancelled_caught:
        raise kind("not in time")


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
