"""The connections: two lanes of them, and an honest word on how far each request got.

The law of this file: a call costs constant time however many others wait; however a call ends, its place
comes back; a connection is used again only if nothing came in behind its last answer; nothing is sent twice.
"""

import contextlib
import functools
import operator
import socket
import ssl
from collections import defaultdict, deque
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Awaitable, Callable, Generator, Mapping
from typing import Any, Final, cast

import anyio
import attrs
import httpcore
import httpx

from gateway_async._net.progress import PROGRESS, Progress, Stage

__all__ = ["LANE", "PooledTransport"]

LANE: Final = "gateway_async.lane"
"""The request extension that names the lane: "ordinary" (the default) or "terminal"."""

_CLOSE_WITHIN = 2.0
"""Seconds that closing one connection may take."""

_DIALS_AT_ONCE = 200
"""New connections that a lane sets up at a time, so that the event loop breathes while thousands begin."""

_IDLE_TERMINALS = 100
"""Terminal connections kept for the next call, of the thousands that may be in use at once."""

# A terminal is silent for minutes: probes keep routers from forgetting the connection, and find a dead peer.
_SOCKET_OPTIONS = [
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
    *(
        (socket.IPPROTO_TCP, getattr(socket, option), value)
        for option, value in {
            "TCP_KEEPIDLE": 30,
            "TCP_KEEPALIVE": 30,  # macOS's word for TCP_KEEPIDLE
            "TCP_KEEPINTVL": 10,
            "TCP_KEEPCNT": 3,
        }.items()
        if hasattr(socket, option)
    ),
]

# The same network code on asyncio and trio; httpcore's own for trio loses the reason of a failed TLS handshake.
_BACKEND = cast("httpcore.AsyncNetworkBackend", httpcore.AnyIOBackend())

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

_Origin = tuple[bytes, bytes, int | None]
_Trace = Callable[[str, Any], Awaitable[None]]


