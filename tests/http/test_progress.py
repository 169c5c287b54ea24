"""How far a request got, as the transport reports it."""

from typing import Any

import anyio
import httpx
import pytest
import respx

from gateway_async._http.progress import PROGRESS, Progress, Stage

from .scripted_server import Peer, Wire, answer_never, client, once, places, serving, until

pytestmark = pytest.mark.anyio


async def post(http: httpx.AsyncClient, **options: Any) -> tuple[Progress, Exception | None]:
    """Make one write; tell how far it got and how it failed."""
    progress = Progress()
    try:
        await http.post("/", extensions={PROGRESS: progress}, **{"content": b"a sale", **options})
    except httpx.HTTPError as error:
        return progress, error
    return progress, None


async def test_answered() -> None:
    """A call that was answered got to its end."""
    async with serving() as peer, client(peer) as http:
        for _ in range(2):
            progress, error = await post(http)
            assert (progress.stage, progress.may_have_been_sent, error) == (Stage.RESPONSE_STARTED, True, None)


async def test_refused_port(closed_port: Peer) -> None:
    """A refused connection is told from a lost answer: nothing can have left."""
    async with client(closed_port) as http:
        progress, error = await post(http)
        assert (progress.stage, progress.may_have_been_sent) == (Stage.CONNECTING, False)
        assert type(error) is httpx.ConnectError


async def test_connection_that_does_not_come_about(deaf_port: Peer) -> None:
    """A time-out while connecting says so: nothing can have left."""
    async with client(deaf_port) as http:
        progress, error = await post(http, timeout=httpx.Timeout(5, connect=0.05))
        assert (progress.stage, progress.may_have_been_sent) == (Stage.CONNECTING, False)
        assert type(error) is httpx.ConnectTimeout


async def test_request_that_cannot_be_sent() -> None:
    """Report an invalid request before any byte can be sent."""
    async with serving() as peer, client(peer, verify="/no/such/authority.pem") as http:
        for url, headers in ((peer.url, {"X-Note": "a\r\nb"}), (peer.url.replace("http:", "https:"), {})):
            progress = Progress()
            with pytest.raises((httpx.LocalProtocolError, OSError)):
                await http.post(url, content=b"a sale", headers=headers, extensions={PROGRESS: progress})
            assert (progress.stage, progress.may_have_been_sent) == (Stage.QUEUED, False)
        assert peer.opened == 0


async def test_no_free_place() -> None:
    """A call that never got a place in the pool never left the queue."""
    async with serving(answer_never) as peer, client(peer, max_connections=1) as http:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(http.get, "/")
            await until(lambda: peer.opened == 1)
            progress, error = await post(http, timeout=httpx.Timeout(5, pool=0.02))
            assert (progress.stage, progress.may_have_been_sent) == (Stage.QUEUED, False)
            assert type(error) is httpx.PoolTimeout
            tasks.cancel_scope.cancel()
        assert places(http).borrowed_tokens == 0


@pytest.mark.parametrize("reset", [False, True], ids=["closed", "reset"])
async def test_server_that_closes_after_it_has_read_the_request(reset: bool) -> None:
    """A connection that ends after the request was read is never reported as one that was not made."""

    async def read_and_close(wire: Wire) -> None:
        await wire.request()
        if reset:
            wire.reset_on_close()

    async with serving(read_and_close) as peer, client(peer) as http:
        progress, error = await post(http)
        assert (progress.stage, progress.may_have_been_sent) == (Stage.SENDING, True)
        assert type(error) in (httpx.RemoteProtocolError, httpx.ReadError)
        assert peer.opened == 1


async def test_reset_before_the_request_is_read() -> None:
    """A connection that is reset after the first byte may have carried the request: this side cannot know."""

    async def reset(wire: Wire) -> None:
        await wire._reader.receive_exactly(1)
        wire.reset_on_close()

    async with serving(reset) as peer, client(peer) as http:
        progress, error = await post(http, content=bytes(5_000_000))
        assert (progress.stage, progress.may_have_been_sent) == (Stage.SENDING, True)
        assert isinstance(error, httpx.TransportError)


async def test_kept_connection_that_ends_under_the_next_request() -> None:
    """A write on a kept connection that ends without an answer is reported, not sent again."""
    seen: list[bytes] = []

    async def answer_the_first(wire: Wire) -> None:
        await wire.request()
        await wire.answer()
        _, body = await wire.request()
        seen.append(body)

    async with serving(answer_the_first) as peer, client(peer) as http:
        await http.get("/")
        progress, error = await post(http)
        assert (progress.stage, type(error)) == (Stage.SENDING, httpx.RemoteProtocolError)
        assert (seen, peer.opened) == ([b"a sale"], 1)


async def test_answer_that_is_no_http() -> None:
    """Reject garbage as a head."""
    async with serving(once(b"\x00\x01 garbage \r\n\r\n")) as peer, client(peer) as http:
        progress, error = await post(http)
        assert (progress.stage, type(error)) == (Stage.SENDING, httpx.RemoteProtocolError)


async def test_body_that_is_cut_off() -> None:
    """Once the head is there the call counts as answered, though the rest be missing."""
    async with serving(once(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhal")) as peer, client(peer) as http:
        progress, error = await post(http)
        assert (progress.stage, type(error)) == (Stage.RESPONSE_STARTED, httpx.RemoteProtocolError)


async def test_cancelled_calls() -> None:
    """A cancelled call leaves the word on how far it got."""
    progress = Progress()
    async with serving(answer_never) as peer, client(peer) as http, anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: http.post("/", content=b"a sale", extensions={PROGRESS: progress}))
        await until(lambda: progress.stage is Stage.SENDING)
        tasks.cancel_scope.cancel()
    assert (progress.stage, progress.may_have_been_sent) == (Stage.SENDING, True)


async def test_request_is_left_as_it_was() -> None:
    """The transport adds nothing to a request, which its maker may send again."""
    async with serving() as peer, client(peer) as http:
        request = http.build_request("POST", "/", content=b"a sale", extensions={PROGRESS: Progress()})
        before = dict(request.extensions)
        await http.send(request)
        assert request.extensions == before


async def test_foreign_transport() -> None:
    """A transport that does not report leaves the question open, which counts as sent."""
    router = respx.Router()
    router.post("http://gateway.test/").mock(side_effect=httpx.ConnectError)
    async with httpx.AsyncClient(
        base_url="http://gateway.test", transport=httpx.MockTransport(router.async_handler)
    ) as http:
        progress, error = await post(http)
        await progress.discard()
        assert (progress.stage, progress.may_have_been_sent) == (Stage.UNREPORTED, True)
        assert type(error) is httpx.ConnectError
