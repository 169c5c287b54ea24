"""`Exchange`: one request and its answer on a connection of a lane.

The law of this file: a connection is used again only if nothing came in behind its last answer, and nothing is sent
twice.
"""

import contextlib
import functools
import operator
import ssl
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Awaitable, Callable, Generator, Mapping
from typing import Any, cast

import anyio
import attrs
import httpcore
import httpx

from gateway_async._net.lane import Lane, Origin, close
from gateway_async._net.progress import Progress, Stage

__all__ = ["Exchange", "extensions_of", "httpx_errors"]

_Trace = Callable[[str, Any], Awaitable[None]]

_ERRORS: Mapping[type[Exception], type[httpx.TransportError]] = {
    httpcore.TimeoutException: httpx.TimeoutException,
    httpcore.PoolTimeout: httpx.PoolTimeout,
    httpcore.ConnectTimeout: httpx.ConnectTimeout,
    httpcore.ReadTimeout: httpx.ReadTimeout,
    httpcore.WriteTimeout: httpx.WriteTimeout,
    httpcore.NetworkError: httpx.NetworkError,
    httpcore.ConnectError: httpx.ConnectError,
    httpcore.ReadError: httpx.ReadError,
    httpcore.WriteError: httpx.WriteError,
    httpcore.ProtocolError: httpx.ProtocolError,
    httpcore.LocalProtocolError: httpx.LocalProtocolError,
    httpcore.RemoteProtocolError: httpx.RemoteProtocolError,
    httpcore.UnsupportedProtocol: httpx.UnsupportedProtocol,
    httpcore.ProxyError: httpx.ProxyError,
    # What httpcore lets through: a broken TLS record, and a connection that we close in its TLS handshake.
    ssl.SSLError: httpx.NetworkError,
    anyio.ClosedResourceError: httpx.NetworkError,
}

# What httpcore has read beyond an answer, and whether that was the end: there is no public name for it.
_bytes_behind = operator.attrgetter("_connection._h11_state.trailing_data")


@attrs.define(eq=False)
class Exchange(httpx.AsyncByteStream):
    """One request and its answer, from asking for a place until the answer is read or dropped.

    It borrows the place, holds the connection, follows httpcore's trace and is the body of the answer: one
    object, since thousands may wait.
    """

    lane: Lane
    question: httpcore.Request
    extensions: dict[str, Any]
    progress: Progress | None
    caller_trace: _Trace | None
    connection: httpcore.AsyncHTTPConnection | None = None
    tcp_stream: httpcore.AsyncNetworkStream | None = None
    answer: httpcore.Response | None = None
    dialling: bool = False
    finished: bool = False

    async def begin(self) -> httpcore.Response:
        """Wait for a place, send the request and read the head of its answer; or fail, and leave nothing."""
        self._reached(Stage.QUEUED)
        await self._borrow(self.lane.places)
        try:
            self._reached(Stage.CONNECTING)
            # An upload that ends halfway would leave its generator to the garbage collector.
            async with contextlib.aclosing(cast("AsyncGenerator[bytes]", self.question.stream)):
                self.answer = await self._ask()
        except BaseException:
            await self.aclose()
            raise
        self._reached(Stage.ANSWERED)
        return self.answer

    async def _ask(self) -> httpcore.Response:
        while True:
            try:
                if (connection := await self.lane.take(self._origin)) is None:
                    return await self._dial()
                return await self._ask_on(connection)
            except httpcore.ConnectionNotAvailable:  # closed since its last answer; nothing is written
                await self.hang_up()

    async def _dial(self) -> httpcore.Response:
        await self._borrow(self.lane.dials)
        self.dialling = True
        try:
            self.lane.check_open()
            return await self._ask_on(self.lane.open(self.question.url.origin))
        finally:
            self._dialled()

    async def _ask_on(self, connection: httpcore.AsyncHTTPConnection) -> httpcore.Response:
        self.connection = connection
        if self.progress is not None:
            self.progress.discard = functools.partial(close, connection)
        if self.progress is not None or self.dialling:
            self.extensions["trace"] = self._follow
        return await connection.handle_async_request(self.question)

    async def _follow(self, event: str, info: Mapping[str, Any]) -> None:
        """Learn from httpcore's trace when there is a connection, and when the first byte is due."""
        if event == "connection.connect_tcp.complete":
            self.tcp_stream = info["return_value"]
            self.lane.check_open()
        elif event == "http11.send_request_headers.started":
            self._dialled()
            self._reached(Stage.SENDING)
        if self.caller_trace is not None:
            await self.caller_trace(event, info)

    def _dialled(self) -> None:
        if self.dialling:
            self.dialling = False
            self.lane.dials.release_on_behalf_of(self)

    def _reached(self, stage: Stage) -> None:
        if self.progress is not None:
            self.progress.stage = stage

    async def _borrow(self, limiter: anyio.CapacityLimiter) -> None:
        with contextlib.suppress(anyio.WouldBlock):
            return limiter.acquire_on_behalf_of_nowait(self)
        seconds = self.extensions.get("timeout", {}).get("pool")
        try:
            with anyio.fail_after(seconds):
                await limiter.acquire_on_behalf_of(self)
        except TimeoutError:
            raise httpx.PoolTimeout(f"no connection was free within {seconds} seconds") from None

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self.answer is not None:
            with httpx_errors():
                async for chunk in cast("AsyncIterable[bytes]", self.answer.stream):
                    yield chunk

    async def aclose(self) -> None:
        """End the exchange, once; keep the connection if it is fit for another call."""
        if not self.finished:
            self.finished = True
            try:
                if self.answer is not None:
                    await self.answer.aclose()
            finally:
                await self._leave()

    async def _leave(self) -> None:
        try:
            if (connection := self._fit_connection()) is not None:
                await self.lane.keep(self._origin, connection)
            else:
                await self.hang_up()
        finally:
            self.lane.places.release_on_behalf_of(self)

    def _fit_connection(self) -> httpcore.AsyncHTTPConnection | None:
        if self.answer is None or self.connection is None or not self.connection.is_available():
            return None
        return self.connection if _is_silent(self.connection, self.answer) else None

    async def hang_up(self) -> None:
        """Close the connection; also its socket, which httpcore forgets when a TLS handshake is cancelled."""
        for part in (self.connection, self.tcp_stream):
            if part is not None:
                await close(part)

    @property
    def _origin(self) -> Origin:
        url = self.question.url
        return url.scheme, url.host, url.port


def extensions_of(answer: httpcore.Response) -> dict[str, Any]:
    return cast("dict[str, Any]", answer.extensions)  # pyright: ignore[reportUnknownMemberType]  half untyped there


def _is_silent(connection: httpcore.AsyncHTTPConnection, answer: httpcore.Response) -> bool:
    """Whether nothing came in behind the answer, which would pass for the next call's."""
    tls = extensions_of(answer)["network_stream"].get_extra_info("ssl_object")
    return _bytes_behind(connection) == (b"", False) and (tls is None or _is_drained(tls))


def _is_drained(tls: ssl.SSLObject) -> bool:
    try:
        tls.read(1)
    except ssl.SSLError as error:
        return isinstance(error, ssl.SSLWantReadError)
    return False


@contextlib.contextmanager
def httpx_errors() -> Generator[None]:
    """Raise httpx's counterpart of a network error, with its message."""
    try:
        yield
    except tuple(_ERRORS) as error:
        counterpart = next(_ERRORS[kind] for kind in type(error).__mro__ if kind in _ERRORS)
        raise counterpart(str(error)) from error
