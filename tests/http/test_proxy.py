"""Calls through an HTTP proxy: its tunnel, its refusals, and what they say about the request."""

import re
import ssl
from base64 import b64encode
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import attrs
import httpx
import pytest

from gateway_async import AsyncGateway, GatewayError, InvalidRequestError, NotSentError, UserApiKey
from gateway_async._http.progress import PROGRESS, Progress, Stage
from gateway_async._http.proxy import Proxy
from gateway_async.sandbox import Sandbox
from tests.support.leaks import leaks
from tests.support.sales import sale
from tests.support.scripted_server import LOST, Peer, Wire, always, client, gateway_at, idle, once, serving
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio

OPEN = b"HTTP/1.1 200 Connection established\r\n\r\n"


@attrs.define
class Forwarding:
    """The script of a proxy that opens the tunnels it is asked for; it can hang up during a response."""

    heads: list[bytes] = attrs.field(factory=list)
    closes_at_response: bool = False

    async def __call__(self, wire: Wire) -> None:
        head, _ = await wire.request()
        self.heads.append(head)
        target = re.match(rb"CONNECT \[?([^ ]+?)\]?:(\d+) HTTP/1.1\r\n", head)
        assert target
        host = target[1].decode().replace("gateway.test", "127.0.0.1")
        async with await anyio.connect_tcp(host, int(target[2])) as gateway:
            await wire.send(OPEN)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_copy, wire.stream.receive, gateway.send, tasks.cancel_scope)
                response = _close if self.closes_at_response else wire.stream.send
                tasks.start_soon(_copy, gateway.receive, response, tasks.cancel_scope)


async def _copy(
    receive: Callable[[], Awaitable[bytes]], send: Callable[[bytes], Awaitable[None]], scope: anyio.CancelScope
) -> None:
    try:
        while True:
            await send(await receive())
    except LOST:
        scope.cancel()


async def _close(_: bytes) -> None:
    raise anyio.EndOfStream


def proxy_of(peer: Peer, credentials: str = "") -> Proxy:
    proxy, problem = Proxy.parse(peer.url.replace("http://", f"http://{credentials}"))
    assert proxy, problem
    return proxy


async def test_tunnel(server_tls: ssl.SSLContext, client_tls: ssl.SSLContext) -> None:
    """The proxy opens one tunnel, in which TLS is spoken with the gateway; the calls keep the connection."""
    forward = Forwarding()
    async with (
        serving(tls=server_tls) as peer,
        serving(forward) as proxy,
        client(peer, verify=client_tls, proxy=proxy_of(proxy)) as http,
    ):
        assert [(await http.post("/", content=bytes(500_000))).text for _ in range(3)] == ["1", "1", "1"]
        assert idle(http) == 1
    port = peer.url.rpartition(":")[2].encode()
    assert forward.heads == [b"CONNECT 127.0.0.1:%b HTTP/1.1\r\nHost: 127.0.0.1:%b" % (port, port)]


async def test_ipv6_gateway(server_tls: ssl.SSLContext, client_tls: ssl.SSLContext) -> None:
    """The address is in brackets."""
    forward = Forwarding()
    async with (
        serving(host="::1", tls=server_tls) as peer,
        serving(forward) as proxy,
        client(peer, verify=client_tls, proxy=proxy_of(proxy)) as http,
    ):
        assert (await http.get("/")).text == "1"
    assert forward.heads[0].startswith(b"CONNECT [::1]:")


