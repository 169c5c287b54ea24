"""The connections: two lanes of them, and an honest word on how far each request got."""

import functools
import socket
import ssl
from collections.abc import AsyncIterable
from typing import Any, Final, cast

import anyio
import httpcore
import httpx

from gateway_async._net.exchange import Exchange, extensions_of, httpx_errors
from gateway_async._net.lane import Lane
from gateway_async._net.progress import PROGRESS

__all__ = ["LANE", "PooledTransport"]

LANE: Final = "gateway_async.lane"
"""The request extension that names the lane: "ordinary" (the default) or "terminal"."""

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
            "ordinary": Lane(self._open, max_connections, max_idle=max_connections),
            "terminal": Lane(self._open, max_terminals, max_idle=_IDLE_TERMINALS),
        }

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request, once, and return when the head of its answer was read.

        Raises:
            httpx.TransportError: The request failed; its `Progress` says how far it got.
            RuntimeError: The transport is closed.
        """
        lane = self._lanes[request.extensions.get(LANE, "ordinary")]
        extensions = dict(request.extensions)
        exchange = Exchange(
            lane,
            _question(request, extensions),
            extensions,
            progress=extensions.get(PROGRESS),
            caller_trace=extensions.get("trace"),
        )
        with httpx_errors():
            answer = await exchange.begin()
        return httpx.Response(answer.status, headers=answer.headers, stream=exchange, extensions=extensions_of(answer))

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
