"""The crash test itself: every await of five scenarios, and processes that are killed.

`GATEWAY_KILLS=60 pytest tests/crashing -k killing -s` kills the process of each scenario that often.
"""

import os
from collections.abc import Iterator
from functools import partial

import pytest

from gateway_async import AsyncGateway, NotFoundError
from gateway_async.crashing import cancel_everywhere, kill_everywhere
from gateway_async.crashing.scene import Prepare, Scenario
from gateway_async.sandbox import Sandbox

from . import scenarios
from .scenarios import SCENARIOS, sale

KILLS = int(os.environ.get("GATEWAY_KILLS", "2"))


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    """One for all tests of this file; each run resets it."""
    with Sandbox(terminal_delay=0.0) as sandbox:
        yield sandbox


@pytest.fixture(autouse=True)
def terminal(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """The terminal that `router_sale` uses, in this process and in others."""
    monkeypatch.setenv("TERMINAL_ID", sandbox.terminal_id)


def goes_dark(sandbox: Sandbox) -> None:
    """Plan that sales are approved without an answer, and cannot be looked up."""
    sandbox.fault("POST /v2/transactions", "close_after_commit")
    sandbox.fault("GET /v2/transactions/{id}", "error_before_commit", times=100)


def answers_late(sandbox: Sandbox) -> None:
    """Plan that every write is done at once, and answered after a while: most kills come in between."""
    for operation in ("POST /v2/transactions", "POST /v2/routertransactions", "POST /v2/accountvaults"):
        sandbox.fault(operation, "delay", seconds=0.05)
    sandbox.fault("PUT /v2/transactions/{id}", "delay", seconds=0.05)
    sandbox.fault("POST /v2/transactionbatches/{id}/settle", "delay", seconds=0.05)


@pytest.mark.anyio
@pytest.mark.parametrize("scenario", SCENARIOS)
async def test_cancelling_anywhere_loses_nothing(sandbox: Sandbox, scenario: Scenario) -> None:
    """Whatever await it is, and whoever cancels: nothing is doubled, lost or left open in silence."""
    report = await cancel_everywhere(scenario, sandbox)
    report.check()
    assert {"done", "not_sent"} <= set(report.outcomes)


@pytest.mark.anyio
@pytest.mark.parametrize("prepare", [goes_dark, answers_late])
async def test_cancelling_loses_nothing_on_a_bad_line(sandbox: Sandbox, prepare: Prepare) -> None:
    """A call that cannot be looked up while it lasts is found afterwards."""
    report = await cancel_everywhere(sale, sandbox, prepare=prepare)
    report.check()
    assert ("done (recovered)" in report.outcomes) == (prepare is goes_dark)


@pytest.mark.asyncio
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("scenario", SCENARIOS)
async def test_killing_loses_nothing(sandbox: Sandbox, scenario: Scenario) -> None:
    """A process that is gone leaves a ledger from which everything can be told."""
    report = await kill_everywhere(scenario, sandbox, kills=KILLS, prepare=answers_late)
    print(report)  # noqa: T201  seen with -s
    report.check()
    assert len(report.crashes) == KILLS + 1


@pytest.mark.anyio
async def test_killing_works_on_both_loops(sandbox: Sandbox) -> None:
    """Whatever loop kills; what is killed runs on asyncio."""
    report = await kill_everywhere(sale, sandbox, kills=1)
    report.check()
    assert [crash.when.split(" ")[0] for crash in report.crashes] == ["killed", "killed"]


@pytest.mark.anyio
async def test_a_payment_beside_the_ledger_is_noticed(sandbox: Sandbox) -> None:
    """A scenario that pays with another client breaks the rules, and is told so."""

    async def sale_without_ledger(gateway: AsyncGateway) -> None:
        await sale(gateway)
        async with sandbox.gateway() as other:
            await sale(other)

    report = await cancel_everywhere(sale_without_ledger, sandbox)
    with pytest.raises(AssertionError, match="was charged, and the ledger says nothing of it"):
        report.check()


@pytest.mark.anyio
async def test_a_scenario_that_fails_by_itself_is_no_crash_test(sandbox: Sandbox) -> None:
    """Its own error comes out, here or as the words of its process."""
    with pytest.raises(NotFoundError):
        await cancel_everywhere(scenarios.breaks, sandbox)
    with pytest.raises(RuntimeError, match=r"(?s)fails without being killed.*NotFoundError"):
        await kill_everywhere(scenarios.breaks, sandbox, kills=1)


@pytest.mark.anyio
async def test_a_scenario_must_be_loadable(sandbox: Sandbox) -> None:
    """Another process can do nothing with a function that has no name in a file."""

    async def inner(gateway: AsyncGateway) -> None:
        await sale(gateway)

    for scenario in (inner, partial(sale)):
        with pytest.raises(ValueError, match=r"^scenario: other processes cannot load "):
            await kill_everywhere(scenario, sandbox)
