"""Deadlines and cancellation: time runs out, but no payment gets lost."""

import asyncio
import math
from typing import Any
from unittest import mock

import anyio
import httpx
import pytest
import trio

from gateway_async import (
    AsyncGateway,
    Contact,
    DeadlineExceededError,
    NotSentError,
    OutcomeUnknownError,
    SendStage,
    ServerError,
    Transaction,
    UserApiKey,
)
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
    Case,
    Script,
    case,
    error_of,
    record,
    sell_at_terminal,
    sell_named,
    silent,
)

pytestmark = pytest.mark.anyio


async def read(gateway: AsyncGateway) -> Contact:
    return await gateway.contacts.get("1")


async def never_connects(request: httpx.Request) -> httpx.Response:
    """A transport that waits for a connection which never comes."""
    request.extensions[PROGRESS].stage = Stage.CONNECTING
    return await silent(request)


async def customer(_: httpx.Request) -> httpx.Response:
    """A customer who takes all the time that the device gives."""
    await trio.sleep(299)
    return record("routertransaction", transaction_api_id="mine", status_id=101)


def seconds_later(_: httpx.Request) -> httpx.Response:
    """A record that appears after five seconds."""
    return NOT_THERE if trio.current_time() < 5 else record("transaction")


HALF_A_MINUTE: dict[str, Any] = {"timeout": 30}
CASES = [
    case("a silent gateway leaves time for the lookup that finds the transaction", sell_named, {"approved": True},
         "POST GET", post=[silent], get=[APPROVED], options=HALF_A_MINUTE, ends=20),
    case("a gateway that stays silent is unknown at the deadline", sell_named,
         (OutcomeUnknownError, {"api_id": "mine", "reached": SendStage.SENT}), "POST GET",
         post=[silent], get=[silent], options=HALF_A_MINUTE, ends=30),
    case("a write that never got a connection is not sent", sell_named, NotSentError, "POST",
         post=[never_connects], options=HALF_A_MINUTE, ends=20),
    case("a terminal may take its 300 seconds", sell_at_terminal, {"approved": True}, "POST",
         post=[customer], options=HALF_A_MINUTE, ends=299),
    case("a lost terminal sale that appears seconds later is the result", sell_at_terminal, {"id": "found"},
         "POST GET", post=[LOST], get=[seconds_later], ends=5.55),
    case("one deadline bounds all attempts and waits", read, (DeadlineExceededError, {"seconds": 30}), "GET",
         get=[silent], options=HALF_A_MINUTE, ends=30),
]  # fmt: skip


@pytest.mark.parametrize("call", CASES)
async def test_outcomes_and_ends_of_calls(call: Case) -> None:
    await call.check()


async def test_lost_terminal_call() -> None:
    """Not there after 10 seconds of looking: the customer may still pay, so it is unknown and not repeated."""
    script = Script(post=[LOST], get=[NOT_THERE])
    async with script.gateway() as gateway:
        error = await error_of(sell_at_terminal(gateway), OutcomeUnknownError)
        assert script.methods.count("POST") == 1
        assert {lookup.url.path for lookup in script.asked[1:]} == {"/v2/transactions/mine"}
        assert 9 <= trio.current_time() <= 10
        await error_of(error.resolve(), OutcomeUnknownError)
        assert trio.current_time() <= 45
        script.responses["get"] = [record("transaction", transaction_api_id="mine", status_id=301)]
        assert (await resolved(error, Transaction)).declined


async def test_a_cancelled_payment_is_looked_up_before_the_cancellation_goes_on() -> None:
    script = Script(post=[silent], get=[APPROVED])
    await script.cancel(sell_at_terminal, 5)
    lookups = script.events_of(OutcomeLookedUp)
    assert [(event.api_id, event.outcome, event.cancelled) for event in lookups] == [("mine", "found", True)]


FOUND = "POST /v2/transactions (api id mine) was cancelled after it may have been sent: it was executed (id found)"
NOT_FOUND = "was cancelled after it may have been sent: it was not found, but may still be executed"


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize(
    ("response", "says", "unknown"),
    [(APPROVED, FOUND, 0), (NOT_THERE, NOT_FOUND, 1), (httpx.Response(403), "its outcome is unknown", 1)],
)
async def test_timeout(response: httpx.Response, says: str, unknown: int) -> None:
    """The `TimeoutError` of `asyncio.timeout` shows what the lookup found; only an unknown outcome is counted."""
    async with Script(post=[silent], get=[response]).gateway() as gateway:
        with pytest.raises(TimeoutError) as caught:
            async with asyncio.timeout(0.1):
                await sell_named(gateway)
        assert gateway.health().unknown_outcomes == unknown
    notes = getattr(caught.value.__cause__, "__notes__", [])
    assert len(notes) == 1
    assert says in notes[0]


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


async def test_slow_failures_do_not_add_up_to_more_than_the_deadline() -> None:
    async def slow_failure(_: httpx.Request) -> httpx.Response:
        await trio.sleep(4)
        return httpx.Response(503)

    script = Script(get=[slow_failure])
    with pytest.raises((DeadlineExceededError, ServerError)):
        await script.run(read, timeout=10, max_attempts=50)
    assert trio.current_time() <= 10


# --- timers


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
