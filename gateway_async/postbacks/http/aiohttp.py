"""Adapter that makes a receiver a handler of aiohttp's server."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from gateway_async.postbacks.http.response import ReceiverResponse

if TYPE_CHECKING:
    from aiohttp import web

__all__ = ["handle_request"]


async def handle_request(receive: Callable[..., Awaitable[ReceiverResponse]], request: "web.Request") -> "web.Response":
    """Pass one request to the receiver and return its response."""
    from aiohttp import web

    try:
        response = await receive(request.method, request.headers, request.content.iter_any(), request.remote)
    except (ConnectionError, web.RequestPayloadError):
        response = ReceiverResponse.plain_text(400, "the body: broke off")
    return web.Response(status=response.status_code, headers=response.headers, body=response.body or None)
