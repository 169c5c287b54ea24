"""`read_body`: read the body of a response, up to a limit."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from typing import cast

import httpx

from gateway_async._http.decompression import BoundedDecompressor
from gateway_async._http.exchange import Exchange

__all__ = ["BodyTooLongError", "read_body"]


class BodyTooLongError(Exception):
    """A body has more bytes than allowed."""


async def read_body(response: httpx.Response, limit: int) -> bytes:
    """Return the whole body of a response.

    Raises:
        BodyTooLongError: it has more than `limit` bytes.
        httpx.TransportError: the connection ended before the end of the body.
    """
    if isinstance(response.stream, Exchange) and (body := response.stream.take_complete_body()) is not None:
        _check(len(body), limit)
        return body
    chunks: list[bytes] = []
    size = 0
    async with _chunks(response) as stream:
        async for chunk in stream:
            size += len(chunk)
            _check(size, limit)
            chunks.append(chunk)
    return b"".join(chunks)


def _check(size: int, limit: int) -> None:
    if size > limit:
        raise BodyTooLongError


def _chunks(response: httpx.Response) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
    """Return the decoded chunks of a body; other transports leave the decoding to httpx."""
    if isinstance(response.stream, Exchange | BoundedDecompressor):
        return nullcontext(aiter(response.stream))
    return aclosing(cast("AsyncGenerator[bytes]", response.aiter_bytes()))
