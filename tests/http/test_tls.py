"""TLS: trust, its failures, and what only a secured connection can get wrong."""

import asyncio
import functools
import ssl
from pathlib import Path

import anyio
import httpx
import pytest
import trustme
from anyio.streams.tls import TLSStream

from gateway_async._http.progress import PROGRESS, Progress, Stage
from gateway_async._http.transport import POOL, PooledTransport
from tests.support.scripted_server import Wire, client, connecting, idle, serving, use
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio

STRAY = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nstray"


async def test_trusted_server(server_tls: ssl.SSLContext, client_tls: ssl.SSLContext) -> None:
    """Calls to a server that we trust go over one kept connection."""
    async with serving(tls=server_tls) as peer, client(peer, verify=client_tls) as http:
        assert [(await http.post("/", content=bytes(500_000))).text for _ in range(3)] == ["1", "1", "1"]
        assert idle(http) == 1
    assert peer.open == 0


async def test_unknown_authority(server_tls: ssl.SSLContext) -> None:
    """A server that shows a certificate of an unknown authority gets nothing of the request."""
    async with serving(tls=server_tls) as peer, client(peer) as http:
        progress = Progress()
        with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
            await http.post("/", content=b"a sale", extensions={PROGRESS: progress})
        assert (progress.stage, progress.may_have_been_sent) == (Stage.CONNECTING, False)
        await peer.deserted()
        assert use(http).in_use == 0


async def test_foreign_certificate(authority: trustme.CA, client_tls: ssl.SSLContext) -> None:
    """A server that shows another's certificate, though one that we trust, gets nothing either."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("gateway.test").configure_cert(context)
    async with serving(tls=context) as peer, client(peer, verify=client_tls) as http:
        with pytest.raises(httpx.ConnectError):
            await http.get("/")


async def test_bundles(authority: trustme.CA, server_tls: ssl.SSLContext, tmp_path: Path) -> None:
    """Trust the certificates of a CA bundle, or of a folder (here an empty one)."""
    authority.cert_pem.write_to_path(bundle := str(tmp_path / "authority.pem"))
    async with serving(tls=server_tls) as peer:
        async with client(peer, verify=bundle) as http:
            assert (await http.get("/")).text == "1"
        async with client(peer, verify=str(tmp_path)) as http:
            with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
                await http.get("/")


async def test_no_verification(server_tls: ssl.SSLContext) -> None:
    """Without verification any certificate will do, as in httpx."""
    async with serving(tls=server_tls) as peer, client(peer, verify=False) as http:
        assert (await http.get("/")).text == "1"


async def test_clear_text(client_tls: ssl.SSLContext) -> None:
    """A server that answers a TLS greeting in clear text was never connected."""

    async def shout(wire: Wire) -> None:
        await wire.send(STRAY)
        await wire.gone()

    async with serving(shout) as peer, client(peer, verify=client_tls) as http:
        progress = Progress()
        with pytest.raises(httpx.ConnectError):
            await http.get(peer.secure_url, extensions={PROGRESS: progress})
        assert progress.stage is Stage.CONNECTING
        await peer.deserted()


async def test_endless_handshake(client_tls: ssl.SSLContext) -> None:
    """A handshake that does not end is a connect time-out, and its socket is closed."""
    async with serving(lambda wire: wire.gone()) as peer, client(peer, verify=client_tls) as http:
        with pytest.raises(httpx.ConnectTimeout):
            await http.get(peer.secure_url, timeout=httpx.Timeout(PATIENCE, connect=0.05))
        await peer.deserted()


@pytest.mark.parametrize(
    ("length", "stray"),
    [(1, STRAY), (60_000, b"HTTP/1.1 200 OK\r\nContent-Length: 12000\r\n\r\n" + b"s" * 12_000)],
    ids=["in its own record", "partly beyond one read"],
)
async def test_a_second_response_in_a_record_is_dropped(
    length: int, stray: bytes, server_tls: ssl.SSLContext, client_tls: ssl.SSLContext
) -> None:
    async def twice(wire: Wire) -> None:
        await wire.request()
        assert isinstance(wire.stream, TLSStream)
        head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % length
        wire.stream._ssl_object.write(head + b"%d" % wire.number * length)
        await wire.send(stray)
        await wire.gone()

    async with serving(twice, tls=server_tls) as peer, client(peer, verify=client_tls) as http:
        assert [(await http.get("/")).text for _ in range(3)] == [number * length for number in "123"]
        await peer.deserted()


async def test_broken_record(server_tls: ssl.SSLContext, client_tls: ssl.SSLContext) -> None:
    """Bytes that are no TLS, where a response is due, are an error of httpx's and no error of the ssl module."""

    async def break_off(wire: Wire) -> None:
        await wire.request()
        assert isinstance(wire.stream, TLSStream)
        await wire.stream.transport_stream.send(b"this is no record of TLS")
        await wire.gone()

    async with serving(break_off, tls=server_tls) as peer, client(peer, verify=client_tls) as http:
        progress = Progress()
        with pytest.raises(httpx.NetworkError):
            await http.post("/", content=b"a sale", extensions={PROGRESS: progress})
        assert progress.stage is Stage.SENDING
        await peer.deserted()


