"""The sandbox's named misfortunes, met by the client: each call comes to its end, and is carried out once."""

from collections.abc import Awaitable, Callable

import pytest

from gateway_async import AsyncGateway, OutcomeUnknownError
from gateway_async.sandbox import Sandbox
from gateway_async.sandbox.simulators.faults import SCENARIOS
from tests.support.sales import NEW_CARD, sale, sale_at

pytestmark = pytest.mark.anyio

CALLS: dict[str, Callable[[AsyncGateway, Sandbox], Awaitable[object]]] = {
    "response lost at the terminal": lambda gateway, box: gateway.router_transactions.create(sale_at(box.terminal_id)),
    "card stored, response cut in half": lambda gateway, _: gateway.account_vaults.create(NEW_CARD),
}


def sell(gateway: AsyncGateway, _: Sandbox) -> Awaitable[object]:
    """Charge a card."""
    return gateway.transactions.create(sale())


@pytest.mark.parametrize("scenario", [name for name in SCENARIOS if not name.startswith("a bad day")])
async def test_scenario(sandbox: Sandbox, scenario: str) -> None:
    """The caller gets the record, which was made once, by the call itself or when the gateway is back."""
    sandbox.scenario(scenario)
    async with sandbox.gateway(timeout=15) as gateway:
        try:
            made = await CALLS.get(scenario, sell)(gateway, sandbox)
        except OutcomeUnknownError as unknown:
            sandbox.advance(1)  # the port is open again
            made = await unknown.resolve()
    name = getattr(made, "transaction_api_id", None) or getattr(made, "account_vault_api_id", None)
    ledger = sandbox.ledger()
    assert ledger["charged"] | ledger["stored"] == {name: 1}
    assert any(plan["affected"] for plan in sandbox.faults())
