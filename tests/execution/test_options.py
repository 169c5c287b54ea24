"""`with_options`: a view of a client with other options that shares everything else."""

from typing import Any

import anyio
import httpx
import pytest

from gateway_async import (
    ClientClosedError,
    Contact,
    ContactCreate,
    DeadlineExceededError,
    InvalidRequestError,
    OutcomeUnknownError,
    RouterTransactionCreate,
)
from gateway_async.observe import AttemptEnded, AttemptStarted, CallEnded, CallStarted, Event
from tests.support.scripted_transport import LOST, SALE_AT_TERMINAL, Script, echo, record, silent

pytestmark = pytest.mark.anyio

CONTACT = record("contact")


async def test_deadline() -> None:
    """Its call ends by its deadline or after its attempts; the client's own calls keep theirs."""
    script = Script(get=[silent, LOST, LOST, CONTACT])
    async with script.gateway() as gateway:
        started = anyio.current_time()
        with pytest.raises(DeadlineExceededError):
            await gateway.with_options(timeout=5).contacts.get("found")
        assert anyio.current_time() - started == pytest.approx(5)
        with pytest.raises(Exception, match="connection reset"):
            await gateway.with_options(max_attempts=1).contacts.get("found")
        assert (await gateway.contacts.get("found")).id == "found"
    assert len(script.asked) == 4


async def test_a_view_has_its_own_time_at_a_terminal() -> None:
    script = Script(post=[silent], get=[LOST])
    async with script.gateway(block_unresolved_terminals=False) as gateway:
        started = anyio.current_time()
        with pytest.raises(OutcomeUnknownError):
            await gateway.with_options(terminal_timeout=7).router_transactions.create(SALE_AT_TERMINAL)
        assert anyio.current_time() - started < 7 + 11


async def test_location() -> None:
    """Creates take the view's location; limits are checked as the view says."""
    script = Script(post=[echo("contact")])
    new = ContactCreate(last_name="Smith")
    async with script.gateway() as gateway:
        other = gateway.with_options(location_id="other")
        assert (gateway.location_id, other.location_id) == ("loc", "other")
        assert (await other.contacts.create(new)).location_id == "other"
        assert (await gateway.contacts.create(new)).location_id == "loc"
        assert (await other.with_options(check_limits=False).contacts.create(new)).location_id == "other"
        assert gateway.with_options(location_id=None).location_id == "loc"
        with pytest.raises(InvalidRequestError, match="last_name"):
            await other.contacts.create(ContactCreate(last_name="x" * 999))
        lenient = gateway.with_options(check_limits=False)
        assert (await lenient.contacts.create(ContactCreate(last_name="x" * 999))).id == "made"


async def test_views_of_views_keep_what_they_do_not_name() -> None:
    script = Script(get=[silent])
    async with script.gateway() as gateway:
        view = gateway.with_options(timeout=3).with_options(max_attempts=2).with_options(location_id="other")
        started = anyio.current_time()
        with pytest.raises(DeadlineExceededError):
            await view.contacts.get("found")
        assert anyio.current_time() - started == pytest.approx(3)


async def test_closing() -> None:
    """The client's `aclose` closes its views too."""
    script = Script(get=[CONTACT])
    async with script.gateway() as gateway:
        async with gateway.with_options(timeout=5) as view:
            await view.contacts.get("found")
        await view.aclose()
        assert isinstance(await view.contacts.get("found"), Contact)
    with pytest.raises(ClientClosedError):
        await view.contacts.get("found")


async def test_shared_terminals() -> None:
    """Calls of a view are observed, and wait for the client's calls at the same terminal."""
    at_work = most = 0

    async def work(request: httpx.Request) -> httpx.Response:
        nonlocal at_work, most
        at_work += 1
        most = max(most, at_work)
        await anyio.sleep(1)
        at_work -= 1
        return echo("routertransaction", status_id=101)(request)

    script = Script(post=[work])
    at_terminal = RouterTransactionCreate(action="sale", terminal_id="t", transaction_amount="12.50")
    async with script.gateway() as gateway, anyio.create_task_group() as tasks:
        for client in (gateway, gateway.with_options(timeout=5)):
            tasks.start_soon(client.router_transactions.create, at_terminal)
    assert len(script.events_of(CallEnded)) == 2
    assert most == 1


async def test_an_observer_of_a_view_sees_the_clients_calls_during_its_block() -> None:
    seen: list[Event] = []
    async with Script(get=[CONTACT]).gateway() as gateway:
        await gateway.contacts.get("found")
        with gateway.with_options(timeout=5).observing(seen.append):
            await gateway.contacts.get("found")
        await gateway.contacts.get("found")
    assert [type(event) for event in seen] == [CallStarted, AttemptStarted, AttemptEnded, CallEnded]


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(("timeout", value) for value in (0, -1, "5", True, float("nan"))),
        *(("terminal_timeout", value) for value in (0, "5")),
        *(("max_attempts", value) for value in (0, 1.5, "1")),
        *(("location_id", value) for value in ("", "a b", 5)),
        *(("check_limits", value) for value in (1, "no")),
    ],
)
async def test_invalid_option(option: str, value: Any) -> None:
    """The error names the option, and there is no view."""
    options: dict[str, Any] = {option: value}
    async with Script().gateway() as gateway:
        with pytest.raises(InvalidRequestError, match=f"{option}: must be"):
            gateway.with_options(**options)


async def test_several_invalid_options_are_named_at_once() -> None:
    async with Script().gateway() as gateway:
        with pytest.raises(InvalidRequestError) as wrong:
            gateway.with_options(timeout=0, max_attempts=0, location_id="")
    assert [problem.split(":")[0] for problem in wrong.value.problems] == ["timeout", "max_attempts", "location_id"]