async def test_international_name() -> None:
    """The proxy gets the name that the URL means (IDNA 2008), not a similar one."""
    heads: list[bytes] = []

    async def refuse(wire: Wire) -> None:
        heads.append((await wire.request())[0])
        await wire.send(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")

    async with serving(refuse) as proxy, client(Peer("https://fa\u00df.test"), proxy=proxy_of(proxy)) as http:
        with pytest.raises(httpx.ProxyError):
            await http.get("/")
    assert heads[0].startswith(b"CONNECT xn--fa-hia.test:443 ")


async def test_credentials() -> None:
    """Percent-encoded credentials are decoded, sent to the proxy only, and are in no text."""
    forward, seen = Forwarding(), []

    async def gateway(wire: Wire) -> None:
        seen.append((await wire.request())[0])
        await wire.respond()

    async with serving(gateway) as peer, serving(forward) as proxy:
        made = proxy_of(proxy, "shop:p%40ss%3A1@")
        async with client(peer, proxy=made) as http:
            await http.get("/")
    assert forward.heads[0].endswith(b"\r\nProxy-Authorization: Basic " + b64encode(b"shop:p@ss:1"))
    assert b"authorization" not in seen[0].lower()
    assert "p@ss" not in repr(made)


REFUSALS = {
    "407": (once(b"HTTP/1.1 407 No shop:p@ss here\r\nContent-Length: 0\r\n\r\n"), "the proxy refused: 407"),
    "page": (always(b"HTTP/1.1 503 p@ss\r\nContent-Length: 4\r\n\r\nbusy"), "the proxy refused: 503"),
    "closed": (once(b""), "the proxy closed the connection"),
    "cut": (once(b"HTTP/1.1 200"), "the proxy closed the connection"),
    "no http": (once(b"220 p@ss ESMTP\r\n", linger=True), "the proxy's response: not an HTTP response"),
    "endless": (once(OPEN[:-2] + b"X: y\r\n" * 20_000, linger=True), "the proxy's response: the head"),
    **{
        f"early data after {fields or 'no field'}": (
            once(OPEN[:-2] + fields.encode() + b"\r\nHTTP/1.1 200 OK\r\n\r\n", linger=True),
            "the proxy sent data before the request",
        )
        for fields in ("", "Content-Length: 0\r\n", "Transfer-Encoding: identity\r\n")
    },
    "control characters": (once(b"HTTP/1.1 403 a\x1b[31m\r\n\r\n", linger=True), "the proxy"),
}


@pytest.mark.parametrize("name", REFUSALS)
async def test_refusing_proxy(name: str) -> None:
    """Nothing of the request is sent, the error says why in words of ours, and the connection is closed."""
    script, reason = REFUSALS[name]
    async with serving() as peer, serving(script) as proxy, client(peer, proxy=proxy_of(proxy)) as http:
        progress = Progress()
        with pytest.raises(httpx.ProxyError, match=re.escape(reason)) as caught:
            await http.post("/", content=b"a sale", extensions={PROGRESS: progress})
        assert str(caught.value).isprintable()
        assert "p@ss" not in str(caught.value)
        assert (progress.stage, progress.may_have_been_sent) == (Stage.CONNECTING, False)
        await proxy.deserted()
    assert peer.opened == 0


async def test_the_time_for_connecting_includes_the_tunnel() -> None:
    async with serving() as peer, serving(Wire.gone) as proxy, client(peer, proxy=proxy_of(proxy)) as http:
        with pytest.raises(httpx.ConnectTimeout):
            await http.get("/", timeout=httpx.Timeout(PATIENCE, connect=0.2))
        await proxy.deserted()


async def test_broken_tunnel() -> None:
    """A proxy that hangs up after the request has left says nothing about it."""
    async with serving() as peer, serving(Forwarding(closes_at_response=True)) as proxy:
        async with client(peer, proxy=proxy_of(proxy)) as http:
            progress = Progress()
            with pytest.raises((httpx.RemoteProtocolError, httpx.ReadError)):
                await http.post("/", content=b"a sale", extensions={PROGRESS: progress})
        assert progress.may_have_been_sent


@pytest.mark.parametrize(
    "address",
    [
        "",
        "proxy.test:3128",
        "https://proxy.test:3128",
        "http://:3128",
        "http://a:hunter2@b:1/x",
        "http://shop:12#34@proxy:3128",
        "http://proxy:0",
        "http://proxy:99999",
        "http://a..b:3128",
        7,
    ],
)
def test_invalid_addresses(address: Any) -> None:
    """The option is named, and its value, which may have a password, is not repeated."""
    with pytest.raises(InvalidRequestError) as caught:
        AsyncGateway("https://gateway.test", developer_id="d", credentials=UserApiKey("u", "k"), proxy=address)
    assert caught.value.problems == ('proxy: must be an address such as "http://proxy.example:3128"',)
    assert leaks(caught.value, ["hunter2"], [__file__]) == set()


def test_invalid_option(monkeypatch: pytest.MonkeyPatch) -> None:
    """No frame of the error holds the address of `GATEWAY_PROXY`."""
    for name in ("BASE_URL", "DEVELOPER_ID", "USER_ID", "USER_API_KEY"):
        monkeypatch.setenv(f"GATEWAY_{name}", "https://gateway.test")
    monkeypatch.setenv("GATEWAY_PROXY", "http://shop:hunter2@proxy.test:3128")
    with pytest.raises(InvalidRequestError) as caught:
        AsyncGateway.from_env(timeout=-1)
    assert leaks(caught.value, ["hunter2"], [__file__]) == set()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_local_gateway() -> None:
    """Plain http to the sandbox does not leave the machine."""
    forward = Forwarding()
    async with Sandbox() as sandbox, serving(forward) as proxy, sandbox.gateway(proxy=proxy.url) as gateway:
        assert await gateway.contacts.list().count() >= 0
    assert forward.heads == []


def test_a_proxy_and_a_transport_exclude_each_other() -> None:
    with pytest.raises(InvalidRequestError, match="proxy: not possible with a transport"):
        gateway_at("https://gateway.test", proxy="http://proxy.test:3128", transport=httpx.AsyncHTTPTransport())


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize(
    "response",
    [b"HTTP/1.1 407 no shop:hunter2 here\r\nContent-Length: 0\r\n\r\n", b"HTTP/1.1 no shop:hunter2 here\r\n\r\n"],
    ids=["reason phrase", "no HTTP"],
)
async def test_reason_phrase(response: bytes, client_tls: ssl.SSLContext, caplog: pytest.LogCaptureFixture) -> None:
    """A proxy may repeat its password there; neither the error nor the log has it, with a transport of the caller's."""
    async with serving() as peer, serving(once(response, linger=True)) as proxy:
        transport = httpx.AsyncHTTPTransport(proxy=f"http://shop:hunter2@{proxy.url[7:]}", verify=client_tls)
        address = peer.url.replace("http://", "https://")
        async with gateway_at(address, transport=transport, max_attempts=1) as gateway:
            with pytest.raises(GatewayError) as caught:
                await gateway.contacts.get("c")
    assert "hunter2" not in f"{caught.value!r}{caught.value}{caplog.text}"


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_sale(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lost response is looked up through the proxy of `GATEWAY_PROXY`. After a refusal, nothing was sent."""
    forward = Forwarding()
    async with Sandbox() as sandbox, serving(forward) as proxy:
        for name, value in sandbox.environment().items():
            monkeypatch.setenv(name, value.replace("127.0.0.1", "gateway.test"))
        monkeypatch.setenv("GATEWAY_ALLOW_HTTP", "1")
        monkeypatch.setenv("GATEWAY_PROXY", proxy.url)
        async with AsyncGateway.from_env() as gateway:
            forward.closes_at_response = True
            sandbox.fault("POST /v2/transactions", "delay", seconds=0.5)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_repair, forward)
                payment = await gateway.transactions.create(sale())
        assert payment.approved
        async with serving(REFUSALS["407"][0]) as refusing:
            monkeypatch.setenv("GATEWAY_PROXY", refusing.url.replace("//", "//shop:hunter2@"))
            async with AsyncGateway.from_env(max_attempts=1) as gateway:
                with pytest.raises(NotSentError, match="the proxy refused: 407") as caught:
                    await gateway.transactions.create(sale())
                assert leaks(caught.value, ["hunter2", b64encode(b"shop:hunter2").decode()], [__file__]) == set()
        assert list(sandbox.ledger()["charged"].values()) == [1]


async def _repair(forward: Forwarding) -> None:
    while not forward.heads:
        await anyio.sleep(0.01)
    forward.closes_at_response = False
