"""`LazyRequest` and `LazyResponse` are httpx's messages."""

import httpx
import pytest

from gateway_async._http.messages import (
    BaseUrl,
    LazyHeaders,
    LazyRequest,
    LazyResponse,
    encode_request,
    header_lines,
    headers_of,
)
from gateway_async._http.upload import Upload

ADDRESSES = [
    "http://127.0.0.1:8000",
    "https://gateway.example",
    "https://gateway.example:443/prefix/",
    "https://[::1]:8443/a/../b",
    "https://bücher.example/ü",
]
TARGETS = ["/v2/contacts/c1", "/v2/contacts/a%20b%2Fc?expand=a,b&location_id=%C3%A4", "/v2/x/~a.b-c_d;e=f@g:h!$&'()*+,"]
FIELDS = [("Host", "gateway.example"), ("X-Name", "Ada"), ("Content-Length", "6")]


def lazy(address: str = ADDRESSES[0], target: str = TARGETS[0]) -> LazyRequest:
    base = BaseUrl.parse(httpx.URL(address))
    return LazyRequest("POST", base, target, header_lines(FIELDS), b"a sale", {"timeout": {}})


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("address", ADDRESSES)
def test_the_bytes_are_those_that_httpx_would_build(address: str, target: str) -> None:
    httpx_request = httpx.Request("POST", f"{address.rstrip('/')}{target}", headers=FIELDS, content=b"a sale")
    request = lazy(address, target)
    assert encode_request(request) == encode_request(httpx_request)
    assert request.url == httpx_request.url
    assert request.headers == httpx_request.headers
    assert request.read() == request.content == httpx_request.content
    assert encode_request(request) == encode_request(httpx_request)  # now from what was built


def test_changes() -> None:
    """A transport around this package's own may change headers, the URL and the body."""
    request = lazy()
    request.headers["X-Name"] = "Grace"
    assert b"X-Name: Grace\r\n" in encode_request(request)[1]
    request = lazy()
    request.url = httpx.URL("https://other.example/v2/other")
    assert encode_request(request)[0] == ("https", "other.example", 443)
    assert encode_request(request)[1].startswith(b"POST /v2/other HTTP/1.1\r\n")
    request = lazy()
    request.stream = httpx.ByteStream(b"a void")
    assert encode_request(request)[1].endswith(b"\r\n\r\na void")


def test_chunks() -> None:
    """Only the head of an upload is encoded; its chunks follow."""
    upload = object.__new__(Upload)
    request = LazyRequest("POST", BaseUrl.parse(httpx.URL(ADDRESSES[0])), "/v2/x", header_lines(FIELDS), upload, {})
    _, head, is_whole = encode_request(request)
    assert (head.endswith(b"\r\n\r\n"), is_whole) == (True, False)
    assert request.stream is upload
    assert encode_request(request) == (request.encode()[0], head, False)


@pytest.mark.parametrize("value", ["a\r\nb", "a\nb", "a\rb", "a\0b"])
@pytest.mark.parametrize("is_untouched", [True, False])
def test_header_line_break(value: str, is_untouched: bool) -> None:
    """No header of one request becomes two, or the start of another request."""
    request = lazy()
    if not is_untouched:
        request.headers["X-Trace"] = value
    with pytest.raises(httpx.LocalProtocolError, match="line break"):
        header_lines([*FIELDS, ("X-Trace", value)]) if is_untouched else encode_request(request)


@pytest.mark.parametrize("target", ["/v2/x HTTP/1.1\r\nX-Name: Grace", "/v2/x\n", "/v2/x\r", "/v2/x\0"])
def test_a_line_break_in_the_target_makes_no_second_request(target: str) -> None:
    with pytest.raises(httpx.LocalProtocolError, match="line break"):
        encode_request(lazy(target=target))


def test_response_headers() -> None:
    """Build headers when something reads them, and ignore the case of names."""
    response = LazyResponse(200, [(b"Content-Type", b"text/html")], httpx.ByteStream(b""), b"HTTP/1.1")
    headers = headers_of(response)
    assert isinstance(headers, LazyHeaders)
    assert headers["content-type"] == headers.get("CONTENT-TYPE") == "text/html"
    assert (len(headers), list(headers), "Content-type" in headers) == (1, ["content-type"], True)
    assert repr(headers) == repr(response.headers) == "Headers({'content-type': 'text/html'})"
    assert (response.http_version, response.reason_phrase) == ("HTTP/1.1", "OK")
