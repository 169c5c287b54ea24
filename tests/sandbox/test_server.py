"""The listening socket by itself, and clients that send requests slowly, in part, or without an end.

Such clients hold neither a connection nor memory.
"""

import asyncio
import json
import socket
from contextlib import suppress

import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from gateway_async.sandbox import Sandbox
from gateway_async.sandbox.http import server
from gateway_async.sandbox.http.server import Listener
from tests.support import plain_http
from tests.support.waiting import PATIENCE

from .conftest import Shop, connected

HEAD = b"POST /_sandbox/clock HTTP/1.1\r\nhost: localhost\r\n"
SHORT = 0.2


def received(connection: socket.socket) -> bytes:
    parts = []
    with suppress(ConnectionResetError):
        while part := connection.recv(65536):
            parts.append(part)
    return b"".join(parts)


def status(response: bytes) -> int:
    """Return the status, and check that the response is one refusal as JSON."""
    head, _, body = response.partition(b"\r\n\r\n")
    assert b"connection: close" in head
    assert set(json.loads(body)) == {"name", "message", "code", "status"}
    return int(head.split()[1])


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the limits, so that the test need not wait."""
    monkeypatch.setattr(server, "HEAD_SECONDS", SHORT)
    monkeypatch.setattr(server, "BODY_SECONDS", SHORT)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    "sent",
    [
        b"P",
        b"POST /v2/contacts HTTP/1.1\r\nhost: localhost\r\nx-slow: ",
        HEAD + b"content-length: 14\r\n\r\n",
        HEAD + b'content-length: 14\r\n\r\n{"advance"',
        HEAD + b"transfer-encoding: chunked\r\n\r\n5\r\n{",
        b"POST /faults HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\ncsrf_token=",
        b"POST /v2/contacts HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\nexpect: 100-continue\r\n\r\n",
    ],
    ids=["line", "head", "no body", "body", "chunk", "form", "continue"],
)
def test_half_request(sandbox: Sandbox, sent: bytes) -> None:
    """Half a request gets a 408 or an earlier refusal, and the connection is closed."""
    with connected(sandbox) as connection:
        connection.sendall(sent)
        response = received(connection)
    assert b" 408 Request Timeout\r\n" in response or response.startswith(b"HTTP/1.1 401 ")
    sandbox.wait_until_idle()


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("head", [b"", HEAD + b"content-length: 100000\r\n\r\n"], ids=["head", "body"])
def test_dripping_request(sandbox: Sandbox, head: bytes) -> None:
    """The limit is for the whole request, so a byte now and then does not help."""
    with connected(sandbox) as connection:
        connection.sendall(head or b"GET / HTTP/1.1\r\nx: ")
        connection.settimeout(SHORT / 10)
        response = b""
        while not response:
            with suppress(TimeoutError):
                response = connection.recv(65536)
            with suppress(OSError):
                connection.send(b"x")
    assert status(response) == 408


def test_a_header_that_never_ends_is_431(sandbox: Sandbox) -> None:
    sent, limit = 0, 1000 * server.HEAD_LIMIT
    with connected(sandbox) as connection, suppress(ConnectionError):
        connection.sendall(b"GET / HTTP/1.1\r\nx: ")
        while sent < limit:
            sent += connection.send(b"x" * 65536)
    assert sent < limit
    assert plain_http.get(f"{sandbox.base_url}/_sandbox/clock").status_code == 200


def test_usual_request(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """A complete request starts no timer; its handler may take longer than its arrival."""
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.0)
    monkeypatch.setattr(server, "BODY_SECONDS", 0.0)
    with connected(sandbox) as connection:
        for _ in range(2):
            connection.sendall(b"GET /_sandbox/clock HTTP/1.1\r\nhost: localhost\r\n\r\n")
            response = b""
            while not response.endswith(b"}"):  # head and body may arrive separately
                response += connection.recv(65536)
            assert response.startswith(b"HTTP/1.1 200 ")


@pytest.mark.usefixtures("quick")
def test_slow_response(shop: Shop, sandbox: Sandbox) -> None:
    """A slow response is not a slow request."""
    sandbox.fault("POST /v2/contacts", "delay", seconds=3 * SHORT)
    assert shop.contact().status_code == 201


@pytest.mark.usefixtures("quick")
def test_second_request(shop: Shop, sandbox: Sandbox) -> None:
    """Half a request behind one in progress waits until that one has its response."""
    sandbox.fault("GET /v2/contacts", "delay", seconds=3 * SHORT)
    keys = "".join(f"{name}: {value}\r\n" for name, value in shop.http.headers.items() if "-" in name)
    with connected(sandbox) as connection:
        connection.sendall(f"GET /v2/contacts HTTP/1.1\r\nhost: localhost\r\n{keys}\r\nGET /v2/con".encode())
        response = received(connection)
    assert response.startswith(b"HTTP/1.1 200 OK\r\n")
    assert response.count(b"HTTP/1.1 408 ") == 1


@pytest.mark.asyncio
async def test_idle_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection without a request is closed, as one that is idle after a response."""
    monkeypatch.setattr("gateway_async.sandbox.http.server._KEEP_ALIVE", SHORT)
    with Sandbox() as sandbox, connected(sandbox) as connection:
        assert received(connection) == b""


@pytest.mark.asyncio
@pytest.mark.parametrize("way", ["pause", "close"])
async def test_early_stop(way: str) -> None:
    """Stopping at the moment of a connection drops it, and leaves nothing to the garbage collector."""
    listener = Listener(PlainTextResponse("here"), "127.0.0.1", 0)
    await listener.bind()
    await listener.open()
    with socket.create_connection(("127.0.0.1", listener.port)) as caller:
        for _ in range(2):  # in the second iteration of the loop the connection is accepted, and has no transport yet
            await asyncio.sleep(0)
        await getattr(listener, way)()
        await asyncio.sleep(0)
        caller.setblocking(False)
        try:
            said = await asyncio.wait_for(asyncio.get_running_loop().sock_recv(caller, 1), PATIENCE)
        except ConnectionResetError:
            said = b""
    assert said == b""


@pytest.mark.asyncio
async def test_cancelled_wait() -> None:
    """`wait_until_idle` leaves no open connection when its timeout cancels it before the response."""
    requested, disconnected = asyncio.Event(), asyncio.Event()

    async def wait_for_disconnect(scope: Scope, receive: Receive, send: Send) -> None:
        requested.set()
        while (await receive())["type"] != "http.disconnect":
            pass
        disconnected.set()

    async with Listener(wait_for_disconnect, "127.0.0.1", 0) as listener:
        waiting = asyncio.create_task(listener.wait_until_idle())
        await asyncio.wait_for(requested.wait(), PATIENCE)
        waiting.cancel()
        await asyncio.wait_for(disconnected.wait(), PATIENCE)
