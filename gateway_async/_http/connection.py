"""`Connection`: HTTP/1.1 over one byte stream, one exchange at a time.

It runs on asyncio and trio. Each request is sent once. Only the response to a sent request is read. If any other data
arrives, it is not read, and the connection is not reused.
"""

import functools
import select
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Final

import anyio
import anyio.abc
import httpx
from anyio.streams.tls import TLSAttribute, TLSStream

from gateway_async._http.background import run_in_background
from gateway_async._http.response_parser import ResponseParser

__all__ = ["Connection", "connect"]

_LOST: Final = (anyio.BrokenResourceError, anyio.BusyResourceError, anyio.ClosedResourceError, OSError, ssl.SSLError)
_MAX_EARLY_BYTES: Final = 64 * 1024
"""Maximum bytes of a response that are read while the request is written."""

_MAX_READ: Final = 64 * 1024
"""Maximum bytes for one read.

On asyncio, anyio may have read more and buffers it until the next read.
"""

_CLOSING_SECONDS: Final = 2.0
"""Maximum seconds for closing."""

# A terminal call is silent for minutes. Probes keep the connection alive in routers, and detect a dead peer.
_SOCKET_OPTIONS: Final = [
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
    *(
        (socket.IPPROTO_TCP, getattr(socket, option), value)
        for option, value in {
            "TCP_KEEPIDLE": 30,
            "TCP_KEEPALIVE": 30,  # macOS's name for TCP_KEEPIDLE
            "TCP_KEEPINTVL": 10,
            "TCP_KEEPCNT": 3,
        }.items()
        if hasattr(socket, option)
    ),
]


class Connection:
    """One connection, idle or with one exchange."""

    __slots__ = ("_raw", "_response", "_sent", "_socket_stream", "_stream", "_tls", "idle_since")

    def __init__(self, socket_stream: "_SocketStream", stream: anyio.abc.ByteStream) -> None:
        self.idle_since = 0.0
        self._socket_stream = socket_stream
        self._stream = stream
        self._raw: Any = stream.extra(anyio.abc.SocketAttribute.raw_socket)  # noqa: S610  anyio's, not Django's
        self._tls: Any = stream.extra(TLSAttribute.ssl_object, None)  # noqa: S610
        self._sent = False
        self._response: ResponseParser | None = None

    @property
    def is_open(self) -> bool:
        """Whether an idle connection is usable: no EOF and no unsolicited data is pending."""
        poll = select.poll()
        try:
            poll.register(self._raw.fileno(), select.POLLIN)
        except (ValueError, OSError):  # it is closed
            return False
        return not poll.poll(0)

    @property
    def sent_unsolicited_data(self) -> bool:
        """Whether the server sent data, or closed, before the first request.

        Such data would be mistaken for the response.
        """
        return not self.is_open if self._tls is None else not _is_drained(self._tls)  # TLS sends tickets unasked

    async def send(self, start: bytes, more: bytes, rest: AsyncIterator[bytes]) -> None:
        """Write a request, once.

        A lost connection raises nothing here. Reading the response then fails, or returns an early response.

        Args:
            start: its first bytes: the head, and the start of the body if there is one.
            more: the next bytes; empty if `start` is the whole request.
            rest: the remaining chunks.
        """
        if more:
            await self._upload(start, more, rest)
        else:
            self._sent = await self._write(start)

    async def _upload(self, start: bytes, more: bytes, rest: AsyncIterator[bytes]) -> None:
        """Write a request and read at the same time.

        A server may respond before it has read everything, and close the connection.
        """
        failures: list[httpx.TransportError] = []
        with anyio.CancelScope() as writing:
            async with run_in_background(functools.partial(self._listen, writing, failures)):
                while start and await self._write(start):
                    start, more = more, await anext(rest, b"")
                self._sent = not start
        for failure in failures:
            raise failure

    async def _listen(self, writing: anyio.CancelScope, failures: list[httpx.TransportError]) -> None:
        """Stop writing after the whole response or a failure."""
        try:
            if await self._receives_early_response():
                writing.cancel()
        except httpx.TransportError as error:
            failures.append(error)
            writing.cancel()

    async def _receives_early_response(self) -> bool:
        self._response = response = ResponseParser()
        received = 0
        while not response.complete and received < _MAX_EARLY_BYTES:
            data = await self._receive()
            received += len(data)
            await self._feed(data)
        return response.complete

    async def head(self, *, bodiless: bool) -> ResponseParser:
        """Wait for the head of the response.

        Args:
            bodiless: the response has no body, whatever its head says.

        Raises:
            httpx.TransportError: the connection ended before it, or the data is not HTTP.
        """
        if self._response is None:
            data = await self._receive()  # before a parser is created: thousands of calls may wait here
            self._response = ResponseParser()
            await self._feed(data)
        while not self._response.head_seen:
            await self._feed(await self._receive())
        if bodiless:
            self._response.end_after_head()
        return self._response

    async def read(self) -> bytes:
        """Wait for more of the body; return b"" at its end.

        Raises:
            httpx.TransportError: the connection ended before the end of the body.
        """
        response = self._response
        while response is not None:
            if chunk := response.take_body():
                return chunk
            if response.complete:
                break
            await self._feed(await self._receive())
        return b""

    def finish(self, now: float) -> bool:
        """End the exchange and return whether the connection can be reused.

        It can if the request was sent completely, and nothing but its response has arrived.
        """
        reusable = self._sent and self._response is not None and self._response.reusable
        reusable = reusable and not self._socket_stream.may_hold_more and (self._tls is None or _is_drained(self._tls))
        self._sent, self._response, self.idle_since = False, None, now
        return reusable

    async def aclose(self) -> None:
        """Close immediately, also during an exchange.

        Closing is bounded in time and shielded from cancellation. A second close is harmless.
        """
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

    async def _feed(self, data: bytes) -> None:
        response = self._response
        if response is not None and data:
            response.feed(data)
        elif response is None or not response.end_at_eof():
            raise httpx.RemoteProtocolError("the server closed the connection before its response was complete")


