"""Read the body of a request up to a maximum size, or take the body that a caller has."""

from collections.abc import AsyncGenerator, AsyncIterable, Iterable, Mapping

from gateway_async._text import pluralize
from gateway_async.errors import PostbackRefusedError


def as_bytes(body: object) -> bytes:
    """Convert a body from text or a buffer.

    Raises:
        PostbackRefusedError: 400; it is neither.
    """
    if isinstance(body, str):
        return body.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()  # for half an emoji
    if isinstance(body, bytes | bytearray | memoryview):
        return bytes(body)
    raise PostbackRefusedError(400, f"body: must be bytes or text, not {type(body).__name__}")


def header_items(headers: object) -> Iterable[tuple[str, str]]:
    """The headers in a caller's mapping.

    Raises:
        PostbackRefusedError: 400; it is not a mapping of texts.
    """
    if isinstance(headers, Mapping) and all(isinstance(text, str) for item in headers.items() for text in item):
        return headers.items()
    raise PostbackRefusedError(400, "headers: must be a mapping of names to values, both text")


def check_size(size: int, max_bytes: int) -> None:
    """Reject a body that is too large.

    Raises:
        PostbackRefusedError: 413.
    """
    if size > max_bytes:
        raise PostbackRefusedError(413, f"the body: more than {max_bytes} {pluralize(max_bytes, 'byte')}")


async def read_postback_body(headers: Mapping[str, str], chunks: AsyncIterable[bytes], max_bytes: int) -> bytes:
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
    """Read the declared size; 0 if it is not a number, since the actual size is checked as well."""
    digits = length.strip().lstrip("0")[:20]  # more digits make a larger number, and Python refuses to read thousands
    return int(digits) if digits.isascii() and digits.isdigit() else 0
