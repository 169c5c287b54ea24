"""Read the body of a response, up to a limit, and decompress it in steps of limited size.

A small compressed response therefore cannot fill the memory.
"""

import zlib
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator
from contextlib import aclosing
from typing import TYPE_CHECKING, Final, Self, cast

import httpx

from gateway_async._http.exchange import Exchange

if TYPE_CHECKING:
    from zlib import _Decompress

_STEP: Final = 256 * 1024
"""Maximum bytes that are decompressed at a time."""

_WITH_HEADER: Final = 32 + zlib.MAX_WBITS
_WITHOUT_HEADER: Final = -zlib.MAX_WBITS
_CODINGS: Final = ("gzip", "x-gzip", "deflate")


class BodyTooLongError(Exception):
    """A body has more bytes than allowed."""


async def read_response_body(response: httpx.Response, limit: int) -> bytes:
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


def take_coding(headers: list[tuple[bytes, bytes]]) -> str:
    """Remove the content codings from the headers; return them, or "" if the body has none."""
    codings: list[bytes] = []
    for name, value in headers:
        if name.lower() == b"content-encoding":
            codings.append(value)
    if not codings:
        return ""
    headers[:] = [field for field in headers if field[0].lower() != b"content-encoding"]
    named = b", ".join(codings).decode("latin-1").strip().lower()
    return "" if named == "identity" else named


class BoundedDecompressor(httpx.AsyncByteStream):
    """Decompresses a response body with a single gzip or deflate coding.

    The client's `Accept-Encoding` offers no other coding.
    """

    def __init__(self, compressed: httpx.AsyncByteStream, coding: str) -> None:
        self._compressed = compressed
        self._coding = coding
        self._chunks: AsyncIterator[bytes] = aiter(compressed)
        self._decompressor: _Decompress | None = None
        self._rest = b""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        """Decompress the next piece.

        Raises:
            httpx.DecodingError: the coding is unknown, the body is invalid or cut off, or other data follows it.
        """
        while not self._rest:
            self._rest = await anext(self._chunks, b"")
            if not self._rest:
                self._end()
        decompressor = self._decompressor = self._decompressor or _make_decompressor(self._coding, self._rest)
        if decompressor.eof:  # zlib would buffer all data after the end
            raise httpx.DecodingError("data follows the compressed body")
        try:
            piece = decompressor.decompress(self._rest, _STEP)
        except zlib.error as error:
            raise httpx.DecodingError(f"the body does not match its content-encoding: {error}") from None
        self._rest = decompressor.unconsumed_tail or decompressor.unused_data
        return piece

    async def aclose(self) -> None:
        """Close the underlying stream."""
        await self._compressed.aclose()

    def _end(self) -> None:
        if self._decompressor is not None and not self._decompressor.eof:
            raise httpx.DecodingError("the compressed body is cut off")
        raise StopAsyncIteration


def _make_decompressor(coding: str, start: bytes) -> "_Decompress":
    if coding not in _CODINGS:
        raise httpx.DecodingError(f"the body is encoded as {coding!r}, which was not offered")
    return zlib.decompressobj(_WITH_HEADER if _starts_with_header(start) else _WITHOUT_HEADER)


def _starts_with_header(start: bytes) -> bool:
    """Return whether a body starts with a gzip or zlib header.

    Some servers send `deflate` without a header.
    """
    return start[:1] in (b"\x1f", b"\x78")
