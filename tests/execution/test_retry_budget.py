"""The budget of repeats: a gateway in trouble is not hit by a storm, and a healthy one's clients never feel it."""

import random

import httpx
import pytest
import trio

from gateway_async import AsyncGateway, NotFoundError, OutcomeUnknownError, ServerError
from gateway_async._execution.circuit_breaker import DEPOSIT, MAX_BALANCE, RetryBudget
from gateway_async.observe import RetryBudgetExhausted
from tests.support.scripted_transport import APPROVED, LOST, NOT_THERE, Script, absent, error_of, record, sell_named

pytestmark = pytest.mark.anyio

BUSY = httpx.Response(503)


def is_granted(budget: RetryBudget, faults: float, attempts: int, chance: random.Random) -> bool:
    """One call, tried until it succeeds: whether each repeat that it wanted was granted."""
    budget.deposit()
    wanted = next((n for n in range(attempts - 1) if chance.random() >= faults), attempts - 1)
    return all(budget.try_withdraw() for _ in range(wanted))


@pytest.mark.parametrize("faults", [0.01, 0.05, 0.1])
def test_rare_failures(faults: float) -> None:
    """At one call in a hundred, and even in ten, that goes wrong, every repeat is made."""
    budget, chance = RetryBudget(), random.Random(faults)  # noqa: S311
    assert all(is_granted(budget, faults, 3, chance) for _ in range(10_000))


def test_constant_failures() -> None:
    """However much fails, no more is repeated than the calls put in, and what there was in stock."""
    budget, repeats = RetryBudget(), 0
    for _ in range(10_000):
        budget.deposit()
        repeats += budget.try_withdraw() + budget.try_withdraw()
    assert repeats == pytest.approx(10_000 * DEPOSIT + MAX_BALANCE, abs=2)


def test_a_million_good_calls_leave_the_stock_of_the_beginning() -> None:
    budget = RetryBudget()
    for _ in range(1000):
        budget.deposit()
    assert sum(budget.try_withdraw() for _ in range(1000)) == MAX_BALANCE


def use_up(gateway: AsyncGateway) -> None:
    """Spend the client's repeats."""
    budget = gateway._executor._retry_budget
    while budget.try_withdraw():
        pass


async def test_storm() -> None:
    """Of a thousand reads, each of which would be tried three times, a fifth is repeated and no more."""
    script = Script(get=[BUSY])
    async with script.gateway() as gateway:
        for _ in range(1000):
            await error_of(gateway.contacts.get("1"), ServerError)
    assert len(script.asked) == pytest.approx(1000 * (1 + DEPOSIT) + MAX_BALANCE, abs=2)


async def test_unrepeated_read(caplog: pytest.LogCaptureFixture) -> None:
    """The caller gets the gateway's response at once; observers and the log are told why it was the only one."""
    script = Script(get=[BUSY])
    async with script.gateway() as gateway:
        use_up(gateway)
        error = await error_of(gateway.contacts.get("1"), ServerError)
    assert error.status_code == 503
    assert (trio.current_time(), len(script.asked)) == (0, 1)
    assert script.events_of(RetryBudgetExhausted) == [RetryBudgetExhausted(call="GET /v2/contacts/1")]
    assert "GET /v2/contacts/1 is not retried: the client's retry budget is exhausted" in caplog.messages


async def test_a_definite_response_reports_no_exhausted_budget() -> None:
    script = Script(get=[NOT_THERE])
    async with script.gateway() as gateway:
        use_up(gateway)
        await error_of(gateway.contacts.get("1"), NotFoundError)
    assert not script.events_of(RetryBudgetExhausted)


async def test_lookups_of_lost_writes_are_not_limited() -> None:
    script = Script(get=[BUSY, BUSY, APPROVED], post=[LOST])
    async with script.gateway() as gateway:
        use_up(gateway)
        assert (await sell_named(gateway)).approved
    assert script.methods == ["POST", "GET", "GET", "GET"]


async def test_unrepeated_write() -> None:
    """Nothing was found, nothing more is sent, and what was sent may still arrive."""
    script = Script(get=[absent], post=[LOST])
    async with script.gateway() as gateway:
        use_up(gateway)
        error = await error_of(sell_named(gateway), OutcomeUnknownError)
        assert script.methods.count("POST") == 1
        assert await error.resolve(wait=120) is None


async def test_a_few_calls_that_succeed_pay_for_the_next_repeat() -> None:
    script = Script(get=[record("contact", id="1")])
    async with script.gateway() as gateway:
        use_up(gateway)
        for _ in range(5):
            await gateway.contacts.get("1")
        script.responses["get"] = [BUSY, record("contact", id="1")]
        assert (await gateway.contacts.get("1")).id == "1"