class _SocketStream(anyio.abc.ByteStream):
    """A socket's stream that knows whether anyio may still buffer data.

    Attributes:
        may_hold_more: whether the last read returned the maximum number of bytes.
    """

    __slots__ = ("_stream", "may_hold_more")

    def __init__(self, stream: anyio.abc.ByteStream) -> None:
        self._stream = stream
        self.may_hold_more = False

    async def receive(self, max_bytes: int = _MAX_READ) -> bytes:
        data = await self._stream.receive(max_bytes)
        self.may_hold_more = len(data) >= max_bytes
        return data

    async def send(self, item: bytes) -> None:
        await self._stream.send(item)

    async def send_eof(self) -> None:
        await self._stream.send_eof()

    async def aclose(self) -> None:
        await self._stream.aclose()

    @property
    def extra_attributes(self) -> Mapping[Any, Callable[[], Any]]:
        return self._stream.extra_attributes


def _is_drained(tls: ssl.SSLObject) -> bool:
    """Return whether no decrypted byte is pending."""
    try:
        tls.read(1)
    except ssl.SSLError as error:
        return isinstance(error, ssl.SSLWantReadError)
    return False


async def connect(host: str, port: int, tls: ssl.SSLContext | None) -> Connection:
    """Open a connection.

    Raises:
        httpx.ConnectError: it cannot be opened or trusted, or the server sent data first.
    """
    try:
        socket_stream = _SocketStream(await anyio.connect_tcp(host, port))
    except OSError as error:
        raise httpx.ConnectError(str(error.__cause__ or error)) from error
    stream: anyio.abc.ByteStream = socket_stream
    try:
        raw: Any = stream.extra(anyio.abc.SocketAttribute.raw_socket)  # noqa: S610
        for level, option, value in _SOCKET_OPTIONS:
            raw.setsockopt(level, option, value)
        if tls is not None:
            stream = await TLSStream.wrap(stream, hostname=host, ssl_context=tls, standard_compatible=False)
    except BaseException as error:
        with anyio.CancelScope(shield=True):
            await stream.aclose()
        if isinstance(error, (*_LOST, anyio.EndOfStream)):
            raise httpx.ConnectError(str(error.__cause__ or error) or "the handshake broke off") from error
        raise
    connection = Connection(socket_stream, stream)
    if connection.sent_unsolicited_data:
        await connection.aclose()
        raise httpx.ConnectError("the server sent data before the request")
    return connection
