"""Responses of servers, valid and invalid, and the transport's options."""

import contextlib
import re
import ssl
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, cast

import anyio
import anyio.to_thread
import httpx
import pytest

from gateway_async import AsyncGateway, GatewayError
from gateway_async._http import connection as module
from gateway_async._http.transport import PooledTransport
from tests.support.scripted_server import (
    Peer,
    Script,
    Wire,
    always,
    client,
    gateway_at,
    idle,
    never_respond,
    once,
    respond_to_all,
    serving,
    transport_of,
    until,
)
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio

GARBAGE = b"\x00\x01 what is this\r\n\r\n"


@pytest.mark.parametrize(("body", "connections"), [(b"", 1), (b"hello", 2)], ids=["none", "one that must not exist"])
async def test_head_request(body: bytes, connections: int) -> None:
    """The response to a HEAD ends with its head, whatever length it names; a body is dropped with its connection."""
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
    async with serving(always(head + body)) as peer, client(peer) as http:
        assert [(await http.head("/")).content for _ in range(2)] == [b"", b""]
        assert peer.opened == connections


@pytest.mark.parametrize("head", [b"HTTP/1.1 200 OK\r\nConnection: close", b"HTTP/1.0 200 OK"])
async def test_closed_connection(head: bytes) -> None:
    """A connection that is to be closed after the response is not used again, and we close it too."""
    async with serving(always(head + b"\r\nContent-Length: 2\r\n\r\nok")) as peer, client(peer) as http:
        assert [(await http.get("/")).text for _ in range(2)] == ["ok", "ok"]
        assert peer.opened == 2
        await peer.deserted()


async def test_a_body_without_a_length_lasts_until_the_server_closes() -> None:
    async with serving(once(b"HTTP/1.1 200 OK\r\n\r\nall of it")) as peer, client(peer) as http:
        assert (await http.get("/")).text == "all of it"


async def test_released_request() -> None:
    """While its response is awaited nothing is kept of it: thousands may wait at terminals."""
    async with serving(never_respond) as peer, anyio.create_task_group() as tasks:
        request = httpx.Request("POST", peer.url, content=b"question")
        sent = weakref.ref(request)
        tasks.start_soon(PooledTransport().handle_async_request, request)
        del request
        await until(lambda: sent() is None)
        tasks.cancel_scope.cancel()


async def test_early_refusal() -> None:
    """A response that comes before the whole request was read, from a server that then closes, is not lost."""

    async def refuse(wire: Wire) -> None:
        await wire._reader.receive_exactly(1)
        await wire.send(b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno")
        await wire.gone()

    async with serving(refuse) as peer, client(peer) as http:
        assert (await http.post("/", content=bytes(1_000_000))).status_code == 413


REFUSED = b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno"


async def steps(count: int) -> AsyncIterator[bytes]:
    """Yield an upload of that many steps, larger than any socket buffer."""
    for _ in range(count):
        yield b""
        await anyio.to_thread.run_sync(bytes)  # as files are read: much can happen meanwhile
        yield bytes(65536)


def early(response: bytes, end: str) -> Script:
    """Answer as soon as the head is there, read no more, and end like that."""

    async def script(wire: Wire) -> None:
        await wire._reader.receive_until(b"\r\n\r\n", 65536)
        await wire.send(response)
        if end == "reset":
            wire.reset_on_close()
        if end == "stay":
            await anyio.sleep_forever()

    return script


# The generator of a body that is not sent to its end is httpx's, and left to the garbage collector: trio warns of it.
ON_ASYNCIO = pytest.mark.parametrize("anyio_backend", ["asyncio"])


@ON_ASYNCIO
@pytest.mark.parametrize("secured", [False, pytest.param(True, id="tls")])
@pytest.mark.parametrize("end", ["stay", "close", "reset"])
async def test_unread_upload(end: str, secured: bool, server_tls: ssl.SSLContext, client_tls: ssl.SSLContext) -> None:
    """A refusal ends the upload at once, whatever the server then does; the connection is not used again."""
    script = early(REFUSED, end)
    async with serving(script, tls=server_tls if secured else None) as peer, client(peer, verify=client_tls) as http:
        response = await http.post("/", content=steps(1000))
        assert (response.status_code, response.text) == (413, "no")
        assert idle(http) == 0


@ON_ASYNCIO
@pytest.mark.parametrize("response", [GARBAGE, b"HTTP/1.1 413 Too"], ids=["garbage", "half a head"])
async def test_an_upload_ends_after_an_invalid_response(response: bytes) -> None:
    async with serving(early(response, "close")) as peer, client(peer) as http:
        with pytest.raises((httpx.RemoteProtocolError, httpx.ReadError)):
            await http.post("/", content=steps(1000))
        await peer.deserted()


async def test_informational_response() -> None:
    """Continue the upload after an informational response, and keep the connection."""

    async def go_on(wire: Wire) -> None:
        await wire._reader.receive_until(b"\r\n\r\n", 65536)
        await wire.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        data = b""
        while not data.endswith(b"\r\n0\r\n\r\n"):
            data += await wire._reader.receive()
        await wire.respond(str(data.count(b"\0")))
        await wire.gone()

    async with serving(go_on) as peer, client(peer) as http:
        assert (await http.post("/", content=steps(50))).text == str(50 * 65536)
        assert idle(http) == 1


@pytest.mark.parametrize("framing", [b"2\r\nok\r\n0\r\nX-Sum: ", b"2;note=", b"0000"], ids=["trailer", "chunk", "size"])
async def test_framing_without_end(framing: bytes) -> None:
    """Limit trailers and chunk framing to 64 KiB."""

    async def endless(wire: Wire) -> None:
        await wire.request()
        await wire.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + framing)
        while True:
            await wire.send(b"0" * 8192)

    async with serving(endless) as peer, client(peer) as http:
        with pytest.raises(httpx.RemoteProtocolError, match="framing of the response is longer"):
            await http.get("/")
        await peer.deserted()


