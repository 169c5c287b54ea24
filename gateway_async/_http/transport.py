"""`PooledTransport`: an httpx transport with two connection pools, which reports how far each request got.

`DirectClient` is the httpx client over it.
"""

import functools
import os
import ssl
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, Final

import anyio
import certifi
import httpx

from gateway_async._http.exchange import BoundedDecompressor, Exchange, take_coding
from gateway_async._http.messages import LazyResponse, encode_request
from gateway_async._http.pool import ConnectionPool
from gateway_async._http.progress import PROGRESS, Progress, Stage
from gateway_async._http.proxy import Proxy
from gateway_async.telemetry.health import PoolUse

POOL: Final = "gateway_async.pool"
"""The request extension that names the pool: "ordinary" (the default) or "terminal"."""

FRESH: Final = "gateway_async.fresh"
"""The request extension that asks for a connection of its own, which no other request uses before or after."""

_IDLE_TERMINALS = 100
"""Maximum number of idle terminal connections; thousands may be in use at once."""

_VERIFY: Final = "must be True, False, the path of a CA bundle or of a folder of them, or an ssl.SSLContext"
_NAMED_BY_HASH: Final = "[0-9a-f]" * 8 + ".[0-9]*"
"""The names of certificates in a folder that TLS looks up."""


class PooledTransport(httpx.AsyncBaseTransport):
    """An HTTP/1.1 transport over pooled connections, on asyncio and trio.

    Ordinary calls and terminal calls have separate connections, so that neither waits for the other. Timeouts are
    httpx's: `pool` limits the wait for a free connection slot, and once more the wait to set up a connection. The
    transport never repeats a request and follows no redirect.

    Args:
        max_connections: Maximum number of ordinary calls at the same time.
        max_terminals: Maximum number of terminal calls at the same time.
        verify: True (certifi's authorities), False, the path of a CA bundle or of a folder of them, or an
            `ssl.SSLContext`, which is used unchanged. No environment variable is read (`SSL_CERT_FILE`, `SSL_CERT_DIR`,
            `SSLKEYLOGFILE`), and TLS is 1.2 or newer.
        keepalive_expiry: Seconds for which an idle connection is kept. Many servers close theirs after 5. The value
            should be less, because a write to a connection that is being closed has an unknown outcome.
        proxy: The proxy through which connections are opened. No environment variable is read.
    """

    def __init__(
        self,
        *,
        max_connections: int = 100,
        max_terminals: int = 5000,
        verify: ssl.SSLContext | str | bool = True,
        keepalive_expiry: float = 4.0,
        proxy: Proxy | None = None,
    ) -> None:
        self._verify = verify
        self._pools = {
            "ordinary": ConnectionPool(
                max_connections, max_idle=max_connections, keepalive_expiry=keepalive_expiry, proxy=proxy
            ),
            "terminal": ConnectionPool(
                max_terminals, max_idle=_IDLE_TERMINALS, keepalive_expiry=keepalive_expiry, proxy=proxy, staggered=True
            ),
        }

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request, once, and return after the head of its response.

        Raises:
            httpx.TransportError: The request failed; its `Progress` says how far it got.
            RuntimeError: The transport is closed.
        """
        extensions = request.extensions
        progress: Progress = extensions.get(PROGRESS) or Progress()
        progress.stage = Stage.QUEUED  # an invalid request fails before anything can be sent
        origin, start, is_whole = encode_request(request)
        exchange = Exchange(
            self._pools[extensions.get(POOL, "ordinary")],
            origin,
            self._ssl_context if origin[0] == "https" else None,
            extensions.get("timeout", {}),
            progress,
            fresh=bool(extensions.get(FRESH)),
        )
        bodiless = request.method == "HEAD"
        upload = None if is_whole else request
        del request, extensions  # free their memory: thousands of calls may wait for a slot
        if upload is None:
            await exchange.send(start)
        else:
            await exchange.upload(start, upload)
        del start, upload  # or for a terminal
        response = await exchange.head(bodiless=bodiless)
        stream: httpx.AsyncByteStream = exchange
        if content_coding := take_coding(response.headers):
            stream = BoundedDecompressor(stream, content_coding)
        return LazyResponse(response.status, response.headers, stream, response.version)

    def pool_use(self, name: str) -> PoolUse:
        return self._pools[name].use()

    async def aclose(self) -> None:
        """Close every connection, including those in use."""
        for pool in self._pools.values():
            pool.closed = True  # all of them, before anything is awaited
        with anyio.CancelScope(shield=True):
            for pool in self._pools.values():
                await pool.aclose()

    @functools.cached_property
    def _ssl_context(self) -> ssl.SSLContext:
        # Loading the trusted certificates takes tens of milliseconds; do it only for the first https call.
        return self._verify if isinstance(self._verify, ssl.SSLContext) else _make_ssl_context(self._verify)


class DirectClient(httpx.AsyncClient):
    """An httpx client without cookies, redirects, authentication flows, event hooks and httpx's log line.

    A request with credentials therefore reaches only the transport.
    """

    def __init__(self, transport: httpx.AsyncBaseTransport) -> None:
        super().__init__(transport=transport, trust_env=False)
        self._direct_transport = transport

    # Not a coroutine function: it would be one more frame of each call.
    def send(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, request: httpx.Request, **_options: Any
    ) -> Coroutine[Any, Any, httpx.Response]:
        """Send a request; return its response before the body is read."""
        return self._direct_transport.handle_async_request(request)

    async def aclose(self) -> None:
        """Close the transport. Closing again completes a close that was interrupted."""
        await self._direct_transport.aclose()


def load_certificates(verify: object) -> tuple[ssl.SSLContext | bool, str]:
    """Load the certificates of a path.

    Returns the TLS context that trusts them, or the value itself if it has no path; and "" or what is wrong with it.
    """
    if isinstance(verify, bool | ssl.SSLContext):
        return verify, ""
    path = os.fspath(verify) if isinstance(verify, str | os.PathLike) else ""
    if not isinstance(path, str) or not path or "\0" in path:
        return True, _VERIFY
    try:
        if Path(path).is_dir() and not any(Path(path).glob(_NAMED_BY_HASH)):
            return True, f"{path} has no certificate (expected a folder that openssl rehash has prepared)"
        return _make_ssl_context(path), ""
    except ssl.SSLError:
        return True, f"{path} has no certificate that can be read"
    except OSError as error:
        return True, f"{path} cannot be read ({error.strerror})"


def _make_ssl_context(verify: str | bool) -> ssl.SSLContext:
    """Create a TLS context that trusts what `verify` says.

    No environment variable is read.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # `create_default_context` would log keys to SSLKEYLOGFILE
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if sys.version_info >= (3, 13):
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN | ssl.VERIFY_X509_STRICT  # as Python's own default
    if verify is False:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context
    path = certifi.where() if verify is True else verify
    is_folder = Path(path).is_dir()
    context.load_verify_locations(cafile=None if is_folder else path, capath=path if is_folder else None)
    return context
