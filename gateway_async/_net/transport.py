"""The connections: two lanes of them, and an honest word on how far each request got."""

import functools
import ssl
from pathlib import Path
from typing import Final

import anyio
import httpcore
import httpx

from gateway_async._net.exchange import Exchange
from gateway_async._net.inflate import Inflated, coding
from gateway_async._net.lane import Lane
from gateway_async._net.progress import PROGRESS, Progress, Stage

__all__ = ["LANE", "PooledTransport"]

LANE: Final = "gateway_async.lane"
"""The request extension that names the lane: "ordinary" (the default) or "terminal"."""

_IDLE_TERMINALS = 100
"""Terminal connections kept for the next call, of the thousands that may be in use at once."""

_UNPATCHED: Final = httpcore.AsyncConnectionPool.handle_async_request
_PORTS: Final = {"http": 80, "https": 443}


class PooledTransport(httpx.AsyncBaseTransport):
    """HTTP/1.1 over kept connections, on asyncio and trio.

    Ordinary calls and calls that wait at a terminal have connections of their own, so that neither waits for
    the other. Time-outs are httpx's: `pool` bounds the wait for a place, and once more the wait to set up a
    connection. It never repeats a request, follows no redirect and uses no proxy: for a proxy, pass
    `transport=httpx.AsyncHTTPTransport(proxy=...)` to the client. That one also carries the requests while a stand-in
    for httpcore's pool (respx) is in place, and does not report how far they get.

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
        self._sizes = {"ordinary": max_connections, "terminal": max_terminals}
        self._lanes = {
            "ordinary": Lane(max_connections, max_idle=max_connections, keepalive_expiry=keepalive_expiry),
            "terminal": Lane(max_terminals, max_idle=_IDLE_TERMINALS, keepalive_expiry=keepalive_expiry),
        }

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request, once, and return when the head of its answer was read.

        Raises:
            httpx.TransportError: The request failed; its `Progress` says how far it got.
            RuntimeError: The transport is closed.
        """
        name = request.extensions.get(LANE, "ordinary")
        if not _is_ours():
            return await self._foreign[name].handle_async_request(request)
        progress: Progress | None = request.extensions.get(PROGRESS)
        if progress is not None:
            progress.stage = Stage.QUEUED  # whatever is wrong with the request shows before anything can leave
        url = request.url
        if url.scheme not in _PORTS:
            raise httpx.UnsupportedProtocol(f"a URL starts with http:// or https://, not with {url.scheme!r}")
        exchange = Exchange(
            self._lanes[name],
            (url.scheme, url.host, url.port or _PORTS[url.scheme]),
            self._ssl_context if url.scheme == "https" else None,
            request.extensions.get("timeout", {}),
            progress,
        )
        bodiless = request.method == "HEAD"
        await exchange.send(request)
        del request  # thousands may wait, and need nothing of it any more
        answer = await exchange.head(bodiless=bodiless)
        headers = httpx.Headers(answer.headers)
        stream: httpx.AsyncByteStream = exchange
        if packed := coding(headers):
            del headers["content-encoding"]
            stream = Inflated(exchange, packed)
        facts = {"http_version": answer.version, "reason_phrase": answer.reason}
        return httpx.Response(answer.status, headers=headers, stream=stream, extensions=facts)

    async def aclose(self) -> None:
        """Close every connection, also those in use."""
        with anyio.CancelScope(shield=True):
            for lane in self._lanes.values():
                await lane.aclose()
        if "_foreign" in self.__dict__:
            for transport in self._foreign.values():
                await transport.aclose()

    @functools.cached_property
    def _ssl_context(self) -> ssl.SSLContext:
        # Loading the trusted certificates takes tens of milliseconds: not before the first https call.
        if not isinstance(self._verify, str):
            return httpx.create_ssl_context(verify=self._verify)
        path, is_folder = self._verify, Path(self._verify).is_dir()  # httpx is about to give paths up
        return ssl.create_default_context(cafile=None if is_folder else path, capath=path if is_folder else None)

    @functools.cached_property
    def _foreign(self) -> dict[str, httpx.AsyncHTTPTransport]:
        return {
            name: httpx.AsyncHTTPTransport(
                verify=self._ssl_context,
                trust_env=False,
                limits=httpx.Limits(max_connections=size, keepalive_expiry=self._keepalive_expiry),
            )
            for name, size in self._sizes.items()
        }


def _is_ours() -> bool:
    """Whether our own connections carry a request: nobody (respx, in somebody's test) stands in for httpcore."""
    return httpcore.AsyncConnectionPool.handle_async_request is _UNPATCHED
