"""The budget of repeats: a gateway in trouble is not hit by a storm, and a healthy one's clients never feel it."""

import random

import httpx
import pytest
import trio

from gateway_async import AsyncGateway, NotFoundError, OutcomeUnknownError, ServerError
from gateway_async._execution.circuit_breaker import DEPOSIT, MAX_BALANCE, RetryBudget
from gateway_async.observe import RetryBudgetExhausted

from .scripted_transport import APPROVED, LOST, NOT_THERE, Script, absent, error_of, record, sell_named

pytestmark = pytest.mark.anyio

BUSY = httpx.Response(503)


def is_granted(budget: RetryBudget, faults: float, attempts: int, chance: random.Random) -> bool:
    """One call, tried until it succeeds: whether each repeat that it wanted was granted."""
    budget.deposit()
    wanted = next((n for n in range(attempts - 1) if chance.random() >= faults), attempts - 1)
    return all(budget.try_withdraw() for _ in range(wanted))


@pytest.mark.parametrize("faults", [0.01, 0.05, 0.1])
def test_ten_thousand_calls_never_feel_it(faults: float) -> None:
    """At one call in a hundred, and even in ten, that goes wrong, every repeat is made."""
    budget, chance = RetryBudget(), random.Random(faults)  # noqa: S311
    assert all(is_granted(budget, faults, 3, chance) for _ in range(10_000))


def test_repeats_are_a_fifth_of_the_calls_over_time() -> None:
    """However much fails, no more is repeated than the calls put in, and what there was in stock."""
    budget, repeats = RetryBudget(), 0
    for _ in range(10_000):
        budget.deposit()
        repeats += budget.try_withdraw() + budget.try_withdraw()
    assert repeats == pytest.approx(10_000 * DEPOSIT + MAX_BALANCE, abs=2)


def test_good_times_do_not_pile_up_a_storm() -> None:
    """A million calls without a fault leave the stock that there was to begin with."""
    budget = RetryBudget()
    for _ in range(1000):
        budget.deposit()
    assert sum(budget.try_withdraw() for _ in range(1000)) == MAX_BALANCE


def use_up(gateway: AsyncGateway) -> None:
    """Spend the client's repeats."""
    budget = gateway._executor._retry_budget
    while budget.try_withdraw():
        pass


async def test_a_gateway_that_is_down_is_not_stormed() -> None:
    """Of a thousand reads, each of which would be tried three times, a fifth is repeated and no more."""
    script = Script(get=[BUSY])
    async with script.gateway() as gateway:
        for _ in range(1000):
            await error_of(gateway.contacts.get("1"), ServerError)
    assert len(script.asked) == pytest.approx(1000 * (1 + DEPOSIT) + MAX_BALANCE, abs=2)


async def test_what_is_not_repeated_ends_with_its_real_error_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    """The caller gets the gateway's response at once; observers and the log are told why it was the only one."""
    script = Script(get=[BUSY])
    async with script.gateway() as gateway:
        use_up(gateway)
        error = await error_of(gateway.contacts.get("1"), ServerError)
    assert error.status_code == 503
    assert (trio.current_time(), len(script.asked)) == (0, 1)
    assert script.events_of(RetryBudgetExhausted) == [RetryBudgetExhausted(call="GET /v2/contacts/1")]
    assert "GET /v2/contacts/1 is not retried: the client's retry budget is exhausted" in caplog.messages


async def test_what_is_answered_asks_for_no_budget() -> None:
    """Report no exhausted budget after a definite response."""
    script = Script(get=[NOT_THERE])
    async with script.gateway() as gateway:
        use_up(gateway)
        await error_of(gateway.contacts.get("1"), NotFoundError)
    assert not script.events_of(RetryBudgetExhausted)


async def test_lookups_of_lost_writes_are_not_limited() -> None:
    """Look up writes without the budget."""
    script = Script(get=[BUSY, BUSY, APPROVED], post=[LOST])
    async with script.gateway() as gateway:
        use_up(gateway)
        assert (await sell_named(gateway)).approved
    assert script.methods == ["POST", "GET", "GET", "GET"]


async def test_a_lost_write_that_may_not_be_repeated_is_unknown() -> None:
    """Nothing was found, nothing more is sent, and what was sent may still arrive."""
    script = Script(get=[absent], post=[LOST])
    async with script.gateway() as gateway:
        use_up(gateway)
        error = await error_of(sell_named(gateway), OutcomeUnknownError)
        assert script.methods.count("POST") == 1
        assert await error.resolve(wait=120) is None


async def test_calls_earn_repeats_again() -> None:
    """After the trouble, a few calls that succeed pay for the next repeat."""
    script = Script(get=[record("contact", id="1")])
    async with script.gateway() as gateway:
        use_up(gateway)
        for _ in range(5):
            await gateway.contacts.get("1")
        script.responses["get"] = [BUSY, record("contact", id="1")]
        assert (await gateway.contacts.get("1")).id == "1"
