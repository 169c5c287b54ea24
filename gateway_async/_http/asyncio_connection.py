"""`AsyncioConnection`: a connection on asyncio, as an `asyncio.Protocol` with llhttp.

The event loop reports data, EOF and a lost connection by callbacks, also while the connection is idle.
"""

import asyncio
import ipaddress
import socket
import ssl
from collections.abc import AsyncIterator
from typing import Final, cast

import anyio.lowlevel
import httpx
from aiohappyeyeballs import start_connection

from gateway_async._http.connection import (
    CLOSED_EARLY,
    SPOKE_FIRST,
    Connection,
    has_pending_input,
    set_options,
)
from gateway_async._http.proxy import Proxy, Tunnel
from gateway_async._http.response_parser import ResponseParser

_MAX_BUFFERED: Final = 256 * 1024
"""Bytes of a body that are buffered before reading pauses."""

_NEXT_ADDRESS_SECONDS: Final = 0.25
"""Seconds after which the next address of a host is tried at the same time (RFC 8305)."""

_PROXY_BYTES: Final = 4096
"""Bytes of a proxy's response that are read at once."""

_IPV6: Final = 6
_Address = tuple[int, int, int, str, tuple[str, int] | tuple[str, int, int, int]]


class AsyncioConnection(Connection, asyncio.Protocol):
    """One connection, idle or with one exchange."""

    __slots__ = (
        "_error",
        "_in_exchange",
        "_invalid",
        "_is_reading_paused",
        "_is_writing_paused",
        "_loop",
        "_raw",
        "_response",
        "_sent",
        "_transport",
        "_usable",
        "_waiter",
    )

    def __init__(self, raw: socket.socket) -> None:
        super().__init__()
        self._raw = raw
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport
        self._usable = True
        self._in_exchange = False
        self._sent = False
        self._is_reading_paused = False
        self._is_writing_paused = False
        self._response: ResponseParser | None = None
        self._error: httpx.TransportError | None = None
        self._invalid: httpx.RemoteProtocolError | None = None
        self._waiter: asyncio.Future[None] | None = None

    @property
    def idle_seconds(self) -> float:
        return self._loop.time() - self._idle_since

    @property
    def is_open(self) -> bool:
        # The event loop may not have reported yet what arrived since its last round.
        return self._usable and not has_pending_input(self._raw)

    @property
    def is_silent(self) -> bool:
        """Whether the event loop has reported neither data nor EOF."""
        return self._usable

    async def send(self, start: bytes, rest: AsyncIterator[bytes] | None) -> None:
        self._in_exchange = True
        if self._usable:
            self._transport.write(start)
        if rest is not None:
            async for chunk in rest:
                if not await self._is_writable():
                    return
                self._transport.write(chunk)
        self._sent = await self._is_writable()

    async def _is_writable(self) -> bool:
        """Wait until more can be written; return False after a failure, or a whole or long early response."""
        while self._usable and not self._is_reading_paused and not (self._response and self._response.complete):
            if not self._is_writing_paused:
                return True
            await self._event()
        return False

    async def head(self, *, bodiless: bool) -> ResponseParser:
        while (response := self._response) is None or not response.head_seen:
            await self._event()
        if self._invalid is not None:
            raise self._invalid
        if bodiless:
            response.end_after_head()
        return response

    async def read(self) -> bytes:
        response = self._response
        while response is not None:
            if chunk := response.take_body():
                self._resume_reading()
                return chunk
            if response.complete:
                break
            await self._event()
        return b""

    def _event(self) -> asyncio.Future[None]:
        """Return a future of the next callback; raise the error of a connection that has ended."""
        if self._error is not None:
            raise self._error
        self._waiter = self._loop.create_future()
        return self._waiter

    def _resume_reading(self) -> None:
        if self._is_reading_paused:
            self._is_reading_paused = False
            self._transport.resume_reading()

    def finish(self) -> bool:
        response = self._response
        reusable = (
            self._sent
            and self._usable
            and response is not None
            and response.reusable
            and not self._is_reading_paused
            and not self._transport.get_write_buffer_size()
        )
        self._in_exchange = self._sent = False
        self._response = None
        self._idle_since = self._loop.time()
        return reusable

    async def aclose(self) -> None:
        self._usable = False
        self._transport.abort()
        await anyio.lowlevel.cancel_shielded_checkpoint()  # the socket is closed in the event loop's next round

    def _end(self, error: httpx.TransportError) -> None:
        self._usable = False
        self._error = self._error or error
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    # --- callbacks of asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is not a subclass

    def data_received(self, data: bytes) -> None:
        if not self._in_exchange:
            self._usable = False  # unsolicited: it would be mistaken for the response to the next request
            self._transport.abort()
            return
        response = self._response = self._response or ResponseParser()
        try:
            response.feed(data)
        except httpx.RemoteProtocolError as error:
            self._invalid = error
            self._end(error)
            return
        if response.buffered_bytes > _MAX_BUFFERED and not self._is_reading_paused:
            self._is_reading_paused = True
            self._transport.pause_reading()
        if response.head_seen:
            self._wake()

    def eof_received(self) -> None:
        if self._response is not None and not self._response.complete:
            self._response.end_at_eof()
        self._end(httpx.RemoteProtocolError(CLOSED_EARLY))

    def connection_lost(self, exc: Exception | None) -> None:
        self._end(httpx.ReadError(str(exc or "") or "the connection is lost"))

    def pause_writing(self) -> None:
        self._is_writing_paused = True

    def resume_writing(self) -> None:
        self._is_writing_paused = False
        self._wake()


