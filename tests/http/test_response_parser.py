"""`ResponseParser` bounds what it keeps of a response, and knows whether its connection can be used again."""

import httpx
import pytest

from gateway_async._http.response_parser import ResponseParser

LONGEST = 64 * 1024


def test_endless_status() -> None:
    """A parser that never sees the end of a head keeps at most 64 KiB."""
    parser = ResponseParser()
    parser.feed(b"HTTP/1.1 000 Odd\r\nContent-Length: 1000000\r\n\r\n")
    with pytest.raises(httpx.RemoteProtocolError, match="longer than 65536 bytes"):
        parser.feed(bytes(LONGEST))


@pytest.mark.parametrize(("body", "reusable"), [(b"", True), (b"data", False)])
def test_data_after_a_head_response(body: bytes, reusable: bool) -> None:
    parser = ResponseParser()
    parser.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n" + body)
    parser.end_after_head()
    assert (parser.complete, parser.reusable) == (True, reusable)
