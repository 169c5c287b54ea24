"""`Inflated`: a compressed body, unpacked a little at a time, so that a small answer cannot fill the memory."""

import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing
from typing import Final, cast

import attrs
import httpx

__all__ = ["Inflated", "is_deflated"]

_STEP: Final = 256 * 1024
"""Bytes that are unpacked at a time."""

_GZIP_OR_ZLIB: Final = 32 + zlib.MAX_WBITS
_CODINGS: Final = ("gzip", "x-gzip", "deflate")


def is_deflated(headers: httpx.Headers) -> bool:
    """Whether a body is packed as we offer to take it."""
    return headers.get("content-encoding", "").strip().lower() in _CODINGS


@attrs.frozen(eq=False)
class Inflated(httpx.AsyncByteStream):
    """The body of an answer with `Content-Encoding: gzip` or `deflate`."""

    packed: httpx.AsyncByteStream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Unpack.

        Raises:
            httpx.DecodingError: it is packed in no such way, or cut off.
        """
        unpack = zlib.decompressobj(_GZIP_OR_ZLIB)
        async with aclosing(cast("AsyncGenerator[bytes]", aiter(self.packed))) as chunks:
            async for chunk in chunks:
                for piece in _pieces(unpack, chunk):
                    yield piece
        if not unpack.eof:
            raise httpx.DecodingError("the compressed body is cut off")

    async def aclose(self) -> None:
        await self.packed.aclose()


def _pieces(unpack: "zlib._Decompress", chunk: bytes) -> Iterator[bytes]:
    while chunk and not unpack.eof:
        try:
            yield unpack.decompress(chunk, _STEP)
        except zlib.error as error:
            raise httpx.DecodingError(f"the body is not what its head says: {error}") from None
        chunk = unpack.unconsumed_tail
