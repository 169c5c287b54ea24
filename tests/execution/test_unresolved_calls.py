"""A terminal at which an earlier call may still be under way takes no other: its customer is asked once."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import anyio
import attrs
import httpx
import pytest
import trio

from gateway_async import NotSentError, OutcomeUnknownError, RouterTransactionCreate, TerminalBusyError
from tests.support.scripted_transport import (
    APPROVED,
    LOST,
    NOT_THERE,
    SALE_AT_TERMINAL,
    Script,
    ScriptedResponse,
    error_of,
    record,
    sell_at_terminal,
    silent,
)

from .test_ledger import LedgerScript, intent

pytestmark = pytest.mark.anyio


def sale(name: str, terminal: str = "t") -> RouterTransactionCreate:
    return attrs.evolve(SALE_AT_TERMINAL, terminal_id=terminal, transaction_api_id=name)


async def slow(_: httpx.Request) -> httpx.Response:
    """A customer who takes 200 seconds."""
    await anyio.sleep(200)
    return APPROVED


async def cancelled(script: Script, gateway: Any) -> None:
    """Cancel the sale `first` after 5 seconds; the gateway knows nothing of it yet."""
    script.responses["get"] = [NOT_THERE]
    with anyio.move_on_after(5):
        await gateway.router_transactions.create(sale("first"))


async def lost(script: Script, gateway: Any) -> None:
    """Lose the response to the sale `first`, or press Ctrl+C on trio; the gateway knows nothing of it yet."""
    script.responses["get"] = [NOT_THERE]
    is_pressed = isinstance(script.responses["post"][0], KeyboardInterrupt)
    kind: Any = KeyboardInterrupt if is_pressed else OutcomeUnknownError
    await error_of(gateway.router_transactions.create(sale("first")), kind)


ENDINGS = pytest.mark.parametrize(
    ("ending", "response"), [(cancelled, silent), (lost, LOST), (lost, KeyboardInterrupt())]
)


async def test_waiting_in_line_does_not_count_as_terminal_timeout() -> None:
    async with Script(post=[slow]).gateway(terminal_timeout=300) as gateway, anyio.create_task_group() as tasks:
        for number in range(3):
            tasks.start_soon(gateway.router_transactions.create, sale(f"sale-{number}"))
    assert trio.current_time() == 600


@ENDINGS
async def test_next_call(ending: Any, response: ScriptedResponse) -> None:
    """Look up the earlier call for ten seconds, then raise the reason."""
    script = Script(post=[response])
    async with script.gateway() as gateway:
        await ending(script, gateway)
        began = trio.current_time()
        error = await error_of(
            gateway.router_transactions.create(sale("second")),
            TerminalBusyError,
            match=r"terminal t is busy; holder: an earlier call \(first\)",
        )
    assert trio.current_time() == began + 10
    assert "press cancel on the device" in error.advice
    assert script.methods.count("POST") == 1


@ENDINGS
async def test_cancelled_on_device(ending: Any, response: ScriptedResponse) -> None:
    """Cancel pressed on the device makes a declined transaction, which frees the terminal within a second."""
    script = Script(post=[response, APPROVED])
    async with script.gateway() as gateway:
        await ending(script, gateway)
        began = trio.current_time()
        pressed = record("transaction", transaction_api_id="first", status_id=301)
        script.responses["get"] = [lambda _: pressed if trio.current_time() > began + 4 else NOT_THERE]
        assert (await gateway.router_transactions.create(sale("second"))).approved
    assert began + 4 < trio.current_time() <= began + 5.1


@pytest.mark.parametrize("terminal_timeout", [30, 300, 900])
@ENDINGS
async def test_freed_terminal(ending: Any, response: ScriptedResponse, terminal_timeout: float) -> None:
    """After the device's 300 seconds and `in_doubt_seconds`, whatever `terminal_timeout` is, no lookup is needed."""
    script = Script(post=[response, APPROVED])
    async with script.gateway(terminal_timeout=terminal_timeout) as gateway:
        await ending(script, gateway)
        await anyio.sleep(409 - trio.current_time())  # its lookup takes ten seconds
        await error_of(gateway.router_transactions.create(sale("second")), TerminalBusyError)
        await anyio.sleep(max(420 - trio.current_time(), 0))
        asked = script.methods.count("GET")
        assert (await gateway.router_transactions.create(sale("second"))).approved
    assert script.methods.count("GET") == asked
    assert trio.current_time() == pytest.approx(420, abs=1)


