"""How far a request got, as the transport reports it."""

import ssl
from itertools import count
from typing import Any

import anyio
import httpx
import pytest
import respx

from gateway_async._http.progress import PROGRESS, Progress, Stage
from tests.support.scripted_server import Peer, Wire, client, never_respond, once, serving, until, use
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio


Fate = tuple[Stage, bool, type[Exception] | None]
RESPONDED = (Stage.RESPONSE_STARTED, True, None)


async def post(http: httpx.AsyncClient, url: str = "/", **options: Any) -> Fate:
    """Make one write; tell how far it got, whether it may have been sent, and how it failed."""
    progress, failure = Progress(), None
    try:
        await http.post(url, extensions={PROGRESS: progress}, **{"content": b"a sale", **options})
    except (httpx.HTTPError, OSError) as error:
        failure = type(error)
    return progress.stage, progress.may_have_been_sent, failure


async def test_answered() -> None:
    """A call that was answered got to its end."""
    async with serving() as peer, client(peer) as http:
        assert [await post(http) for _ in range(2)] == [RESPONDED] * 2


async def test_refused_port(closed_port: Peer) -> None:
    """A refused connection is told from a lost response: nothing can have left."""
    async with client(closed_port) as http:
        assert await post(http) == (Stage.CONNECTING, False, httpx.ConnectError)


async def test_connecting(deaf_port: Peer) -> None:
    """A time-out while connecting says so: nothing can have left."""
    async with client(deaf_port) as http:
        fate = await post(http, timeout=httpx.Timeout(PATIENCE, connect=0.05))
        assert fate == (Stage.CONNECTING, False, httpx.ConnectTimeout)


async def test_an_invalid_request_is_reported_before_any_byte_is_sent() -> None:
    async with serving() as peer, client(peer, verify="/no/such/authority.pem") as http:
        broken_header = await post(http, headers={"X-Note": "a\r\nb"})
        assert broken_header == (Stage.QUEUED, False, httpx.LocalProtocolError)
        assert await post(http, peer.secure_url) == (Stage.QUEUED, False, FileNotFoundError)
        assert peer.opened == 0


async def test_no_free_slot() -> None:
    """A call that never got a slot of the pool never left the queue."""
    async with serving(never_respond) as peer, client(peer, max_connections=1) as http:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(http.get, "/")
            await until(lambda: peer.opened == 1)
            fate = await post(http, timeout=httpx.Timeout(PATIENCE, pool=0.02))
            assert fate == (Stage.QUEUED, False, httpx.PoolTimeout)
            tasks.cancel_scope.cancel()
        assert use(http).in_use == 0


@pytest.mark.parametrize("reset", [False, True], ids=["closed", "reset"])
async def test_closed_after_reading(reset: bool) -> None:
    """A connection that ends after the request was read is never reported as one that was not made."""

    async def read_and_close(wire: Wire) -> None:
        await wire.request()
        if reset:
            wire.reset_on_close()

    async with serving(read_and_close) as peer, client(peer) as http:
        assert await post(http) in [
            (Stage.SENDING, True, httpx.RemoteProtocolError),
            (Stage.SENDING, True, httpx.ReadError),
        ]
        assert peer.opened == 1


async def test_early_reset() -> None:
    """A connection that is reset after the first byte may have carried the request: this side cannot know."""

    async def reset(wire: Wire) -> None:
        await wire._reader.receive_exactly(1)
        wire.reset_on_close()

    async with serving(reset) as peer, client(peer) as http:
        *fate, error = await post(http, content=bytes(5_000_000))
        assert fate == [Stage.SENDING, True]
        assert issubclass(error or object, httpx.TransportError)


async def test_a_write_on_a_kept_connection_that_ends_is_not_sent_again() -> None:
    seen: list[bytes] = []

    async def respond_to_the_first(wire: Wire) -> None:
        await wire.request()
        await wire.respond()
        _, body = await wire.request()
        seen.append(body)

    async with serving(respond_to_the_first) as peer, client(peer) as http:
        await http.get("/")
        assert await post(http) == (Stage.SENDING, True, httpx.RemoteProtocolError)
        assert (seen, peer.opened) == ([b"a sale"], 1)


