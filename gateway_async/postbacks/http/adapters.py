"""Adapters of a receiver: an ASGI application (FastAPI, Starlette, …), and a handler of aiohttp's server."""

from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

import attrs

from gateway_async._wire.postback import by_lower_name
from gateway_async.postbacks.http.response import ReceiverResponse

if TYPE_CHECKING:
    from aiohttp import web

AsgiMessage = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[AsgiMessage]]
Send = Callable[[AsgiMessage], Awaitable[None]]


@attrs.frozen(eq=False, repr=False)
class AsgiApp:
    """ASGI application that passes the requests of every path to the receiver.

    It is an object, not a function, because Starlette's `Route` accepts only objects as applications. Served by itself,
    it handles the postbacks of the inbox while the server runs. A mounted application receives no lifespan events, so
    the `lifespan` of the outer application has to enter the receiver.

    Args:
        receive: processes a request and returns the response.
        work: a context manager that is entered while the server runs.
    """

    _receive: Callable[..., Awaitable[ReceiverResponse]]
    _work: AbstractAsyncContextManager[Any]

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Serve one ASGI connection."""
        match scope["type"]:
            case "http":
                await self._http(scope, receive, send)
            case "websocket":
                await send({"type": "websocket.close", "code": 1003})
            case "lifespan":
                await self._lifespan(receive, send)
            case other:
                raise RuntimeError(f"unsupported ASGI scope type: {other}")

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        async with self._work:
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})

    async def _http(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        headers = by_lower_name((name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"])
        peer, _ = scope.get("client") or (None, None)
        try:
            response = await self._receive(scope["method"], headers, _chunks(receive), peer)
        except _DisconnectedError:
            return
        await send({"type": "http.response.start", "status": response.status_code, "headers": _raw(response)})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else response.body})


class _DisconnectedError(Exception):
    """The caller has disconnected, so no response is needed."""


async def _chunks(receive: Receive) -> AsyncIterator[bytes]:
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _DisconnectedError
        yield message.get("body", b"")
        more = message.get("more_body", False)


def _raw(response: ReceiverResponse) -> list[tuple[bytes, bytes]]:
    headers = [(name.encode(), value.encode()) for name, value in response.headers.items()]
    return headers if response.status_code == 204 else [*headers, (b"content-length", b"%d" % len(response.body))]  # noqa: PLR2004


async def handle_request(receive: Callable[..., Awaitable[ReceiverResponse]], request: "web.Request") -> "web.Response":
    """Pass one request to the receiver and return its response."""
    from aiohttp import web

    try:
        response = await receive(request.method, request.headers, request.content.iter_any(), request.remote)
    except (ConnectionError, web.RequestPayloadError):
        response = ReceiverResponse.plain_text(400, "the body: interrupted")
    return web.Response(status=response.status_code, headers=response.headers, body=response.body or None)