async def test_lazy_certificates(server_tls: ssl.SSLContext) -> None:
    """A client that speaks http only never loads the trusted certificates, and one that needs them does so once."""
    transport = PooledTransport(verify=False)
    async with serving() as plain, serving(tls=server_tls) as secured, httpx.AsyncClient(transport=transport) as http:
        await http.get(plain.url)
        assert "_ssl_context" not in vars(transport)
        await http.get(secured.url)
        assert isinstance(vars(transport)["_ssl_context"], ssl.SSLContext)


async def test_environment(
    authority: trustme.CA, server_tls: ssl.SSLContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The environment names neither the trusted authorities nor a file for the keys of connections."""
    authority.cert_pem.write_to_path(bundle := str(tmp_path / "authority.pem"))
    for name, value in {"SSL_CERT_FILE": bundle, "SSL_CERT_DIR": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("SSLKEYLOGFILE", str(tmp_path / "keys"))
    async with serving(tls=server_tls) as peer:
        async with client(peer) as http:
            with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
                await http.get("/")
        for verify in (bundle, False):
            async with client(peer, verify=verify) as http:
                assert (await http.get("/")).status_code == 200
    assert not (tmp_path / "keys").exists()


@pytest.mark.parametrize("verify", [True, False])
async def test_no_tls_older_than_1_2(verify: bool) -> None:
    assert PooledTransport(verify=verify)._ssl_context.minimum_version is ssl.TLSVersion.TLSv1_2


async def test_a_given_context_is_used_unchanged(client_tls: ssl.SSLContext) -> None:
    assert PooledTransport(verify=client_tls)._ssl_context is client_tls


@pytest.mark.parametrize("anyio_backend", ["asyncio", pytest.param(("asyncio", {"use_uvloop": True}), id="uvloop")])
@pytest.mark.parametrize("pool", ["ordinary", "terminal"])
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_cancelled_steps(method: str, pool: str, server_tls: ssl.SSLContext, client_tls: ssl.SSLContext) -> None:
    """Cancel a call at each step of the event loop: handshake, sending and reading lose no slot and no connection."""
    ended = 0
    async with serving(tls=server_tls) as peer:
        for steps in range(60):
            async with client(peer, verify=client_tls, max_connections=1, max_terminals=1) as http:
                request = functools.partial(
                    http.request, method, "/", content=bytes(300_000 * (method == "POST")), extensions={POOL: pool}
                )
                task = asyncio.create_task(request())
                for _ in range(steps):
                    await asyncio.sleep(0)
                ended += task.done()
                task.cancel()
                await asyncio.wait([task])
                assert use(http, pool).in_use == connecting(http, pool) == 0
                with anyio.fail_after(PATIENCE):
                    assert (await request()).status_code == 200
            await peer.deserted()
    assert 0 < ended < 60
