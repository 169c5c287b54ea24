"""The sandbox's named misfortunes, met by the client: each call comes to its end, and is carried out once."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from gateway_async import (
    AsyncGateway,
    CardVaultCreate,
    OutcomeUnknownError,
    RouterTransactionCreate,
    TransactionCreate,
)
from gateway_async.sandbox import Sandbox
from gateway_async.sandbox.simulators.faults import SCENARIOS

pytestmark = pytest.mark.anyio

CARD: dict[str, Any] = {"account_number": "4111111111111111", "exp_date": "1230"}


async def sell(gateway: AsyncGateway, _: Sandbox) -> object:
    """Charge a card."""
    return await gateway.transactions.create(TransactionCreate(action="sale", transaction_amount="1.00", **CARD))


async def sell_at_terminal(gateway: AsyncGateway, sandbox: Sandbox) -> object:
    """Let a customer pay at the terminal."""
    new = RouterTransactionCreate(action="sale", transaction_amount="1.00", terminal_id=sandbox.terminal_id)
    return await gateway.router_transactions.create(new)


async def store(gateway: AsyncGateway, _: Sandbox) -> object:
    """Store a card."""
    return await gateway.account_vaults.create(CardVaultCreate(**CARD))


CALLS: dict[str, Callable[[AsyncGateway, Sandbox], Awaitable[object]]] = {
    "response lost at the terminal": sell_at_terminal,
    "card stored, response cut in half": store,
}


@pytest.mark.parametrize("scenario", [name for name in SCENARIOS if not name.startswith("a bad day")])
async def test_scenario(sandbox: Sandbox, scenario: str) -> None:
    """The caller gets the record, which was made once, by the call itself or when the gateway is back."""
    sandbox.scenario(scenario)
    async with sandbox.gateway(timeout=6) as gateway:
        try:
            made = await CALLS.get(scenario, sell)(gateway, sandbox)
        except OutcomeUnknownError as unknown:
            sandbox.advance(1)  # the port is open again
            made = await unknown.resolve()
    name = getattr(made, "transaction_api_id", None) or getattr(made, "account_vault_api_id", None)
    ledger = sandbox.ledger()
    assert ledger["charged"] | ledger["stored"] == {name: 1}
    assert any(plan["affected"] for plan in sandbox.faults())
