"""The pause before a call is repeated, and the budget of repeats: a gateway in trouble is not hit by a storm."""

import random

import httpx
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from tenacity import AsyncRetrying, RetryCallState

from gateway_async import (
    AsyncGateway,
    AuthenticationError,
    ConnectionLostError,
    GatewayError,
    NotFoundError,
    OutcomeUnknownError,
    RateLimitError,
    ServerError,
    StatusError,
)
from gateway_async._execution.circuit_breaker import DEPOSIT, MAX_BALANCE, RetryBudget
from gateway_async._execution.execute import _pause
from gateway_async.observe import RetryBudgetExhausted
from tests.support.scripted_transport import APPROVED, LOST, NOT_THERE, Script, absent, error_of, record, sell_named

pytestmark = pytest.mark.anyio


# --- the budget of repeats


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


# --- the pause before a call is repeated


def pause(error: GatewayError, attempt: int, chance: float) -> float:
    """Return the pause after an attempt that failed, for a share of the random time."""
    retry = RetryCallState(AsyncRetrying(), None, (), {})
    retry.attempt_number = attempt
    retry.set_exception((type(error), error, None))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("random.uniform", lambda least, most: least + chance * (most - least))
        return _pause(retry)


@pytest.mark.parametrize(
    ("attempt", "chance", "seconds"),
    [(1, 0.0, 0.0), (1, 1.0, 0.2), (2, 1.0, 0.4), (2, 0.5, 0.2), (5, 1.0, 3.2), (6, 1.0, 5.0), (6, 0.25, 1.25)],
)
def test_pauses_grow(attempt: int, chance: float, seconds: float) -> None:
    """A pause is all chance, up to twice as much as before, and to five seconds: clients do not come back together."""
    assert pause(ConnectionLostError("reset"), attempt, chance) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "error",
    [RateLimitError(429, retry_after=7.0), ServerError(503, retry_after=7.0), ServerError(500, retry_after=7.0)],
)
def test_requested_pause(error: GatewayError) -> None:
    """Wait at least as long as the gateway asks, plus jitter."""
    assert pause(error, 1, 0.0) == 7.0
    assert 7.0 < pause(error, 1, 1.0) < 8.0


@given(st.integers(1, 10**6), st.floats(0, 1))
def test_a_pause_lasts_five_seconds_at_most(attempt: int, chance: float) -> None:
    assert 0 <= pause(ConnectionLostError("reset"), attempt, chance) <= 5


@pytest.mark.parametrize("error", [RateLimitError(429), StatusError(404, retry_after=7.0)], ids=str)
def test_other_errors_ask_for_no_pause(error: GatewayError) -> None:
    assert pause(error, 1, 0.0) == 0.0


def test_a_new_token_needs_no_pause() -> None:
    assert pause(AuthenticationError(401, has_new_token=True), 3, 1.0) == 0.0
