"""A gateway that drips, is silent, or is frozen with its sockets open: every call ends within its deadline."""

from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import anyio
import pytest

from gateway_async import AsyncGateway, GatewayError, OutcomeUnknownError
from gateway_async.sandbox import Sandbox
from gateway_async.sandbox.simulators.faults import FaultName
from tests.support.sales import sale, sale_at
from tests.support.sandboxes import SandboxProcess, sandbox_process

# In real time, so on one event loop; tests with a clock of their own run on both.
pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio"])]

DEADLINE = 1.5
LATE = 1.0
"""Seconds after a timer of the same event loop. A second deadline, or one that does not hold, would add more."""

Verb = Callable[[AsyncGateway], Awaitable[Any]]

VERBS: dict[str, tuple[Verb, str, str]] = {
    "read": (lambda gateway: gateway.contacts.get("1"), "GET /v2/contacts/{id}", "DeadlineExceededError"),
    "list": (lambda gateway: gateway.contacts.list().first(), "GET /v2/contacts", "DeadlineExceededError"),
    "write": (lambda gateway: gateway.transactions.create(sale()), "POST /v2/transactions", "OutcomeUnknownError"),
}


async def lateness(call: Awaitable[Any], deadline: float = DEADLINE) -> tuple[float, GatewayError]:
    """How many seconds after a timer a call failed, and its error. A busy machine delays both."""
    ended: list[float] = []

    async def wait() -> None:
        await anyio.sleep(deadline)
        ended.append(anyio.current_time())

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        with pytest.raises(GatewayError) as failed:
            await call
        failed_at = anyio.current_time()
    return failed_at - ended[0], failed.value


@pytest.mark.parametrize("fault", ["drip", "silence"])
@pytest.mark.parametrize("verb", VERBS)
async def test_stall(sandbox: Sandbox, verb: str, fault: FaultName) -> None:
    """The call ends at its deadline with a byte a second, or none at all, also to the lookup."""
    call, operation, error = VERBS[verb]
    for stalled in {operation, "GET /v2/transactions/{id}"}:
        sandbox.fault(stalled, fault, times=1000, seconds=1.0)
    async with sandbox.gateway(timeout=DEADLINE) as gateway:
        late, failed = await lateness(call(gateway))
    assert type(failed).__name__ == error
    assert -0.5 <= late <= LATE


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
        late, failed = await lateness(call(gateway))
    assert type(failed).__name__ == error
    assert -0.5 <= late <= LATE


async def test_frozen_terminal(peer: SandboxProcess) -> None:
    """A call at a terminal ends at its own time-out and the ten seconds of its lookup."""
    async with peer.gateway(timeout=DEADLINE, terminal_timeout=1.0) as gateway:
        peer.freeze()
        late, failed = await lateness(gateway.router_transactions.create(sale_at(peer.facts["terminal_id"])), 11.0)
    assert isinstance(failed, OutcomeUnknownError)
    assert late <= LATE
