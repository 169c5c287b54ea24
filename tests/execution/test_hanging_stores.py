"""Ledgers, leases and transports that do not respond hold neither a call nor `aclose()` for long."""

import asyncio
import math
from typing import Any

import anyio
import anyio.lowlevel
import pytest
import trio

from gateway_async import GatewayError, LedgerError, NotSentError, UserApiKey
from tests.support.scripted_transport import (
    APPROVED,
    FOUND,
    NOT_THERE,
    Script,
    error_of,
    sell_at_terminal,
    sell_named,
    silent,
)

from .test_lease_holder import Lease
from .test_ledger import Memory

pytestmark = pytest.mark.anyio


def stuck(script: Script, method: str) -> Memory:
    """A ledger of which one method does not respond."""
    ledger = Memory(script)
    ledger.delays[method] = math.inf
    return ledger


@pytest.mark.parametrize("method", ["record_intent", "open_intents"])
async def test_a_ledger_that_hangs_keeps_a_terminal_for_half_a_minute(method: str) -> None:
    script = Script(post=[APPROVED])
    ledger = stuck(script, method)
    reason = f"the ledger Memory cannot be used: {method} did not end within 30 s"
    await script.fail(sell_at_terminal, NotSentError, match=reason, ledger=ledger)
    assert (script.methods, trio.current_time()) == ([], 30)


@pytest.mark.parametrize(("limit", "seconds"), [(5, 5), (60, 30)])
async def test_ordinary_call(limit: float, seconds: float) -> None:
    """An ordinary call ends with its `timeout`, or after half a minute."""
    script = Script(post=[APPROVED])
    ledger = stuck(script, "record_intent")
    reason = f"its intent could not be recorded: .*record_intent did not end within {seconds} s"
    await script.fail(sell_named, NotSentError, match=reason, ledger=ledger, timeout=limit)
    assert (script.methods, trio.current_time()) == ([], seconds)


async def test_a_ledger_that_hangs_keeps_a_recovery_for_half_a_minute() -> None:
    script = Script(get=[FOUND])
    ledger = stuck(script, "open_intents")
    await script.fail(lambda g: g.recover(wait=0), LedgerError, match="open_intents did not end", ledger=ledger)
    assert trio.current_time() == 30


class StuckAtTheEnd(Lease):
    """A lease store that cannot be closed."""

    async def aclose(self) -> None:
        await super().aclose()
        await anyio.sleep_forever()


class StuckTransport(Script):
    async def aclose(self) -> None:
        await anyio.sleep_forever()


@pytest.mark.parametrize(
    ("part", "kind", "reason", "seconds"),
    [
        ("transport", GatewayError, "the connections were not closed within 10 s", 10),
        ("lease", GatewayError, "the terminal lease was not closed within 2 s", 2),
        ("ledger", LedgerError, "the ledger Memory cannot be used: aclose did not end within 20 s", 20),
    ],
)
async def test_closing(part: str, kind: type[GatewayError], reason: str, seconds: float) -> None:
    """Closing ends and names the part that hangs; the others are closed all the same."""
    script = (StuckTransport if part == "transport" else Script)(post=[APPROVED])
    ledger = stuck(script, "aclose" if part == "ledger" else "")
    lease = StuckAtTheEnd() if part == "lease" else Lease()
    gateway = script.gateway(ledger=ledger, terminal_lease=lease)
    await sell_at_terminal(gateway)
    began = trio.current_time()
    await error_of(gateway.aclose(), kind, match=reason)
    assert trio.current_time() - began == seconds
    assert lease.closed
    assert ledger.notes[-1] == ("aclose",)


# --- a task that is cancelled once more


class SlowLease:
    """A lease store that takes a round of the event loop for everything; it knows who has the terminal."""

    owner, seconds, wait = "till-7", 30.0, None

    def __init__(self) -> None:
        self.held: list[float | None] = []
        self.is_asked = asyncio.Event()
        self.others = False

    async def acquire(self, _terminal_id: str, _token: str, seconds: float | None = None) -> str | None:
        await _rounds()
        self.is_asked.set()
        if self.others:
            return "till-8"
        self.held.append(seconds)
        return None

    async def release(self, _terminal_id: str, _token: str) -> None:
        await _rounds()
        self.held = []

    async def aclose(self) -> None:
        """Hold nothing."""


async def _rounds() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def cancel_often(call: "asyncio.Task[Any]") -> None:
    while not call.done():
        call.cancel()
        await asyncio.sleep(0)
    assert call.cancelled()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_cancelled_lease() -> None:
    """Nothing was sent yet: other tills need not wait until the lease runs out."""

    async def key() -> str:
        fetching.set()
        await asyncio.sleep(3600)
        return "key"

    lease, fetching = SlowLease(), asyncio.Event()
    options: dict[str, Any] = {"terminal_lease": lease, "credentials": UserApiKey("user", key)}
    async with Script(post=[APPROVED]).gateway(**options) as gateway:
        call = asyncio.ensure_future(sell_at_terminal(gateway))
        await fetching.wait()
        await cancel_often(call)
    assert lease.held == []


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize(
    ("response", "held"), [(FOUND, []), (NOT_THERE, [pytest.approx(420, abs=5)])], ids=["found", "not found"]
)
async def test_cancelled_sale(monkeypatch: pytest.MonkeyPatch, response: Any, held: list[Any]) -> None:
    """The lease is released if the sale is found, and lasts as long as the doubt otherwise."""

    async def wait(request: Any) -> Any:
        at_terminal.set()
        return await silent(request)

    monkeypatch.setattr("gateway_async._execution.lookup._RESOLVE_SECONDS", 0.05)
    lease, at_terminal = SlowLease(), asyncio.Event()
    script = Script(post=[wait], get=[response])
    async with script.gateway(terminal_lease=lease) as gateway:
        call = asyncio.ensure_future(sell_at_terminal(gateway))
        await at_terminal.wait()
        await cancel_often(call)
    assert "GET" in script.methods
    assert lease.held[-1:] == held


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_cancelled_waiter() -> None:
    """Another till has the terminal: the store is told that this one no longer waits."""
    lease = SlowLease()
    lease.others, lease.held = True, [None]
    async with Script(post=[APPROVED]).gateway(terminal_lease=lease) as gateway:
        call = asyncio.ensure_future(sell_at_terminal(gateway))
        await lease.is_asked.wait()
        await cancel_often(call)
    assert lease.held == []


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_late_cancellation() -> None:
    """The sale was approved, and the task is cancelled while its lease is released: a note names the sale."""

    class Releasing(SlowLease):
        async def release(self, terminal_id: str, token: str) -> None:
            self.is_asked.set()
            await super().release(terminal_id, token)

    lease = Releasing()
    async with Script(post=[APPROVED]).gateway(terminal_lease=lease) as gateway:
        lease.is_asked.clear()
        call = asyncio.ensure_future(sell_at_terminal(gateway))
        await lease.is_asked.wait()
        lease.is_asked.clear()
        await lease.is_asked.wait()
        call.cancel()
        cancelled = await error_of(call, asyncio.CancelledError)
    assert lease.held == []
    assert cancelled.__notes__[0].endswith("it was executed (id found)")
