"""`read_body`: read the body of a response, up to a limit."""

from collections.abc import AsyncGenerator, AsyncIterable
from contextlib import aclosing
from typing import cast

import httpx

from gateway_async._http.decompression import BoundedDecompressor
from gateway_async._http.exchange import Exchange

__all__ = ["BodyTooLongError", "read_body"]


class BodyTooLongError(Exception):
    """A body has more bytes than allowed."""


async def read_body(response: httpx.Response, limit: int) -> bytes:
    """Return the whole body of a response, and end its exchange.

    Raises:
        BodyTooLongError: it has more than `limit` bytes.
        httpx.TransportError: the connection ended before the end of the body.
    """
    stream = response.stream
    if isinstance(stream, Exchange):  # the common case, without httpx's layers
        try:
            body = stream.take_complete_body()
            if body is None:
                return await _join(stream, limit)
            if len(body) > limit:
                raise BodyTooLongError
            return body
        finally:
            await stream.aclose()
    try:
        if isinstance(stream, BoundedDecompressor):
            return await _join(stream, limit)
        async with aclosing(cast("AsyncGenerator[bytes]", response.aiter_bytes())) as chunks:
            return await _join(chunks, limit)
    finally:
        await response.aclose()


async def _join(stream: AsyncIterable[bytes], limit: int) -> bytes:
    chunks: list[bytes] = []
    size = 0
    async for chunk in stream:
        size += len(chunk)
        if size > limit:
            raise BodyTooLongError
        chunks.append(chunk)
    return b"".join(chunks)