async def test_doubt_that_ends_during_the_lookup_frees_the_terminal() -> None:
    script = Script(post=[LOST, APPROVED])
    async with script.gateway() as gateway:
        await lost(script, gateway)
        script.responses["get"] = [silent]
        await anyio.sleep(405 - trio.current_time())
        await error_of(gateway.router_transactions.create(sale("second")), TerminalBusyError, match="free in 5 s")
        assert (await gateway.router_transactions.create(sale("second"))).approved
    assert trio.current_time() == pytest.approx(425, abs=1)


@ENDINGS
async def test_other_terminals_are_not_concerned(ending: Any, response: ScriptedResponse) -> None:
    script = Script(post=[response, APPROVED])
    async with script.gateway() as gateway:
        await ending(script, gateway)
        assert (await gateway.router_transactions.create(sale("second", terminal="u"))).approved


@ENDINGS
async def test_without_blocking_the_next_call_goes_through_at_once(ending: Any, response: ScriptedResponse) -> None:
    script = Script(post=[response, APPROVED])
    async with script.gateway(block_unresolved_terminals=False) as gateway:
        await ending(script, gateway)
        began = trio.current_time()
        assert (await gateway.router_transactions.create(sale("second"))).approved
    assert trio.current_time() == began


async def test_earlier_call() -> None:
    """Its outcome, found later, does not free the terminal of a call that is in doubt."""
    script = Script(post=[LOST], get=[NOT_THERE])
    async with script.gateway() as gateway:
        earlier = await error_of(gateway.router_transactions.create(sale("earlier")), OutcomeUnknownError)
        await anyio.sleep(410)
        await lost(script, gateway)
        script.responses["get"] = [record("transaction", transaction_api_id="earlier", status_id=101)]
        assert await earlier.resolve() is not None
        await error_of(gateway.router_transactions.create(sale("next")), TerminalBusyError)


async def test_found_call() -> None:
    """The lookup under the shield found the sale: the terminal has done with it."""
    script = Script(post=[silent, APPROVED], get=[record("transaction", transaction_api_id="first", status_id=101)])
    async with script.gateway() as gateway:
        with anyio.move_on_after(5):
            await gateway.router_transactions.create(sale("first"))
        assert (await gateway.router_transactions.create(sale("second"))).approved
    assert (script.methods, trio.current_time()) == (["POST", "GET", "POST"], 5)


def ledger_script(outcome_query: Mapping[str, str] | None = None) -> LedgerScript:
    """A gateway whose clients find one open intent in their ledger, of the terminal `t`."""
    script = LedgerScript(post=[APPROVED])
    noon = datetime(2026, 11, 21, 12, 3, 11, tzinfo=UTC)
    script.ledger.left_open = [
        intent(api_id="before the crash", terminal_id="t", sent_at=noon, outcome_query=outcome_query)
    ]
    return script


@pytest.mark.parametrize(
    ("outcome_query", "advice"),
    [({"id": "1"}, r"recover\(\)"), (None, "check at the device")],
    ids=["known", "by hand"],
)
async def test_open_intent(outcome_query: Mapping[str, str] | None, advice: str) -> None:
    """Reject calls while the ledger has an open intent, and say how to resolve it."""
    script = ledger_script(outcome_query)
    async with script.gateway() as gateway:
        error = await error_of(gateway.router_transactions.create(sale("next")), TerminalBusyError, match=advice)
        assert error.holder == "a call (before the crash) of 2026-11-21 12:03:11 UTC, open in the ledger"
        assert script.methods == []
        assert (await gateway.router_transactions.create(sale("elsewhere", terminal="u"))).approved


async def test_without_blocking_the_ledger_is_not_asked() -> None:
    assert (await ledger_script().run(sell_at_terminal, block_unresolved_terminals=False)).approved


async def test_a_ledger_that_cannot_be_read_lets_nothing_through() -> None:
    script = ledger_script()
    script.ledger.broken = "open_intents"
    await script.fail(sell_at_terminal, NotSentError, match="the ledger cannot be read: .*it is damaged")
    assert script.methods == []


async def test_recovered_call() -> None:
    """`recover()` frees the terminal of a call that it finds: the next one is sent without a lookup."""
    script = LedgerScript(post=[LOST, APPROVED])
    async with script.gateway(in_doubt_seconds=1) as gateway:
        await lost(script, gateway)
        script.responses["get"] = [record("transaction", transaction_api_id="first", terminal_id="t")]
        script.ledger.left_open = script.ledger.intents
        assert [each.outcome for each in await gateway.recover()] == ["found"]
        script.ledger.left_open = []
        asked = len(script.asked)
        await gateway.router_transactions.create(sale("second"))
    assert script.methods[asked:] == ["POST"]
