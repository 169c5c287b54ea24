"""Our transport and httpx's own, side by side: one server, one request, the same response."""

import socket
import ssl
from collections.abc import AsyncIterator

import httpx
import pytest

from gateway_async._http.transport import PooledTransport
from tests.support.scripted_server import Script, Wire, always, client, respond_to_all, serving

pytestmark = pytest.mark.anyio

BODY = bytes(range(256)) * 4000


async def echo(wire: Wire) -> None:
    """Answer each request with its own body."""
    while True:
        _, body = await wire.request()
        await wire.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)


async def echo_in_chunks(wire: Wire) -> None:
    """Answer each request in chunks of odd sizes, with an extension and a trailer."""
    while True:
        await wire.request()
        await wire.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for size in (1, 7, 4096, 3):
            await wire.send(b"%x;note=1\r\n%b\r\n" % (size, BODY[:size]))
        await wire.send(b"0\r\nX-Sum: 1\r\n\r\n")


def head(status: str, *lines: str) -> bytes:
    """The head of a response."""
    return "\r\n".join([f"HTTP/1.1 {status}", *lines, "", ""]).encode()


OK = head("200 OK", "Content-Length: 2") + b"ok"

CASES: dict[str, tuple[Script, str]] = {
    "kept connection": (respond_to_all, "GET"),
    "chunked": (echo_in_chunks, "GET"),
    "head": (always(head("200 OK", "Content-Length: 5")), "HEAD"),
    "204": (always(head("204 No Content")), "DELETE"),
    "304": (always(head("304 Not Modified", "Content-Length: 5")), "GET"),
    "100-continue": (always(head("100 Continue") + OK), "POST"),
    "early hints": (always(head("103 Early Hints", "Link: </a>") + OK), "GET"),
    "connection: close": (always(head("200 OK", "Connection: close", "Content-Length: 2") + b"ok"), "GET"),
    "HTTP/1.0": (always(b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok"), "GET"),
    "large upload and response": (echo, "POST"),
    "repeated headers": (always(head("200 OK", "Set-Cookie: a=1", "Set-Cookie: b=2", "Content-Length: 0")), "GET"),
    "odd headers": (always(head("200 OK", "X-Empty:", "X-Blank:   a b  ", "X-E: \xe9", "Content-Length: 0")), "GET"),
    "unknown status": (always(head("299 Fine", "Content-Length: 0")), "GET"),
    "no reason": (always(head("200", "Content-Length: 0")), "GET"),
    "redirect": (always(head("307 Elsewhere", "Location: /there", "Content-Length: 0")), "GET"),
    "server error": (always(head("503 Busy", "Retry-After: 5", "Content-Length: 4") + b"busy"), "POST"),
}  # fmt: skip


async def read_responses(transport: httpx.AsyncBaseTransport, url: str, method: str) -> list[object]:
    """Return the responses to two requests in a row."""
    content = BODY if method == "POST" else None
    async with httpx.AsyncClient(transport=transport, base_url=url) as http:
        return [
            (response.status_code, response.http_version, response.headers.raw, response.content)
            for response in [await http.request(method, "/path?a=%20b&c", content=content) for _ in range(2)]
        ]


@pytest.mark.parametrize("name", CASES)
async def test_the_same_response(name: str) -> None:
    """Status, headers and body are those that httpx reads, over one connection if the server keeps it."""
    script, method = CASES[name]
    async with serving(script) as peer:
        theirs = await read_responses(httpx.AsyncHTTPTransport(), peer.url, method)
    async with serving(script) as peer:
        ours = await read_responses(PooledTransport(), peer.url, method)
    assert ours == theirs
    assert peer.opened == (2 if name in ("connection: close", "HTTP/1.0") else 1)


async def test_the_same_request() -> None:
    """Send the same bytes as httpx: request line, headers in order, body."""

    async def told(wire: Wire) -> None:
        request, body = await wire.request()
        content = request.replace(wire_port(request), b"port") + body
        await wire.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(content) + content)

    sent = []
    for transport in (httpx.AsyncHTTPTransport(), PooledTransport()):
        async with serving(told) as peer, httpx.AsyncClient(transport=transport) as http:
            response = await http.post(f"{peer.url}/a%2Fb?x=1#f", content=b"a sale", headers={"X-Note": "n"})
            sent.append(response.content)
    assert sent[1] == sent[0]


def wire_port(request: bytes) -> bytes:
    """The port in a request's Host header, which differs from server to server."""
    return request.split(b"127.0.0.1:")[1].split(b"\r\n")[0]


async def test_chunks() -> None:
    """A body of unknown length goes in chunks, as httpx sends it, though perhaps in other pieces."""

    async def told(wire: Wire) -> None:
        request, _ = await wire.request()
        chunked = b"Transfer-Encoding: chunked" in request
        data = b""
        while not data.endswith(b"0\r\n\r\n"):
            data += await wire._reader.receive()
        await wire.respond(f"{chunked} {data.decode()}")

    async def parts() -> AsyncIterator[bytes]:
        for part in (b"a sa", b"", b"le"):
            yield part

    async with serving(told) as peer, client(peer) as http:
        response = await http.post("/", content=parts())
    assert response.text == "True 4\r\na sa\r\n2\r\nle\r\n0\r\n\r\n"


def ipv6_works() -> bool:
    """Whether this machine has an IPv6 loopback."""
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


@pytest.mark.parametrize("secured", [False, pytest.param(True, id="tls")])
@pytest.mark.parametrize(
    "host", ["127.0.0.1", pytest.param("::1", marks=pytest.mark.skipif(not ipv6_works(), reason="no IPv6 here"))]
)
async def test_addresses_and_tls(
    host: str, secured: bool, server_tls: ssl.SSLContext, client_tls: ssl.SSLContext
) -> None:
    """IPv4 and IPv6, in clear text and with a certificate of a local authority."""
    async with serving(echo, host=host, tls=server_tls if secured else None) as peer:
        ours = await read_responses(PooledTransport(verify=client_tls), peer.url, "POST")
        theirs = await read_responses(httpx.AsyncHTTPTransport(verify=client_tls), peer.url, "POST")
    assert ours == theirs


@pytest.mark.parametrize("line", ["X-Long: " + "a" * 70_000, "\r\n".join(f"X-{n}: {n}" for n in range(9000))],
                         ids=["a long line", "many lines"])  # fmt: skip
async def test_endless_head(line: str) -> None:
    """Reject a head of more than 64 KiB, and close the connection."""
    long = always(head("200 OK", line, "Content-Length: 0"))
    async with serving(long) as peer, client(peer) as http:
        with pytest.raises(httpx.RemoteProtocolError, match="head of the response is longer"):
            await http.get("/")
        await peer.deserted()


@pytest.mark.parametrize("length", ["4", "9"])
async def test_a_body_of_another_length_than_its_head_says(length: str) -> None:
    async with serving() as peer, client(peer) as http:
        with pytest.raises(httpx.LocalProtocolError):
            await http.post("/", content=b"a sale", headers={"Content-Length": length})
