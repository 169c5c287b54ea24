"""The crash test itself: every await of seven scenarios, and processes that are killed.

`GATEWAY_KILLS=60 pytest tests/crash_testing -k killing -s` kills the process of each scenario that often.
"""

import os
import re
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from functools import partial
from secrets import token_hex
from typing import Any

import anyio
import attrs
import pytest

from gateway_async import AsyncGateway, GatewayError, NotFoundError, ServerError
from gateway_async._execution.http_client import HttpClient
from gateway_async._http.progress import Progress
from gateway_async._wire.call import Call
from gateway_async.crash_testing import CrashReport, cancel_everywhere, kill_everywhere
from gateway_async.crash_testing.run import Prepare, Scenario
from gateway_async.sandbox import Sandbox
from tests.support.ledgers import ask_postgres
from tests.support.sandboxes import quick_sandbox
from tests.support.servers import postgres_only

from . import scenarios
from .scenarios import SCENARIOS, sale

OPEN_PROCESS = anyio.open_process
KILLS = int(os.environ.get("GATEWAY_KILLS", "1"))


sandbox = pytest.fixture(scope="module")(quick_sandbox)
"""One for all tests of this file; each run resets it."""


@pytest.fixture(autouse=True)
def terminal(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, forked_workers: None) -> None:
    """The terminal that `router_sale` uses, in this process and in others."""
    monkeypatch.setenv("TERMINAL_ID", sandbox.terminal_id)
    monkeypatch.setenv("CONTACT_ID", sandbox.contact_id)


def goes_dark(sandbox: Sandbox) -> None:
    """Plan that sales are approved without a response, and cannot be looked up."""
    sandbox.fault("POST /v2/transactions", "close_after_commit")
    sandbox.fault("GET /v2/transactions/{id}", "error_before_commit", times=100)


def responds_late(sandbox: Sandbox) -> None:
    """Plan that every write is done at once, and answered after a while: most kills come in between."""
    for operation in ("POST /v2/transactions", "POST /v2/routertransactions", "POST /v2/accountvaults"):
        sandbox.fault(operation, "delay", seconds=0.05)
    sandbox.fault("PUT /v2/transactions/{id}", "delay", seconds=0.05)
    sandbox.fault("POST /v2/transactionbatches/{id}/settle", "delay", seconds=0.05)


@pytest.mark.anyio
@pytest.mark.parametrize("scenario", SCENARIOS)
async def test_cancelling(sandbox: Sandbox, scenario: Scenario) -> None:
    """At every await and with both ways to cancel, nothing is doubled, lost or left open without a report."""
    report = await cancel_everywhere(scenario, sandbox)
    report.check()
    assert {"done", "not_sent"} <= set(report.outcomes)


@pytest.mark.anyio
async def test_midnight(sandbox: Sandbox) -> None:
    """A batch that the gateway settles at midnight is no effect of a call."""

    async def passes_midnight(gateway: AsyncGateway) -> None:
        await sale(gateway)
        await anyio.to_thread.run_sync(sandbox.advance, 86_400)

    (await cancel_everywhere(passes_midnight, sandbox)).check()
    assert [batch["is_open"] for batch in sandbox.ledger()["transactionbatches"]] == [0]


@pytest.mark.anyio
@pytest.mark.parametrize("prepare", [goes_dark, responds_late])
async def test_bad_line(sandbox: Sandbox, prepare: Prepare) -> None:
    """On a bad line, a call that cannot be looked up while it lasts is found afterwards."""
    report = await cancel_everywhere(sale, sandbox, prepare=prepare)
    report.check()
    assert ("done (recovered)" in report.outcomes) == (prepare is goes_dark)


@pytest.mark.asyncio
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("scenario", SCENARIOS)
async def test_killing(sandbox: Sandbox, scenario: Scenario) -> None:
    """A killed process leaves a ledger from which every outcome is recovered."""
    report = await kill_everywhere(scenario, sandbox, kills=KILLS, prepare=responds_late)
    print(report)  # noqa: T201  seen with -s
    report.check()
    assert len(report.crashes) == KILLS + 1


