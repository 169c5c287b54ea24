"""A gateway that drips, is silent, or is frozen with its sockets open: every call ends within its deadline."""

import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from gateway_async import (
    AsyncGateway,
    GatewayError,
    OutcomeUnknownError,
    RouterTransactionCreate,
    TransactionCreate,
)
from gateway_async.sandbox import Sandbox
from gateway_async.sandbox.simulators.faults import FaultName
from tests.support.sandbox_process import SandboxProcess, sandbox_process

# In real time, so on one event loop; tests with a clock of their own run on both.
pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio"])]

DEADLINE = 1.5
LATE = 1.0
"""Seconds that a busy machine may add. A second deadline, or one that does not hold, would add more."""

SALE = TransactionCreate(action="sale", account_number="4111111111111111", exp_date="1230", transaction_amount="12.50")
Verb = Callable[[AsyncGateway], Awaitable[Any]]

VERBS: dict[str, tuple[Verb, str, str]] = {
    "read": (lambda gateway: gateway.contacts.get("1"), "GET /v2/contacts/{id}", "DeadlineExceededError"),
    "list": (lambda gateway: gateway.contacts.list().first(), "GET /v2/contacts", "DeadlineExceededError"),
    "write": (lambda gateway: gateway.transactions.create(SALE), "POST /v2/transactions", "OutcomeUnknownError"),
}


async def timed(call: Awaitable[Any]) -> tuple[float, GatewayError]:
    """How long a call took that must fail, and its error."""
    began = time.monotonic()
    with pytest.raises(GatewayError) as failed:
        await call
    return time.monotonic() - began, failed.value


@pytest.mark.parametrize("fault", ["drip", "silence"])
@pytest.mark.parametrize("verb", VERBS)
async def test_stall(sandbox: Sandbox, verb: str, fault: FaultName) -> None:
    """The call ends at its deadline with a byte a second, or none at all, also to the lookup."""
    call, operation, error = VERBS[verb]
    for stalled in {operation, "GET /v2/transactions/{id}"}:
        sandbox.fault(stalled, fault, times=1000, seconds=1.0)
    async with sandbox.gateway(timeout=DEADLINE) as gateway:
        seconds, failed = await timed(call(gateway))
    assert type(failed).__name__ == error
    assert DEADLINE - 0.5 <= seconds <= DEADLINE + LATE


@pytest.fixture(scope="module")
def process() -> Iterator[SandboxProcess]:
    """Start one for all tests."""
    with sandbox_process() as process:
        yield process


@pytest.fixture
def peer(process: SandboxProcess) -> Iterator[SandboxProcess]:
    """Continue the process after each test."""
    yield process
    process.thaw()


@pytest.mark.parametrize("verb", VERBS)
async def test_frozen_gateway(peer: SandboxProcess, verb: str) -> None:
    """A kernel that accepts bytes without a response: kept and new connections end within the deadline."""
    call, _, error = VERBS[verb]
    async with peer.gateway(timeout=DEADLINE) as gateway:
        await gateway.contacts.get(peer.facts["contact_id"])
        peer.freeze()
        seconds, failed = await timed(call(gateway))
    assert type(failed).__name__ == error
    assert DEADLINE - 0.5 <= seconds <= DEADLINE + LATE


async def test_frozen_terminal(peer: SandboxProcess) -> None:
    """A call at a terminal ends at its own time-out and the ten seconds of its lookup."""
    sale = RouterTransactionCreate(action="sale", terminal_id=peer.facts["terminal_id"], transaction_amount="12.50")
    async with peer.gateway(timeout=DEADLINE, terminal_timeout=1.0) as gateway:
        peer.freeze()
        seconds, failed = await timed(gateway.router_transactions.create(sale))
    assert isinstance(failed, OutcomeUnknownError)
    assert seconds <= 1.0 + 10.0 + LATE
