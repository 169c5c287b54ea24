"""Adapter that makes a receiver a handler of aiohttp's server."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from gateway_async.postbacks.http.response import Answer

if TYPE_CHECKING:
    from aiohttp import web

__all__ = ["answer_request"]


async def answer_request(receive: Callable[..., Awaitable[Answer]], request: "web.Request") -> "web.Response":
    """Pass one request to the receiver and return its response."""
    from aiohttp import web

    try:
        answer = await receive(request.method, request.headers, request.content.iter_any())
    except (ConnectionError, web.RequestPayloadError):
        answer = Answer.saying(400, "the body: broke off")
    return web.Response(status=answer.status, headers=answer.headers, body=answer.body or None)