@pytest.fixture
def ledger_schema(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A schema for the ledgers of `scenarios.postgres_ledger`."""
    schema = f"crash_{token_hex(6)}"
    monkeypatch.setenv("LEDGER_SCHEMA", schema)
    ask_postgres(f"CREATE SCHEMA {schema}")
    yield
    ask_postgres(f"DROP SCHEMA {schema} CASCADE")


@postgres_only
@pytest.mark.asyncio
@pytest.mark.timeout(1200)
@pytest.mark.usefixtures("ledger_schema")
@pytest.mark.parametrize("scenario", [sale, scenarios.router_sale])
async def test_killing_with_postgres(sandbox: Sandbox, scenario: Scenario) -> None:
    """The same with a ledger in PostgreSQL, from which a new process recovers."""
    report = await kill_everywhere(
        scenario, sandbox, kills=KILLS, prepare=responds_late, make_ledger=scenarios.postgres_ledger
    )
    print(report)  # noqa: T201  seen with -s
    report.check()
    assert len(report.crashes) == KILLS + 1


@postgres_only
@pytest.mark.asyncio
@pytest.mark.usefixtures("ledger_schema")
async def test_fixture(crash_test: Callable[..., Awaitable[CrashReport]]) -> None:
    """Each run has a table of its own, and every payment is in one of them."""
    report = await crash_test(sale, kills=0, make_ledger=scenarios.postgres_ledger)
    schema = os.environ["LEDGER_SCHEMA"]
    tables = ask_postgres(f"SELECT tablename FROM pg_tables WHERE schemaname = '{schema}'")  # noqa: S608
    assert len(tables) == len(report.crashes) + 1
    assert {"done", "not_sent"} <= set(report.outcomes)


@pytest.mark.anyio
async def test_own_processes(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kill processes that were started as users start them, from both event loops; they themselves run on asyncio."""
    monkeypatch.setattr(anyio, "open_process", OPEN_PROCESS)
    report = await kill_everywhere(sale, sandbox, kills=1)
    report.check()
    assert [crash.when.split(" ")[0] for crash in report.crashes] == ["killed", "killed"]


@pytest.mark.anyio
async def test_other_client(sandbox: Sandbox) -> None:
    """A scenario that pays with another client breaks a rule, and the report says so."""

    async def sale_without_ledger(gateway: AsyncGateway) -> None:
        await sale(gateway)
        async with sandbox.gateway() as other:
            await sale(other)

    report = await cancel_everywhere(sale_without_ledger, sandbox)
    with pytest.raises(AssertionError, match="was charged, but the ledger says nothing"):
        report.check()


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_second_payment(sandbox: Sandbox) -> None:
    """A scenario that charges a second time, under another id, when the first time is unknown: known, and double."""
    double = "charged 2 times in all, and 1 in a fault-free run"
    report = await kill_everywhere(scenarios.pay_again, sandbox, kills=0, prepare=goes_dark, timeout=1)
    assert report.problems == (f"killed at its end: {double}",)

    async def pay_again_without_a_receipt(gateway: AsyncGateway) -> None:
        await sale(gateway)
        try:
            await gateway.contacts.get(sandbox.contact_id)
        except ServerError:
            await sale(gateway)

    report = await cancel_everywhere(
        pay_again_without_a_receipt,
        sandbox,
        prepare=lambda sandbox: sandbox.fault("GET /v2/contacts/{id}", "error_before_commit", times=100),
    )
    assert f"not cancelled: {double}" in report.problems


def send_twice(exchange: Any) -> Any:
    """A client that sends each write once more, without its name."""

    async def exchange_twice(http: HttpClient, call: Call[Any], progress: Progress) -> Any:
        response = await exchange(http, call, progress)
        if call.ledger_entry is not None:
            body = re.sub(rb',?"\w+_api_id":"[^"]*"', b"", call.request.body or b"")
            with suppress(GatewayError):
                await exchange(http, attrs.evolve(call, request=attrs.evolve(call.request, body=body)), Progress())
        return response

    return exchange_twice


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # the rules do not depend on the loop
@pytest.mark.parametrize("scenario", [sale, scenarios.router_sale, scenarios.store, scenarios.router_store])
async def test_repeating_client(sandbox: Sandbox, scenario: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    """Were the package itself to repeat what it must not, its crash test would say so."""
    monkeypatch.setattr(HttpClient, "send", send_twice(HttpClient.send))
    report = await cancel_everywhere(scenario, sandbox)
    assert any("but the ledger says nothing" in problem for problem in report.problems)


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # what runs is a process of its own
async def test_failing_setup(sandbox: Sandbox) -> None:
    """In a process of its own as in this one: it ends, and what it left open is recovered."""
    report = await kill_everywhere(sale, sandbox, kills=0, prepare=goes_dark, timeout=1)
    report.check()
    assert report.outcomes == {"done (recovered)": 1}


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # what runs is a process of its own
async def test_failing_scenario(sandbox: Sandbox) -> None:
    """Its own error comes out, here or as the words of its process."""
    with pytest.raises(NotFoundError):
        await cancel_everywhere(scenarios.breaks, sandbox)
    with pytest.raises(RuntimeError, match=r"(?s)fails without being killed.*NotFoundError"):
        await kill_everywhere(scenarios.breaks, sandbox, kills=1)


@pytest.mark.anyio
async def test_unloadable_scenario(sandbox: Sandbox) -> None:
    """Another process can do nothing with a function that has no name in a file."""

    async def inner(gateway: AsyncGateway) -> None:
        await sale(gateway)

    for scenario in (inner, partial(sale)):
        with pytest.raises(ValueError, match=r"^scenario: other processes cannot load "):
            await kill_everywhere(scenario, sandbox)