@pytest.mark.parametrize(
    "response",
    [
        GARBAGE,
        b"",
        b"HTTP/1.1 200",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000 + b"\r\n\r\n",
    ],
    ids=["garbage", "nothing", "half a head", "half a body", "half a chunk", "endless head"],
)
async def test_invalid_responses(response: bytes) -> None:
    """Raise httpx's error for a cut or invalid response, and close the connection."""
    async with serving(once(response)) as peer, client(peer) as http:
        with pytest.raises(httpx.RemoteProtocolError):
            await http.get("/")
        await peer.deserted()


async def test_reset_connection() -> None:
    """A connection that is reset after the request is a read error."""

    async def reset(wire: Wire) -> None:
        await wire.request()
        wire.reset_on_close()

    async with serving(reset) as peer, client(peer) as http:
        with pytest.raises(httpx.ReadError):
            await http.get("/")


async def test_silent_server() -> None:
    """A server that does not answer is a read time-out after the seconds given for it."""
    async with serving(never_respond) as peer, client(peer) as http:
        with pytest.raises(httpx.ReadTimeout):
            await http.get("/", timeout=httpx.Timeout(PATIENCE, read=0.05))
        await peer.deserted()


async def test_a_server_that_does_not_read_is_a_write_time_out(busy_port: Peer) -> None:
    async with client(busy_port) as http:
        with pytest.raises(httpx.WriteTimeout):
            await http.post("/", content=bytes(20_000_000), timeout=httpx.Timeout(PATIENCE, write=0.05))


async def test_url_that_is_not_http() -> None:
    async with httpx.AsyncClient(transport=PooledTransport()) as http:
        with pytest.raises(httpx.UnsupportedProtocol, match="not with 'ftp'"):
            await http.get("ftp://127.0.0.1/")


async def test_socket_options() -> None:
    """A connection probes a silent peer, and does not hold back small packets."""
    async with serving() as peer, client(peer) as http:
        await http.get("/")
        ((connection,),) = transport_of(http)._pools["ordinary"]._idle.values()
        wire = cast("Any", connection)._raw
        options = {(level, option): wire.getsockopt(level, option) for level, option, _ in module._SOCKET_OPTIONS}
        assert options == {(level, option): value for level, option, value in module._SOCKET_OPTIONS}


LENGTHS: dict[str, tuple[Callable[[AsyncGateway], Awaitable[object]], list[bytes]]] = {
    "settle": (lambda gateway: gateway.transaction_batches.settle("b" * 24), [b"0"]),
    "resend": (lambda gateway: gateway.quick_invoices.resend("q" * 24), [b"0"]),
    "reopen": (lambda gateway: gateway.quick_invoices.reopen("q" * 24), [b"0"]),
    "POST": (lambda gateway: gateway.request("POST", "/v2/x"), [b"0"]),
    "PUT": (lambda gateway: gateway.request("PUT", "/v2/x"), [b"0"]),
    "PATCH": (lambda gateway: gateway.request("PATCH", "/v2/x"), [b"0"]),
    "PUT with a body": (lambda gateway: gateway.request("PUT", "/v2/x", body={}), [b"2"]),
    "DELETE": (lambda gateway: gateway.contacts.delete("c" * 24), []),
    "GET": (lambda gateway: gateway.request("GET", "/v2/x"), []),
}


@pytest.mark.parametrize("transport", [None, httpx.AsyncHTTPTransport], ids=["ours", "httpx"])
async def test_empty_body(transport: Callable[[], httpx.AsyncBaseTransport] | None) -> None:
    """Some servers (IIS, lighttpd) refuse a POST or a PUT without a length (411, RFC 9110, section 8.6)."""
    heads: list[bytes] = []

    async def script(wire: Wire) -> None:
        while True:
            head, _ = await wire.request()
            heads.append(head)
            await wire.send(b"HTTP/1.1 204 No Content\r\n\r\n")

    async with serving(script) as peer, gateway_at(peer.url, transport=transport and transport()) as gateway:
        for name, (verb, lengths) in LENGTHS.items():
            heads.clear()
            with contextlib.suppress(GatewayError):  # some of them need a record in the response
                await verb(gateway)
            assert re.findall(rb"(?i)\r\ncontent-length: *(\d+)", heads[0]) == lengths, name


def test_late_loop() -> None:
    """A client may be built before there is an event loop; it belongs to the first that uses it."""
    import asyncio

    transport = PooledTransport()

    async def call() -> str:
        async with serving(respond_to_all) as peer, httpx.AsyncClient(transport=transport) as http:
            return (await http.get(peer.url)).text

    assert asyncio.run(call()) == "1"
