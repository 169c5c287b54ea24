"""`Connection`: HTTP/1.1 over one byte stream, on asyncio as on trio: one exchange at a time, each request sent once.

The law of this file: nothing is read but the answer to what was sent. Whatever else comes in stays where it is, and the
connection is not used again.
"""

import functools
import select
import socket
import ssl
from collections.abc import AsyncIterator, Sized
from typing import Any, Final

import anyio
import anyio.abc
import httpx
from anyio.streams.tls import TLSAttribute, TLSStream

from gateway_async._net.answer import Answer
from gateway_async._net.beside import beside

__all__ = ["Connection", "connect"]

_LOST: Final = (anyio.BrokenResourceError, anyio.BusyResourceError, anyio.ClosedResourceError, OSError, ssl.SSLError)
_HEARD_EARLY: Final = 64 * 1024
"""Bytes of an answer that are taken in while the request is still written."""

_CLOSE_WITHIN: Final = 2.0
"""Seconds that closing may take."""

# A terminal is silent for minutes: probes keep routers from forgetting the connection, and find a dead peer.
_SOCKET_OPTIONS: Final = [
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


class Connection:
    """One connection, idle or carrying one exchange."""

    __slots__ = ("_answer", "_raw", "_read_ahead", "_sent", "_stream", "_tls", "idle_since")

    def __init__(self, stream: anyio.abc.ByteStream) -> None:
        self.idle_since = 0.0
        self._stream = stream
        self._raw: Any = stream.extra(anyio.abc.SocketAttribute.raw_socket)  # noqa: S610  anyio's, not Django's
        self._tls: Any = stream.extra(TLSAttribute.ssl_object, None)  # noqa: S610
        self._read_ahead = _read_ahead(stream)
        self._sent = False
        self._answer: Answer | None = None

    @property
    def is_open(self) -> bool:
        """Whether an exchange may begin: neither the end nor anything that nobody asked for has come in."""
        poll = select.poll()
        try:
            poll.register(self._raw.fileno(), select.POLLIN)
        except (ValueError, OSError):  # it is closed
            return False
        return not poll.poll(0)

    async def send(self, start: bytes, more: bytes, rest: AsyncIterator[bytes]) -> None:
        """Write a request, once. That it could not be written whole shows where its answer should be.

        Args:
            start: its first bytes: its head, and what else there is already.
            more: the next ones; none if `start` is all of it.
            rest: the others.
        """
        if more:
            await self._upload(start, more, rest)
        else:
            self._sent = await self._written(start)

    async def _upload(self, start: bytes, more: bytes, rest: AsyncIterator[bytes]) -> None:
        """Write and listen meanwhile: a server may answer before it has read everything, and close."""
        failures: list[httpx.TransportError] = []
        with anyio.CancelScope() as writing:
            async with beside(functools.partial(self._listen, writing, failures)):
                while start and await self._written(start):
                    start, more = more, await anext(rest, b"")
                self._sent = not start
        for failure in failures:
            raise failure

    async def _listen(self, writing: anyio.CancelScope, failures: list[httpx.TransportError]) -> None:
        """End the writing when the whole answer has come, or none will."""
        try:
            if await self._is_answered_early():
                writing.cancel()
        except httpx.TransportError as error:
            failures.append(error)
            writing.cancel()

    async def _is_answered_early(self) -> bool:
        self._answer = answer = Answer()
        heard = 0
        while not answer.complete and heard < _HEARD_EARLY:
            data = await self._received()
            heard += len(data)
            await self._fed(data)
        return answer.complete

    async def head(self, *, bodiless: bool) -> Answer:
        """Wait for the head of the answer.

        Args:
            bodiless: the answer has no body, whatever its head says.

        Raises:
            httpx.TransportError: the connection ended before it, or it is no HTTP.
        """
        if self._answer is None:
            data = await self._received()  # before there is anything to hold it: thousands may wait
            self._answer = Answer()
            await self._fed(data)
        while not self._answer.head_seen:
            await self._fed(await self._received())
        if bodiless:
            self._answer.end_here()
        return self._answer

    async def read(self) -> bytes:
        """Wait for more of the body; b"" at its end.

        Raises:
            httpx.TransportError: the connection ended before it.
        """
        answer = self._answer
        while answer is not None:
            if chunk := answer.take():
                return chunk
            if answer.complete:
                break
            await self._fed(await self._received())
        return b""

    def finish(self, now: float) -> bool:
        """End the exchange; whether another may follow: the request was sent whole, and its answer is all there was."""
        fit = self._sent and self._answer is not None and self._answer.may_follow
        fit = fit and not self._read_ahead and (self._tls is None or _is_drained(self._tls))
        self._sent, self._answer, self.idle_since = False, None, now
        return fit

    async def aclose(self) -> None:
        """Close at once, whatever is under way; bounded, not stopped by cancellation, and harmless when closed."""
        with anyio.move_on_after(_CLOSE_WITHIN, shield=True):
            try:
                await self._stream.aclose()
            except _LOST:
                return

    async def _written(self, data: bytes) -> bool:
        try:
            await self._stream.send(data)
        except _LOST:
            return False
        return True

    async def _received(self) -> bytes:
        try:
            return await self._stream.receive()
        except anyio.EndOfStream:
            return b""
        except _LOST as error:
            raise httpx.ReadError(str(error) or "the connection is lost") from error

    async def _fed(self, data: bytes) -> None:
        answer = self._answer
        if answer is not None and data:
            answer.feed(data)
        elif answer is None or not answer.ends_here():
            raise httpx.RemoteProtocolError("the server closed the connection before its answer was complete")


def _read_ahead(stream: Any) -> Sized:
    """What was read of the socket already: on asyncio, anyio holds back what one read gives beyond 64 KiB."""
    socket_stream = getattr(stream, "transport_stream", stream)
    return getattr(getattr(socket_stream, "_protocol", None), "read_queue", ())


def _is_drained(tls: ssl.SSLObject) -> bool:
    """Whether no decrypted byte waits for a reader."""
    try:
        tls.read(1)
    except ssl.SSLError as error:
        return isinstance(error, ssl.SSLWantReadError)
    return False


async def connect(host: str, port: int, tls: ssl.SSLContext | None) -> Connection:
    """Open a connection.

    Raises:
        httpx.ConnectError: it cannot be made, or not be trusted.
    """
    try:
        stream: anyio.abc.ByteStream = await anyio.connect_tcp(host, port)
    except OSError as error:
        raise httpx.ConnectError(str(error.__cause__ or error)) from error
    try:
        raw: Any = stream.extra(anyio.abc.SocketAttribute.raw_socket)  # noqa: S610
        for level, option, value in _SOCKET_OPTIONS:
            raw.setsockopt(level, option, value)
        if tls is not None:
            stream = await TLSStream.wrap(stream, hostname=host, ssl_context=tls, standard_compatible=False)
        return Connection(stream)
    except BaseException as error:
        with anyio.CancelScope(shield=True):
            await stream.aclose()
        if isinstance(error, (*_LOST, anyio.EndOfStream)):
            raise httpx.ConnectError(str(error.__cause__ or error) or "the handshake broke off") from error
        raise
