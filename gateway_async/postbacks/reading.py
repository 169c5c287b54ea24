"""A request's body, up to a size: what is larger is not read to its end."""

from collections.abc import AsyncGenerator, AsyncIterable, Mapping

from gateway_async.errors import PostbackRefusedError

__all__ = ["check_size", "read_body"]


def check_size(size: int, max_bytes: int) -> None:
    """Refuse what is too large.

    Raises:
        PostbackRefusedError: 413.
    """
    if size > max_bytes:
        raise PostbackRefusedError(413, f"the body: more than {max_bytes} bytes")


async def read_body(headers: Mapping[str, str], chunks: AsyncIterable[bytes], max_bytes: int) -> bytes:
    """All of a body; nothing of one that says that it is too large, no more than that of one that is.

    Raises:
        PostbackRefusedError: 413.
    """
    check_size(_declared(headers.get("content-length", "")), max_bytes)
    body, pieces = bytearray(), aiter(chunks)
    try:
        async for chunk in pieces:
            check_size(len(body) + len(chunk), max_bytes)
            body += chunk
    finally:
        if isinstance(pieces, AsyncGenerator):  # one that was not read to its end has to be told
            await pieces.aclose()
    return bytes(body)


def _declared(length: str) -> int:
    """The size that a request gives; a server that lets nonsense through has counted for itself."""
    digits = length.strip().lstrip("0")[:20]  # more digits make a larger number, and Python refuses to read thousands
    return int(digits) if digits.isascii() and digits.isdigit() else 0
