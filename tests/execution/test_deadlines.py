"""Deadlines and cancellation of writes: time runs out, but no payment gets lost."""

import asyncio
import math
from unittest import mock

import anyio
import httpx
import pytest
import trio

from gateway_async import NotSentError, OutcomeUnknownError, SendStage, Transaction, UserApiKey
from gateway_async._execution.http_client import HttpClient
from gateway_async._http import event_loop
from gateway_async._http.progress import PROGRESS, Stage
from gateway_async._http.transport import DirectClient
from gateway_async.observe import AttemptEnded, CallEnded, OutcomeLookedUp
from tests.support.outcomes import resolved
from tests.support.scripted_transport import (
    APPROVED,
    LOST,
    NOT_THERE,
    Script,
    error_of,
    record,
    sell_at_terminal,
    sell_named,
    silent,
)

pytestmark = pytest.mark.anyio


async def never_connects(request: httpx.Request) -> httpx.Response:
    """A transport that waits for a connection which never comes."""
    request.extensions[PROGRESS].stage = Stage.CONNECTING
    return await silent(request)


async def test_silent_gateway() -> None:
    """The write ends within its deadline, with the transaction that the lookup found."""
    assert (await Script(post=[silent], get=[APPROVED]).run(sell_named, timeout=30)).approved
    assert trio.current_time() == 20


async def test_a_gateway_that_stays_silent_is_unknown_at_the_deadline() -> None:
    error = await Script(post=[silent], get=[silent]).fail(sell_named, OutcomeUnknownError, timeout=30)
    assert (error.api_id, error.reached, trio.current_time()) == ("mine", SendStage.SENT, 30)


async def test_a_write_that_never_got_a_connection_is_not_sent() -> None:
    await Script(post=[never_connects]).fail(sell_named, NotSentError, timeout=30)
    assert trio.current_time() <= 30


async def test_a_terminal_may_take_its_300_seconds() -> None:
    async def customer(_: httpx.Request) -> httpx.Response:
        await trio.sleep(299)
        return record("routertransaction", transaction_api_id="mine", status_id=101)

    assert (await Script(post=[customer]).run(sell_at_terminal, timeout=30)).approved
    assert trio.current_time() == 299


async def test_lost_terminal_call() -> None:
    """Not there after 10 seconds of looking: the customer may still pay, so it is unknown and not repeated."""
    script = Script(post=[LOST], get=[NOT_THERE])
    async with script.gateway() as gateway:
        error = await error_of(sell_at_terminal(gateway), OutcomeUnknownError)
        assert script.methods.count("POST") == 1
        assert 9 <= trio.current_time() <= 10
        await error_of(error.resolve(), OutcomeUnknownError)
        assert trio.current_time() <= 45
        script.responses["get"] = [record("transaction", transaction_api_id="mine", status_id=301)]
        assert (await resolved(error, Transaction)).declined


async def test_a_lost_terminal_sale_that_appears_seconds_later_is_the_result() -> None:
    script = Script(post=[LOST], get=[lambda _: NOT_THERE if trio.current_time() < 5 else record("transaction")])
    assert (await script.run(sell_at_terminal)).id == "found"
    assert script.asked[-1].url.path == "/v2/transactions/mine"


async def test_a_cancelled_payment_is_looked_up_before_the_cancellation_goes_on() -> None:
    script = Script(post=[silent], get=[APPROVED])
    await script.cancel(sell_at_terminal, 5)
    lookups = script.events_of(OutcomeLookedUp)
    assert [(event.api_id, event.outcome, event.cancelled) for event in lookups] == [("mine", "found", True)]


FOUND = "POST /v2/transactions (api id mine) was cancelled after it may have been sent: it was executed (id found)"
NOT_FOUND = "was cancelled after it may have been sent: it was not found, but may still be executed"


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize(
    ("response", "says"), [(APPROVED, FOUND), (NOT_THERE, NOT_FOUND), (httpx.Response(403), "its outcome is unknown")]
)
async def test_timeout(response: httpx.Response, says: str) -> None:
    """The `TimeoutError` of `asyncio.timeout` shows what the lookup found."""
    async with Script(post=[silent], get=[response]).gateway() as gateway:
        with pytest.raises(TimeoutError) as caught:
            async with asyncio.timeout(0.1):
                await sell_named(gateway)
    notes = getattr(caught.value.__cause__, "__notes__", [])
    assert len(notes) == 1
    assert says in notes[0]


async def test_held_cancellation() -> None:
    """A gateway that has gone silent cannot keep a cancelled task alive."""
    await Script(post=[silent], get=[silent]).cancel(sell_at_terminal, 5)
    assert trio.current_time() == 15


async def test_cancelling_a_call_that_was_not_sent_looks_nothing_up() -> None:
    script = Script(post=[never_connects], get=[NOT_THERE])
    await script.cancel(sell_named, 5)
    assert (script.methods, trio.current_time()) == (["POST"], 5)


async def test_cancelled_read() -> None:
    """A read leaves nothing behind, and the events say that it was cancelled."""
    script = Script(get=[silent])
    await script.cancel(lambda g: g.transactions.get("1"), 5)
    assert (script.methods, trio.current_time()) == (["GET"], 5)
    errors = [event.error for event in script.events_of(AttemptEnded)]
    errors += [event.error for event in script.events_of(CallEnded)]
    assert [type(error) for error in errors] == [trio.Cancelled] * 2


@pytest.mark.parametrize("seconds", [0.01, 0.1])
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_late_timer(seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call ends at its deadline, not before, also if it began between two ticks."""
    monkeypatch.setattr(event_loop, "_TICK", 0.02)
    http = idle_http_client()
    http.check_usable("GET /v2/contacts")
    until = http.now() + seconds
    with http.deadline(until) as scope:
        await anyio.sleep(10)
    assert scope.cancelled_caught
    assert http.now() >= until


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_shared_timer(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many calls end between two ticks, one timer serves them all."""
    monkeypatch.setattr(event_loop, "_TICK", 0.02)
    http = idle_http_client()
    http.check_usable("GET /v2/contacts")
    loop = asyncio.get_running_loop()
    call_at = mock.Mock(wraps=loop.call_at)
    monkeypatch.setattr(loop, "call_at", call_at)
    scopes = []
    for _ in range(10):
        with http.deadline(http.now() + 30) as scope:
            scopes.append(scope)
        http.forget(scope)
    assert call_at.call_count == 1
    await asyncio.sleep(0.05)
    assert [scope.deadline for scope in scopes] == [math.inf] * 10


def idle_http_client() -> HttpClient:
    return HttpClient(
        DirectClient(httpx.MockTransport(silent)),
        "https://gateway.example",
        UserApiKey("u" * 24, "k" * 40),
        "developer",
    )
