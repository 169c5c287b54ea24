"""A gateway whose port is closed, and clients with a circuit breaker."""

from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from gateway_async import (
    AsyncGateway,
    CircuitBreaker,
    CircuitState,
    NotSentError,
    SqliteLedger,
    Transaction,
    TransactionCreate,
)
from gateway_async.observe import AttemptFailed, CallStarted, CircuitClosed, CircuitOpened, Event
from gateway_async.sandbox import Sandbox

pytestmark = pytest.mark.anyio

CHARGE = "POST /v2/transactions"
FAILURES = 3


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


@pytest.fixture
def clock() -> Clock:
    """Return the breaker's clock."""
    return Clock()


@pytest.fixture
def breaker(clock: Clock) -> CircuitBreaker:
    """Return a breaker of three failures and half a minute."""
    return CircuitBreaker(failures=FAILURES, reset_after=30, clock=clock)


@pytest.fixture
def closed_port(sandbox: Sandbox) -> Iterator[Sandbox]:
    """Return a sandbox whose port is closed."""
    sandbox.fault(CHARGE, "refuse", seconds=3600)
    yield sandbox
    sandbox.clear_faults()


async def sell(gateway: AsyncGateway, name: str) -> Transaction:
    """Charge a card under an id."""
    sale = TransactionCreate(
        action="sale",
        transaction_amount="12.50",
        account_number="4111111111111111",
        exp_date="1230",
        transaction_api_id=name,
    )
    return await gateway.transactions.create(sale)


async def open_breaker(gateway: AsyncGateway) -> None:
    """Sell until the breaker opens."""
    for number in range(FAILURES):
        with pytest.raises(NotSentError, match="Connect"):
            await sell(gateway.with_options(max_attempts=1), f"unsent-{number}")


async def test_open_breaker(closed_port: Sandbox, breaker: CircuitBreaker, tmp_path: Path) -> None:
    """A write is not sent while the breaker is open, although the port is; the ledger has no open intent."""
    events, ledger = list[Event](), SqliteLedger(tmp_path / "ledger.db")
    async with closed_port.gateway(circuit_breaker=breaker, ledger=ledger, observers=[events.append]) as gateway:
        await open_breaker(gateway)
        closed_port.clear_faults()
        attempts = sum(isinstance(event, AttemptFailed) for event in events)
        with pytest.raises(NotSentError, match="circuit breaker is open"):
            await sell(gateway, "rejected")
        assert sum(isinstance(event, AttemptFailed) for event in events) == attempts == FAILURES
        assert await gateway.recover(wait=0) == []
    assert closed_port.ledger()["charged"] == {}
    assert [event.api_id for event in events if isinstance(event, CircuitOpened)] == ["unsent-2"]


async def test_probe(closed_port: Sandbox, breaker: CircuitBreaker, clock: Clock) -> None:
    """The probe is charged, the others are rejected, and then all are sent again."""
    events, names = list[Event](), [f"order-{number}" for number in range(5)]
    rejected = list[str]()

    async def sell_or_fail(name: str) -> None:
        try:
            await sell(gateway, name)
        except NotSentError:
            rejected.append(name)

    async with closed_port.gateway(circuit_breaker=breaker, observers=[events.append]) as gateway:
        await open_breaker(gateway)
        closed_port.clear_faults()
        clock.now += 30
        async with anyio.create_task_group() as tasks:
            for name in names:
                tasks.start_soon(sell_or_fail, name)
        (probe,) = set(names) - set(rejected)
        assert closed_port.ledger()["charged"] == {probe: 1}
        for name in rejected:
            assert (await sell(gateway, name)).approved
    assert closed_port.ledger()["charged"] == dict.fromkeys(names, 1)
    assert [event.api_id for event in events if isinstance(event, CircuitClosed)] == [probe]


async def test_a_failed_probe_opens_the_breaker_for_half_a_minute(
    closed_port: Sandbox, breaker: CircuitBreaker, clock: Clock
) -> None:
    async with closed_port.gateway(circuit_breaker=breaker) as gateway:
        await open_breaker(gateway)
        clock.now += 30
        with pytest.raises(NotSentError, match="Connect"):
            await sell(gateway, "probe")
        assert breaker.state is CircuitState.OPEN
        with pytest.raises(NotSentError, match="circuit breaker is open"):
            await sell(gateway, "rejected")
        closed_port.clear_faults()
        clock.now += 30
        assert (await sell(gateway, "probe")).approved


async def test_the_write_after_a_cancelled_probe_is_the_next_probe(
    closed_port: Sandbox, breaker: CircuitBreaker, clock: Clock
) -> None:
    scope = anyio.CancelScope()

    def cancel(event: Event) -> None:
        if isinstance(event, CallStarted) and event.api_id == "cancelled":
            scope.cancel()

    async with closed_port.gateway(circuit_breaker=breaker, observers=[cancel]) as gateway:
        await open_breaker(gateway)
        closed_port.clear_faults()
        clock.now += 30
        with scope:
            await sell(gateway, "cancelled")
        assert scope.cancelled_caught
        assert breaker.state is CircuitState.HALF_OPEN
        assert (await sell(gateway, "probe")).approved
    assert closed_port.ledger()["charged"] == {"probe": 1}


async def test_reads_are_sent_always_and_close_the_breaker(closed_port: Sandbox, breaker: CircuitBreaker) -> None:
    async with closed_port.gateway(circuit_breaker=breaker) as gateway:
        await open_breaker(gateway)
        closed_port.clear_faults()
        await gateway.contacts.list().count()
        assert (await sell(gateway, "order")).approved
