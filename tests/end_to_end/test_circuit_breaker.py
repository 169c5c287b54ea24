"""A gateway whose port is closed, and clients with a circuit breaker."""

from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from gateway_async import AsyncGateway, CircuitBreaker, NotSentError, SqliteLedger
from gateway_async.observe import AttemptFailed, CircuitClosed, CircuitOpened, Event
from gateway_async.sandbox import Sandbox
from tests.support.sales import sale

pytestmark = pytest.mark.anyio

CHARGE = "POST /v2/transactions"
FAILURES = 3


@pytest.fixture
def closed_port(sandbox: Sandbox) -> Iterator[Sandbox]:
    """Return a sandbox whose port is closed."""
    sandbox.fault(CHARGE, "refuse", seconds=3600)
    yield sandbox
    sandbox.clear_faults()


async def open_breaker(gateway: AsyncGateway) -> None:
    """Sell until the breaker opens."""
    for number in range(FAILURES):
        with pytest.raises(NotSentError, match="Connect"):
            await gateway.with_options(max_attempts=1).transactions.create(sale(f"unsent-{number}"))


async def test_open_breaker(closed_port: Sandbox, tmp_path: Path) -> None:
    """A write is not sent while the breaker is open, although the port is; the ledger has no open intent."""
    events, ledger = list[Event](), SqliteLedger(tmp_path / "ledger.db")
    breaker = CircuitBreaker(failures=FAILURES)
    async with closed_port.gateway(circuit_breaker=breaker, ledger=ledger, observers=[events.append]) as gateway:
        await open_breaker(gateway)
        closed_port.clear_faults()
        attempts = sum(isinstance(event, AttemptFailed) for event in events)
        with pytest.raises(NotSentError, match="circuit breaker is open"):
            await gateway.transactions.create(sale("rejected"))
        assert sum(isinstance(event, AttemptFailed) for event in events) == attempts == FAILURES
        assert await gateway.recover(wait=0) == []
    assert closed_port.ledger()["charged"] == {}
    assert [event.api_id for event in events if isinstance(event, CircuitOpened)] == ["unsent-2"]


async def test_probe(closed_port: Sandbox) -> None:
    """The probe is charged, the others are rejected, and then all are sent again."""
    events, names = list[Event](), [f"order-{number}" for number in range(5)]
    rejected, now = list[str](), 0.0
    breaker = CircuitBreaker(failures=FAILURES, reset_after=30, clock=lambda: now)

    async def sell_or_fail(name: str) -> None:
        try:
            await gateway.transactions.create(sale(name))
        except NotSentError:
            rejected.append(name)

    async with closed_port.gateway(circuit_breaker=breaker, observers=[events.append]) as gateway:
        await open_breaker(gateway)
        closed_port.clear_faults()
        now += 30
        async with anyio.create_task_group() as tasks:
            for name in names:
                tasks.start_soon(sell_or_fail, name)
        (probe,) = set(names) - set(rejected)
        assert closed_port.ledger()["charged"] == {probe: 1}
        for name in rejected:
            assert (await gateway.transactions.create(sale(name))).approved
    assert closed_port.ledger()["charged"] == dict.fromkeys(names, 1)
    assert [event.api_id for event in events if isinstance(event, CircuitClosed)] == [probe]