class PooledTransport(httpx.AsyncBaseTransport):
    """HTTP/1.1 over kept connections, on asyncio and trio.

    Ordinary calls and calls that wait at a terminal have connections of their own, so that neither waits for
    the other. Time-outs are httpx's: `pool` bounds the wait for a place, and once more the wait to set up a
    connection. It never repeats a request, follows no redirect and uses no proxy: for a proxy, pass
    `transport=httpx.AsyncHTTPTransport(proxy=...)` to the client.

    Args:
        max_connections: Ordinary calls at once.
        max_terminals: Calls that wait at a terminal at once.
        verify: As in httpx: True, False, the path of a CA bundle, or an `ssl.SSLContext`.
        keepalive_expiry: Seconds that an unused connection is kept: less than the 5 after which many servers
            close theirs, as a write into a closing door has an unknown outcome.
    """

    def __init__(
        self,
        *,
        max_connections: int = 100,
        max_terminals: int = 5000,
        verify: ssl.SSLContext | str | bool = True,
        keepalive_expiry: float = 4.0,
    ) -> None:
        self._verify = verify
        self._keepalive_expiry = keepalive_expiry
        self._lanes = {
            "ordinary": _Lane(self._open, max_connections, max_idle=max_connections),
            "terminal": _Lane(self._open, max_terminals, max_idle=_IDLE_TERMINALS),
        }

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request, once, and return when the head of its answer was read.

        Raises:
            httpx.TransportError: The request failed; its `Progress` says how far it got.
            RuntimeError: The transport is closed.
        """
        lane = self._lanes[request.extensions.get(LANE, "ordinary")]
        extensions = dict(request.extensions)
        exchange = _Exchange(
            lane,
            _question(request, extensions),
            extensions,
            progress=extensions.get(PROGRESS),
            caller_trace=extensions.get("trace"),
        )
        with _httpx_errors():
            answer = await exchange.begin()
        return httpx.Response(answer.status, headers=answer.headers, stream=exchange, extensions=_extensions(answer))

    async def aclose(self) -> None:
        """Close every connection, also those in use; bounded in time, and not stopped by cancellation."""
        with anyio.CancelScope(shield=True):
            for lane in self._lanes.values():
                await lane.aclose()

    def _open(self, origin: httpcore.Origin) -> httpcore.AsyncHTTPConnection:
        return httpcore.AsyncHTTPConnection(
            origin,
            ssl_context=self._ssl_context if origin.scheme == b"https" else None,
            keepalive_expiry=self._keepalive_expiry,
            network_backend=_BACKEND,
            socket_options=_SOCKET_OPTIONS,
        )

    @functools.cached_property
    def _ssl_context(self) -> ssl.SSLContext:
        # Loading the trusted certificates takes tens of milliseconds: not before the first https call.
        return httpx.create_ssl_context(verify=self._verify)


class _Lane:
    """The connections of one kind of call: places for those in use, a stack of idle ones for each origin."""

    def __init__(
        self, open_: Callable[[httpcore.Origin], httpcore.AsyncHTTPConnection], size: int, *, max_idle: int
    ) -> None:
        self.open = open_
        self.places = anyio.CapacityLimiter(size)
        self.dials = anyio.CapacityLimiter(_DIALS_AT_ONCE)
        self.idle: defaultdict[_Origin, deque[httpcore.AsyncHTTPConnection]] = defaultdict(deque)
        self.max_idle = max_idle
        self.closed = False

    def check_open(self) -> None:
        if self.closed:
            raise RuntimeError("the transport is closed")

    async def take(self, origin: _Origin) -> httpcore.AsyncHTTPConnection | None:
        """Give the newest idle connection that is still good; close the ones above it."""
        idle = self.idle[origin]
        while idle:
            connection = idle.pop()
            if not connection.has_expired():
                return connection
            await _close(connection)
        return None

    async def keep(self, origin: _Origin, connection: httpcore.AsyncHTTPConnection) -> None:
        """Put a connection on its stack; close the oldest while they are too many or too old."""
        idle = self.idle[origin]
        idle.append(connection)
        while len(idle) > 1 and (len(idle) > self.max_idle or idle[0].has_expired()):
            await _close(idle.popleft())

    async def aclose(self) -> None:
        """Close what is idle and what is in use; whoever still waits for a place is refused it."""
        self.closed = True
        idle = [connection for stack in self.idle.values() for connection in stack]
        self.idle.clear()
        exchanges = cast("tuple[_Exchange, ...]", self.places.statistics().borrowers)
        async with anyio.create_task_group() as closing:
            for connection in idle:
                closing.start_soon(_close, connection)
            for exchange in exchanges:
                closing.start_soon(exchange.hang_up)


@attrs.define(eq=False)
class _Exchange(httpx.AsyncByteStream):
    """One request and its answer, from asking for a place until the answer is read or dropped.

    It borrows the place, holds the connection, follows httpcore's trace and is the body of the answer: one
    object, since thousands may wait.
    """

    lane: _Lane
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
            self.progress.discard = functools.partial(_close, connection)
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
            with _httpx_errors():
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
                await _close(part)

    @property
    def _origin(self) -> _Origin:
        url = self.question.url
        return url.scheme, url.host, url.port


async def _close(part: httpcore.AsyncHTTPConnection | httpcore.AsyncNetworkStream) -> None:
    with anyio.move_on_after(_CLOSE_WITHIN, shield=True), contextlib.suppress(Exception):
        await part.aclose()


def _question(request: httpx.Request, extensions: dict[str, Any]) -> httpcore.Request:
    url = request.url
    if url.scheme not in ("http", "https"):
        raise httpx.UnsupportedProtocol(f"a URL starts with http:// or https://, not with {url.scheme!r}")
    return httpcore.Request(
        request.method,
        httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
        headers=request.headers.raw,
        content=aiter(cast("AsyncIterable[bytes]", request.stream)),
        extensions=extensions,
    )


def _extensions(answer: httpcore.Response) -> dict[str, Any]:
    return cast("dict[str, Any]", answer.extensions)  # pyright: ignore[reportUnknownMemberType]  half untyped there


def _is_silent(connection: httpcore.AsyncHTTPConnection, answer: httpcore.Response) -> bool:
    """Whether nothing came in behind the answer, which would pass for the next call's."""
    tls = _extensions(answer)["network_stream"].get_extra_info("ssl_object")
    return _bytes_behind(connection) == (b"", False) and (tls is None or _is_drained(tls))


def _is_drained(tls: ssl.SSLObject) -> bool:
    try:
        tls.read(1)
    except ssl.SSLError as error:
        return isinstance(error, ssl.SSLWantReadError)
    return False


@contextlib.contextmanager
def _httpx_errors() -> Generator[None]:
    """Raise httpx's counterpart of a network error, with its message."""
    try:
        yield
    except tuple(_ERRORS) as error:
        counterpart = next(_ERRORS[kind] for kind in type(error).__mro__ if kind in _ERRORS)
        raise counterpart(str(error)) from error
