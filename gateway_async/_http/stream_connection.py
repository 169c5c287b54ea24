"""`StreamConnection`: a connection over an anyio byte stream, for trio."""

import functools
import ssl
from collections.abc import AsyncIterator
from typing import Any, Final

import anyio
import anyio.abc
import httpx
from anyio.streams.tls import TLSAttribute, TLSStream

from gateway_async._background import run_in_background
from gateway_async._http.connection import (
    CLOSED_EARLY,
    SPOKE_FIRST,
    Connection,
    has_pending_input,
    set_options,
)
from gateway_async._http.proxy import Proxy, Tunnel
from gateway_async._http.response_parser import ResponseParser

_LOST: Final = (anyio.BrokenResourceError, anyio.BusyResourceError, anyio.ClosedResourceError, OSError, ssl.SSLError)
_MAX_EARLY_BYTES: Final = 64 * 1024
"""Maximum bytes of a response that are read while the request is written."""

_CLOSING_SECONDS: Final = 2.0
"""Maximum seconds for closing."""


class StreamConnection(Connection):
    """One connection, idle or with one exchange."""

    __slots__ = ("_raw", "_response", "_sent", "_stream", "_tls")

    def __init__(self, stream: anyio.abc.ByteStream) -> None:
        super().__init__()
        self._stream = stream
        self._raw: Any = stream.extra(anyio.abc.SocketAttribute.raw_socket)  # noqa: S610  anyio's, not Django's
        self._tls: Any = stream.extra(TLSAttribute.ssl_object, None)  # noqa: S610
        self._sent = False
        self._response: ResponseParser | None = None

    @property
    def idle_seconds(self) -> float:
        return anyio.current_time() - self._idle_since

    @property
    def is_open(self) -> bool:
        return not has_pending_input(self._raw)

    @property
    def is_silent(self) -> bool:
        """Whether the server has sent nothing before the first request."""
        return self.is_open if self._tls is None else _is_drained(self._tls)  # TLS sends tickets unasked

    async def send(self, start: bytes, rest: AsyncIterator[bytes] | None) -> None:
        if rest is not None:
            await self._upload(start, rest)
        else:
            self._sent = await self._write(start)

    async def _upload(self, start: bytes, rest: AsyncIterator[bytes]) -> None:
        """Write a request and read at the same time.

        A server may respond before it has read everything, and close the connection.
        """
        failures: list[httpx.TransportError] = []
        with anyio.CancelScope() as writing:
            async with run_in_background(functools.partial(self._listen, writing, failures)):
                while start and await self._write(start):
                    start = await anext(rest, b"")
                self._sent = not start
        for failure in failures:
            raise failure

    async def _listen(self, writing: anyio.CancelScope, failures: list[httpx.TransportError]) -> None:
        """Stop writing after the whole response or a failure."""
        self._response = response = ResponseParser()
        received = 0
        try:
            while not response.complete:
                if received >= _MAX_EARLY_BYTES:
                    return
                data = await self._receive()
                received += len(data)
                self._feed(data)
        except httpx.TransportError as error:
            failures.append(error)
        writing.cancel()

    async def head(self, *, bodiless: bool) -> ResponseParser:
        if self._response is None:
            data = await self._receive()  # before a parser is created: thousands of calls may wait here
            self._response = ResponseParser()
            self._feed(data)
        while not self._response.head_seen:
            self._feed(await self._receive())
        if bodiless:
            self._response.end_after_head()
        return self._response

    async def read(self) -> bytes:
        response = self._response
        while response is not None:
            if chunk := response.take_body():
                return chunk
            if response.complete:
                break
            self._feed(await self._receive())
        return b""

    def finish(self) -> bool:
        reusable = self._sent and self._response is not None and self._response.reusable
        reusable = reusable and self.is_open and (self._tls is None or _is_drained(self._tls))
        self._sent, self._response, self._idle_since = False, None, anyio.current_time()
        return reusable

    async def aclose(self) -> None:
        with anyio.move_on_after(_CLOSING_SECONDS, shield=True):
            try:
                await self._stream.aclose()
            except _LOST:
                return

    async def _write(self, data: bytes) -> bool:
        try:
            await self._stream.send(data)
        except _LOST:
            return False
        return True

    async def _receive(self) -> bytes:
        try:
            return await self._stream.receive()
        except anyio.EndOfStream:
            return b""
        except _LOST as error:
            raise httpx.ReadError(str(error) or "the connection is lost") from error

    def _feed(self, data: bytes) -> None:
        response = self._response
        if response is not None and data:
            response.feed(data)
        elif response is None or not response.end_at_eof():
            raise httpx.RemoteProtocolError(CLOSED_EARLY)


def _is_drained(tls: ssl.SSLObject) -> bool:
    """Whether no decrypted byte is pending."""
    try:
        tls.read(1)
    except ssl.SSLError as error:
        return isinstance(error, ssl.SSLWantReadError)
    return False


async def connect(host: str, port: int, tls: ssl.SSLContext | None, proxy: Proxy | None) -> StreamConnection:
    """Open a connection, through a proxy if there is one.

    Raises:
        httpx.ConnectError: it cannot be opened or trusted, or the server sent data first.
        httpx.ProxyError: the proxy refused.
    """
    try:
        address = (host, port) if proxy is None else (proxy.host, proxy.port)
        stream: anyio.abc.ByteStream = await anyio.connect_tcp(*address)
    except OSError as error:
        raise httpx.ConnectError(str(error.__cause__ or error)) from error
    try:
        set_options(stream.extra(anyio.abc.SocketAttribute.raw_socket))  # noqa: S610
        if proxy is not None:
            await _open_tunnel(stream, proxy.connect_request(host, port))
        if tls is not None:
            stream = await TLSStream.wrap(stream, hostname=host, ssl_context=tls, standard_compatible=False)
    except BaseException as error:
        with anyio.CancelScope(shield=True):
            await stream.aclose()
        if isinstance(error, (*_LOST, anyio.EndOfStream)):
            raise httpx.ConnectError(str(error.__cause__ or error) or "the handshake was interrupted") from error
        raise
    connection = StreamConnection(stream)
    if not connection.is_silent:
        await connection.aclose()
        raise httpx.ConnectError(SPOKE_FIRST)
    return connection


async def _open_tunnel(stream: anyio.abc.ByteStream, connect_request: bytes) -> None:
    await stream.send(connect_request)
    tunnel = Tunnel()
    while not tunnel.is_open:
        try:
            tunnel.feed(await stream.receive())
        except anyio.EndOfStream:
            tunnel.feed(b"")
