"""Reads: how often they are tried, on which connection, and which responses are refused."""

import httpx
import pytest

from gateway_async import AsyncGateway, ConnectionLostError, Contact, MalformedReplyError
from tests.support.scripted_transport import LOST, Script, record

pytestmark = pytest.mark.anyio


async def read(gateway: AsyncGateway) -> Contact:
    return await gateway.contacts.get("1")


async def test_tries_are_bounded() -> None:
    """`max_attempts` is how often a read is tried, and its last failure is what the caller gets."""
    script = Script(get=[LOST])
    await script.fail(read, ConnectionLostError, max_attempts=4)
    assert len(script.asked) == 4


async def test_fresh_connection() -> None:
    """Every pooled connection may be one response behind: the repetition has its own, but not after other failures."""
    script = Script(get=[record("contact", id="other"), record("contact", id="mine")])
    assert (await script.run(lambda g: g.contacts.get("mine"))).id == "mine"
    assert [request.headers.get("connection") for request in script.asked] == [None, "close"]
    script = Script(get=[httpx.Response(503), record("contact", id="mine")])
    await script.run(lambda g: g.contacts.get("mine"))
    assert [request.headers.get("connection") for request in script.asked] == [None, None]


async def test_a_body_is_cut_and_refused_at_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway_async._execution.http_client.MAX_BODY", 1000)
    script = Script(get=[httpx.Response(200, content=b" " * 1001)])
    await script.fail(lambda g: g.contacts.get("1"), MalformedReplyError, match="longer than 1000 bytes")
