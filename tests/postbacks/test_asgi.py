"""A receiver as an ASGI application: by itself, and in Starlette and FastAPI."""

import socket
from collections.abc import AsyncIterator, Callable, MutableMapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
import starlette.routing
import uvicorn
from fastapi import FastAPI
from starlette.applications import Starlette

from gateway_async.postbacks import Postback, PostbackReceiver, SqliteInbox
from tests.support.waiting import PATIENCE

from .postback_requests import HEADERS, PASSWORD, USER, form, http_scope, receiver, recording_receiver, sale

pytestmark = pytest.mark.anyio


async def answered(app: Any, scope: dict[str, Any], *messages: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the messages that an application sends after it receives these."""
    waiting, sent = list(messages), list[dict[str, Any]]()

    async def receive() -> dict[str, Any]:
        return waiting.pop(0)

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await app(scope, receive, send)
    return sent


def part(body: bytes, *, more: bool = False) -> dict[str, Any]:
    """A piece of a body."""
    return {"type": "http.request", "body": body, "more_body": more}


async def test_pieces() -> None:
    """A body may come in pieces, empty ones too, and end with a message that says nothing."""
    body = form()
    pieces = [part(body[:7], more=True), part(b"", more=True), part(body[7:], more=True), {"type": "http.request"}]
    sent = await answered(receiver().asgi, http_scope(), *pieces)
    assert sent == [
        {"type": "http.response.start", "status": 204, "headers": []},
        {"type": "http.response.body", "body": b""},
    ]


async def test_refusals() -> None:
    """A refusal has headers and its length in bytes; HEAD gets no body, and credentials that come twice are missing."""
    start, body = await answered(receiver().asgi, http_scope(headers={}))
    assert (start["status"], int(dict(start["headers"])[b"content-length"])) == (401, len(body["body"]))
    assert dict(start["headers"])[b"www-authenticate"].startswith(b"Basic ")
    start, body = await answered(receiver().asgi, http_scope("HEAD"))
    assert (start["status"], dict(start["headers"])[b"allow"], body["body"]) == (405, b"POST", b"")
    for headers, status in (
        ([(b"authorization", b"Basic eDp5")], 401),
        ([(b"x-\xff", b"\x00\xff"), (b"content-type", b"\xe9")], 204),  # not text
    ):
        scope = http_scope()
        scope["headers"] += headers
        assert (await answered(receiver().asgi, scope, part(form())))[0]["status"] == status


async def test_disconnect() -> None:
    """An incomplete body is not parsed, even if it would be valid."""
    shop, received = recording_receiver()
    assert await answered(shop.asgi, http_scope(), part(form(), more=True), {"type": "http.disconnect"}) == []
    assert received == []


async def test_stored_postbacks_are_handled_while_the_server_runs(tmp_path: Path) -> None:
    shop = PostbackReceiver(USER, PASSWORD, inbox=SqliteInbox(tmp_path / "inbox.db"))
    received, happened = list[str](), anyio.Event()

    @shop.on("transaction")
    async def note(postback: Postback[Any]) -> None:
        received.append(postback.record_id)
        happened.set()

    to_server, from_shop = anyio.create_memory_object_stream[MutableMapping[str, Any]](2)
    to_shop, from_server = anyio.create_memory_object_stream[MutableMapping[str, Any]](2)
    with to_server, from_shop, to_shop, from_server:
        async with anyio.create_task_group() as server:
            scope: MutableMapping[str, Any] = {"type": "lifespan"}
            server.start_soon(shop.asgi, scope, from_server.receive, to_server.send)
            await to_shop.send({"type": "lifespan.startup"})
            assert await from_shop.receive() == {"type": "lifespan.startup.complete"}
            assert (await answered(shop.asgi, http_scope(), part(form())))[0]["status"] == 204
            with anyio.fail_after(PATIENCE):
                await happened.wait()
            await to_shop.send({"type": "lifespan.shutdown"})
            assert await from_shop.receive() == {"type": "lifespan.shutdown.complete"}
    assert len(received) == 1


async def test_other_scopes() -> None:
    """A websocket is closed before it is accepted, and an unknown scope is an error."""
    assert await answered(receiver().asgi, {"type": "websocket"}) == [{"type": "websocket.close", "code": 1003}]
    with pytest.raises(RuntimeError, match="unsupported ASGI scope type: telegrams"):
        await answered(receiver().asgi, {"type": "telegrams"})


# --- in applications


def mounted(shop: PostbackReceiver) -> Any:
    """In FastAPI, under a path."""
    app = FastAPI()
    app.mount("/postbacks", shop.asgi)
    return app


def routed(shop: PostbackReceiver) -> Any:
    """In Starlette, at exactly a path."""
    return Starlette(routes=[starlette.routing.Route("/postbacks", shop.asgi)])


def routed_in_fastapi(shop: PostbackReceiver) -> Any:
    """In FastAPI, at exactly a path."""
    app = FastAPI()
    app.router.routes.append(starlette.routing.Route("/postbacks", shop.asgi))
    return app


def client(app: Any) -> httpx.AsyncClient:
    """Call an application as a gateway does, without following redirects."""
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://shop.test", auth=(USER, PASSWORD))


@pytest.mark.parametrize(
    ("build", "path"),
    [
        (mounted, "/postbacks/"),
        (mounted, "/postbacks/shop-7"),
        (routed, "/postbacks"),
        (routed_in_fastapi, "/postbacks"),
    ],
)
async def test_mounted(build: Callable[[PostbackReceiver], Any], path: str) -> None:
    """A mounted receiver answers below its path, a routed one at it."""
    shop, received = recording_receiver("transaction")
    async with client(build(shop)) as gateway:
        taken = await gateway.post(path, content=form(sale(transaction_amount="7.00")))
        other = await gateway.get(path)
    assert (taken.status_code, other.status_code, other.headers["allow"]) == (204, 405, "POST")
    assert [str(postback.record.transaction_amount) for postback in received] == ["7.00"]


@asynccontextmanager
async def served(app: Any, **options: Any) -> AsyncIterator[int]:
    """An application under uvicorn; its port."""
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=5, **options))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.serve, [listening])
        try:
            yield listening.getsockname()[1]
        finally:
            server.should_exit = True


@pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)
async def test_real_sockets(caplog: pytest.LogCaptureFixture) -> None:
    """Requests one after the other on a connection; then one that is too large, and a caller that goes away."""
    shop, received = recording_receiver(max_bytes=5000)
    async with served(shop.asgi) as port:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", auth=(USER, PASSWORD)) as gateway:
            statuses = [
                (await gateway.post("/", content=form(sale(id="a")))).status_code,
                (await gateway.head("/")).status_code,
                (await gateway.post("/", content=b"x" * 5001)).status_code,
                (await gateway.post("/", content=b"x")).status_code,
                (await gateway.post("/any", content=form(sale(id="b")))).status_code,
            ]
        head = f"POST / HTTP/1.1\r\nHost: shop.test\r\nAuthorization: {HEADERS['Authorization']}\r\n"
        stream = await anyio.connect_tcp("127.0.0.1", port)
        await stream.send(f"{head}Content-Length: 4000\r\n\r\n".encode() + form(sale(id="c")))
        await stream.aclose()
    assert statuses == [204, 405, 413, 400, 204]
    assert [postback.record_id for postback in received] == ["a", "b"]
    troubles = [record.getMessage() for record in caplog.records if record.levelname in ("WARNING", "ERROR")]
    assert [each for each in troubles if not each.startswith("postback rejected with 4")] == []


@pytest.mark.parametrize("client", [None, ("203.0.113.9", 5)])
async def test_unknown_peer(client: tuple[str, int] | None) -> None:
    """On a Unix socket a server does not know its peer, and then none is in an allowed network."""
    shop = receiver(allowed_networks=["203.0.113.0/24"])
    (start, _) = await answered(shop.asgi, {**http_scope(), "client": client}, part(form()))
    assert start["status"] == (204 if client else 403)
