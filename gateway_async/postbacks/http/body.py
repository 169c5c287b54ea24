"""Read the body of a request up to a maximum size; a larger body is not read to its end."""

from collections.abc import AsyncGenerator, AsyncIterable, Mapping

from gateway_async._problem import pluralize
from gateway_async.errors import PostbackRefusedError

__all__ = ["check_size", "read_body"]


def check_size(size: int, max_bytes: int) -> None:
    """Reject a body that is too large.

    Raises:
        PostbackRefusedError: 413.
    """
    if size > max_bytes:
        raise PostbackRefusedError(413, f"the body: more than {max_bytes} {pluralize(max_bytes, 'byte')}")


async def read_body(headers: Mapping[str, str], chunks: AsyncIterable[bytes], max_bytes: int) -> bytes:
    """Read a complete body.

    Nothing is read if the declared size is too large. Otherwise reading stops as soon as the limit is exceeded.

    Raises:
        PostbackRefusedError: 413.
    """
    check_size(_read_length(headers.get("content-length", "")), max_bytes)
    body, pieces = bytearray(), aiter(chunks)
    try:
        async for chunk in pieces:
            check_size(len(body) + len(chunk), max_bytes)
            body += chunk
    finally:
        if isinstance(pieces, AsyncGenerator):  # close a generator that was not read to its end
            await pieces.aclose()
    return bytes(body)


def _read_length(length: str) -> int:
    """Return the declared size; 0 if it is not a number, since the actual size is checked as well."""
    digits = length.strip().lstrip("0")[:20]  # more digits make a larger number, and Python refuses to read thousands
    return int(digits) if digits.isascii() and digits.isdigit() else 0
