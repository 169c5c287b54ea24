"""A read changes nothing, so it is repeated where that can help, within one deadline."""

import httpx
import pytest
import trio

from gateway_async import (
    ApiId,
    ConnectionLostError,
    DeadlineExceededError,
    MalformedReplyError,
    MismatchedReplyError,
    ServerError,
)
from tests.support.scripted_transport import LOST, Script, record, silent

pytestmark = pytest.mark.anyio


async def test_tries_are_bounded() -> None:
    """`max_attempts` is how often a read is tried, and its last failure is what the caller gets."""
    script = Script(get=[LOST])
    await script.fail(lambda g: g.contacts.get("1"), ConnectionLostError, max_attempts=4)
    assert len(script.asked) == 4


async def test_one_deadline_bounds_all_attempts_and_waits() -> None:
    error = await Script(get=[silent]).fail(lambda g: g.contacts.get("1"), DeadlineExceededError, timeout=30)
    assert (error.seconds, trio.current_time()) == (30, 30)


async def test_slow_failures_do_not_add_up_to_more_than_the_deadline() -> None:
    async def slow_failure(_: httpx.Request) -> httpx.Response:
        await trio.sleep(4)
        return httpx.Response(503)

    script = Script(get=[slow_failure])
    with pytest.raises((DeadlineExceededError, ServerError)):
        await script.run(lambda g: g.contacts.get("1"), timeout=10, max_attempts=50)
    assert trio.current_time() <= 10


async def test_fresh_connection() -> None:
    """Every pooled connection may be one response behind: the repetition has its own, but not after other failures."""
    script = Script(get=[record("contact", id="other"), record("contact", id="mine")])
    assert (await script.run(lambda g: g.contacts.get("mine"))).id == "mine"
    assert [request.headers.get("connection") for request in script.asked] == [None, "close"]
    script = Script(get=[httpx.Response(503), record("contact", id="mine")])
    await script.run(lambda g: g.contacts.get("mine"))
    assert [request.headers.get("connection") for request in script.asked] == [None, None]


async def test_a_gateway_that_keeps_answering_something_else_is_named() -> None:
    script = Script(get=[record("contact", contact_api_id="other")])
    error = await script.fail(lambda g: g.contacts.get(ApiId("mine")), MismatchedReplyError)
    assert error.differences == ("contact_api_id is 'other', not 'mine'",)


async def test_a_body_is_cut_and_refused_at_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway_async._execution.http_client.MAX_BODY", 1000)
    script = Script(get=[httpx.Response(200, content=b" " * 1001)])
    await script.fail(lambda g: g.contacts.get("1"), MalformedReplyError, match="longer than 1000 bytes")
