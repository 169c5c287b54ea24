"""Ports that take no connection, and a certificate authority of our own."""

import socket
import ssl
from collections.abc import Iterator

import pytest
import trustme

from tests.support.scripted_server import Peer


@pytest.fixture(params=["asyncio", pytest.param(("asyncio", {"use_uvloop": True}), id="uvloop"), "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> object:
    """Return the event loop of a test: also uvloop, whose transports are its own."""
    if isinstance(request.param, tuple):
        pytest.importorskip("uvloop")
    return request.param


@pytest.fixture(scope="session")
def authority() -> trustme.CA:
    """Create a certificate authority that no other client trusts."""
    return trustme.CA()


@pytest.fixture(scope="session")
def server_tls(authority: trustme.CA) -> ssl.SSLContext:
    """Return the TLS context of the server at 127.0.0.1 and ::1."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1", "::1").configure_cert(context)
    return context


@pytest.fixture(scope="session")
def client_tls(authority: trustme.CA) -> ssl.SSLContext:
    """A client's trust in our authority."""
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


@pytest.fixture
def closed_port() -> Iterator[Peer]:
    """Reserve a port without a listener."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield Peer(f"http://127.0.0.1:{taken.getsockname()[1]}")


@pytest.fixture
def busy_port() -> Iterator[Peer]:
    """A port where connections are made and nothing that is sent is ever read."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield Peer(f"http://127.0.0.1:{listener.getsockname()[1]}")


@pytest.fixture
def deaf_port() -> Iterator[Peer]:
    """A port that takes no connection: its queue is full, so that a handshake stays unanswered."""
    with socket.socket() as listener, socket.socket() as first, socket.socket() as second:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for filler in (first, second):
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
        yield Peer(f"http://127.0.0.1:{listener.getsockname()[1]}")