async def connect(host: str, port: int, tls: ssl.SSLContext | None, proxy: Proxy | None) -> AsyncioConnection:
    """Open a connection, through a proxy if there is one.

    Raises:
        httpx.ConnectError: it cannot be opened or trusted, or the server sent data first.
        httpx.ProxyError: the proxy refused.
    """
    loop = asyncio.get_running_loop()
    try:
        addresses = await _resolve(loop, *((host, port) if proxy is None else (proxy.host, proxy.port)))
        raw = await start_connection(addresses, happy_eyeballs_delay=_NEXT_ADDRESS_SECONDS)
        try:
            set_options(raw)
            if proxy is not None:
                await _open_tunnel(loop, raw, proxy.connect_request(host, port))
        except BaseException:
            raw.close()
            raise
        _, connection = await loop.create_connection(
            lambda: AsyncioConnection(raw), sock=raw, ssl=tls, server_hostname=host if tls else None
        )
    except OSError as error:
        raise httpx.ConnectError(str(error) or "the handshake was interrupted") from error
    # TLS sends session tickets, so bytes that are still encrypted prove nothing.
    if not (connection.is_open if tls is None else connection.is_silent):
        await connection.aclose()
        raise httpx.ConnectError(SPOKE_FIRST)
    return connection


async def _open_tunnel(loop: asyncio.AbstractEventLoop, raw: socket.socket, connect_request: bytes) -> None:
    await loop.sock_sendall(raw, connect_request)
    tunnel = Tunnel()
    while not tunnel.is_open:
        tunnel.feed(await loop.sock_recv(raw, _PROXY_BYTES))


async def _resolve(loop: asyncio.AbstractEventLoop, host: str, port: int) -> list[_Address]:
    """Return a host's addresses; an IP address is not looked up."""
    try:
        family = socket.AF_INET6 if ipaddress.ip_address(host).version == _IPV6 else socket.AF_INET
    except ValueError:
        family = socket.AF_UNSPEC
    if family is socket.AF_UNSPEC or "%" in host:  # a zone such as %eth0 has to be looked up, too
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
        return cast("list[_Address]", found)
    return [(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (host, port))]