@pytest.mark.parametrize(
    ("response", "stage"),
    [
        (b"\x00\x01 garbage \r\n\r\n", Stage.SENDING),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhal", Stage.RESPONSE_STARTED),
    ],
    ids=["no head", "half a body"],
)
async def test_unreadable_response(response: bytes, stage: Stage) -> None:
    """Once the head is there the call counts as answered, though the rest be missing; garbage is not a head."""
    async with serving(once(response)) as peer, client(peer) as http:
        assert await post(http) == (stage, True, httpx.RemoteProtocolError)


async def test_cancelled_calls() -> None:
    """A cancelled call leaves the word on how far it got."""
    progress = Progress()
    async with serving(never_respond) as peer, client(peer) as http, anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: http.post("/", content=b"a sale", extensions={PROGRESS: progress}))
        await until(lambda: progress.stage is Stage.SENDING)
        tasks.cancel_scope.cancel()
    assert (progress.stage, progress.may_have_been_sent) == (Stage.SENDING, True)


@pytest.mark.parametrize("kept", [False, True], ids=["new connection", "kept connection"])
@pytest.mark.parametrize("secured", [False, True], ids=["plain", "tls"])
async def test_final_check(
    server_tls: ssl.SSLContext, client_tls: ssl.SSLContext, *, secured: bool, kept: bool
) -> None:
    """The connection is open, and nothing of the request is written; what the check raises ends the request."""
    bodies: list[bytes] = []
    tls = server_tls if secured else None

    async def note(wire: Wire) -> None:
        while True:
            bodies.append((await wire.request())[1])
            await wire.respond()

    async def check() -> None:
        assert progress.stage is Stage.CONNECTING
        await until(lambda: peer.opened == 1)
        if checked:
            raise ConnectionRefusedError("too late")
        await anyio.sleep(0.01)
        checked.append(anyio.current_time())

    checked: list[float] = []
    async with serving(note, tls=tls) as peer, client(peer, verify=client_tls) as http:
        if kept:
            await http.get("/")
        progress = Progress()
        progress.before_sending = check
        assert (await http.post("/", content=b"a sale", extensions={PROGRESS: progress})).status_code == 200
        assert progress.sent_at is not None
        assert checked[0] <= progress.sent_at <= anyio.current_time()
        progress = Progress()
        progress.before_sending = check
        with pytest.raises(ConnectionRefusedError):
            await http.post("/", content=b"a second sale", extensions={PROGRESS: progress})
        assert (progress.stage, progress.may_have_been_sent, progress.sent_at) == (Stage.CONNECTING, False, None)
        assert use(http).in_use == 0
    assert bodies == [*([b""] if kept else []), b"a sale"]


async def test_impatient_server() -> None:
    """A server may lose patience while the lease is renewed: nothing was written, and that is what the error says."""

    async def leave(wire: Wire) -> None:
        await left.wait()

    async def check() -> None:
        left.set()
        await until(lambda: peer.open == 0 and next(polls) == 20)

    left, polls = anyio.Event(), count()
    async with serving(leave) as peer, client(peer) as http:
        progress = Progress()
        progress.before_sending = check
        with pytest.raises(httpx.ConnectError, match="closed the connection before the request"):
            await http.post("/", content=b"a sale", extensions={PROGRESS: progress})
    assert (progress.stage, progress.may_have_been_sent) == (Stage.CONNECTING, False)


async def test_unchanged_request() -> None:
    """The transport adds nothing to a request, which its maker may send again."""
    async with serving() as peer, client(peer) as http:
        request = http.build_request("POST", "/", content=b"a sale", extensions={PROGRESS: Progress()})
        before = dict(request.extensions)
        await http.send(request)
        assert request.extensions == before


async def test_foreign_transport() -> None:
    """A transport that does not report leaves the question open, which counts as sent; to discard it does nothing."""
    router = respx.Router()
    router.post("http://gateway.test/").mock(side_effect=httpx.ConnectError)
    async with httpx.AsyncClient(
        base_url="http://gateway.test", transport=httpx.MockTransport(router.async_handler)
    ) as http:
        assert await post(http) == (Stage.UNREPORTED, True, httpx.ConnectError)
        await Progress().discard()
