"""A receiver as a handler of aiohttp's server."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from gateway_async.postbacks.answer import Answer

if TYPE_CHECKING:
    from aiohttp import web

__all__ = ["answer_request"]


async def answer_request(receive: Callable[..., Awaitable[Answer]], request: "web.Request") -> "web.Response":
    """Answer one request as the receiver does."""
    from aiohttp import web

    try:
        answer = await receive(request.method, request.headers, request.content.iter_any())
    except (ConnectionError, web.RequestPayloadError):
        answer = Answer.saying(400, "the body: broke off")
    return web.Response(status=answer.status, headers=answer.headers, body=answer.body or None)
