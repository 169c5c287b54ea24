"""A gateway that drips, is silent, or is frozen with its sockets open: every call ends within its deadline."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import attrs
import pytest

from gateway_async import (
    AsyncGateway,
    GatewayError,
    OutcomeUnknownError,
    RouterTransactionCreate,
    TransactionCreate,
    UserApiKey,
)
from gateway_async.sandbox import Sandbox
from gateway_async.sandbox.simulators.faults import FaultName

# In real time, so on one event loop; tests with a clock of their own run on both.
pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio"])]

DEADLINE = 1.5
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
async def test_a_gateway_that_stalls(sandbox: Sandbox, verb: str, fault: FaultName) -> None:
    """A byte a second, or none at all, also to the lookup: the call ends half a second behind its deadline at most."""
    call, operation, error = VERBS[verb]
    for stalled in {operation, "GET /v2/transactions/{id}"}:
        sandbox.fault(stalled, fault, times=1000, seconds=1.0)
    async with sandbox.gateway(timeout=DEADLINE) as gateway:
        seconds, failed = await timed(call(gateway))
    assert type(failed).__name__ == error
    assert DEADLINE - 0.5 <= seconds <= DEADLINE + 0.5


@attrs.frozen
class Frozen:
    """A sandbox in a process of its own, which can be stopped with its sockets open."""

    process: subprocess.Popen[str]
    facts: dict[str, Any]

    def freeze(self) -> None:
        """Stop the process (SIGSTOP), and wait until it is stopped."""
        os.kill(self.process.pid, signal.SIGSTOP)
        os.waitpid(self.process.pid, os.WUNTRACED)

    def thaw(self) -> None:
        """Continue the process."""
        os.kill(self.process.pid, signal.SIGCONT)

    def gateway(self, **options: Any) -> AsyncGateway:
        """A client of it."""
        return AsyncGateway(
            self.facts["base_url"],
            developer_id=self.facts["developer_id"],
            credentials=UserApiKey(self.facts["user_id"], self.facts["user_api_key"]),
            location_id=self.facts["location_id"],
            timeout=DEADLINE,
            **options,
        )


@pytest.fixture(scope="module")
def process() -> Iterator[Frozen]:
    """Start one for all tests, and end it by its process id."""
    command = [sys.executable, "-m", "gateway_async.cli", "sandbox", "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:  # noqa: S603
        try:
            assert process.stdout
            yield Frozen(process, json.loads(process.stdout.readline()))
        finally:
            process.kill()


@pytest.fixture
def peer(process: Frozen) -> Iterator[Frozen]:
    """Continue the process after each test."""
    yield process
    process.thaw()


@pytest.mark.parametrize("verb", VERBS)
async def test_a_gateway_that_is_frozen(peer: Frozen, verb: str) -> None:
    """Its kernel accepts connections and bytes without a response: kept and new connections end within the deadline."""
    call, _, error = VERBS[verb]
    async with peer.gateway() as gateway:
        await gateway.contacts.get(peer.facts["contact_id"])
        peer.freeze()
        seconds, failed = await timed(call(gateway))
    assert type(failed).__name__ == error
    assert DEADLINE - 0.5 <= seconds <= DEADLINE + 0.5


async def test_a_terminal_behind_a_frozen_gateway(peer: Frozen) -> None:
    """A call at a terminal ends at its own time-out and the ten seconds of its lookup."""
    sale = RouterTransactionCreate(action="sale", terminal_id=peer.facts["terminal_id"], transaction_amount="12.50")
    async with peer.gateway(terminal_timeout=1.0) as gateway:
        peer.freeze()
        seconds, failed = await timed(gateway.router_transactions.create(sale))
    assert isinstance(failed, OutcomeUnknownError)
    assert seconds <= 1.0 + 10.0 + 0.5
