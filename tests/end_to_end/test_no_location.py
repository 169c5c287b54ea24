"""Payments that name no location: the gateway takes the user's primary one, and a lost response is found in a list."""

from pathlib import Path
from typing import Any

import pytest

from gateway_async import (
    ApiId,
    CardVaultCreate,
    InvalidRequestError,
    OutcomeUnknownError,
    RouterTransactionCreate,
    SqliteLedger,
    TransactionCreate,
)
from gateway_async.sandbox import Sandbox

pytestmark = pytest.mark.anyio

CARD: dict[str, Any] = {"account_number": "4111111111111111", "exp_date": "1230"}
SALE = TransactionCreate(action="sale", transaction_amount="12.50", **CARD)
LOST = ["reset_after_commit", "close_after_commit", "error_after_commit", "cut_body", "garbage", "reset_before_commit"]


async def test_sale(sandbox: Sandbox) -> None:
    """Without a location in request and client, a sale is in the primary one, which the response names."""
    async with sandbox.gateway(location_id=None) as gateway:
        sale = await gateway.transactions.create(SALE)
        at_terminal = await gateway.router_transactions.create(
            RouterTransactionCreate(action="sale", terminal_id=sandbox.terminal_id, transaction_amount="12.50")
        )
    assert (sale.location_id, at_terminal.location_id) == (sandbox.location_id, sandbox.location_id)


async def test_missing_location(sandbox: Sandbox) -> None:
    """A vault, and an `ApiId`, which is unique in its location only, need a location and say so."""
    async with sandbox.gateway(location_id=None) as gateway:
        with pytest.raises(InvalidRequestError, match="location_id: is required"):
            await gateway.account_vaults.create(CardVaultCreate(**CARD))
        with pytest.raises(InvalidRequestError, match="location_id: an ApiId needs one"):
            await gateway.transactions.get(ApiId("order-1"))


@pytest.mark.parametrize("fault", LOST)
@pytest.mark.parametrize("api_id", [None, "order-1"])
async def test_lost_sale(sandbox: Sandbox, fault: str, api_id: str | None) -> None:
    """A lost sale is found in a list under a generated id and under the caller's: it is charged once."""
    async with sandbox.gateway(location_id=None) as gateway:
        if api_id:  # an earlier sale whose id contains the other one's
            longer = TransactionCreate(action="sale", transaction_amount="12.50", transaction_api_id="order-11", **CARD)
            await gateway.transactions.create(longer)
        sandbox.fault("POST /v2/transactions", fault)  # type: ignore[arg-type]
        new = TransactionCreate(action="sale", transaction_amount="12.50", transaction_api_id=api_id, **CARD)
        sale = await gateway.transactions.create(new)
    charged = sandbox.ledger()["charged"]
    charged.pop("order-11", None)
    assert charged == {sale.transaction_api_id: 1}
    assert sale.transaction_api_id == (api_id or sale.transaction_api_id)


async def test_a_lost_terminal_sale_is_found_in_a_list_and_not_repeated(sandbox: Sandbox) -> None:
    sandbox.fault("POST /v2/routertransactions", "close_after_commit")
    new = RouterTransactionCreate(action="sale", terminal_id=sandbox.terminal_id, transaction_amount="12.50")
    async with sandbox.gateway(location_id=None) as gateway:
        sale = await gateway.router_transactions.create(new)
    assert sandbox.ledger()["charged"] == {sale.transaction_api_id: 1}


async def test_ledger(sandbox: Sandbox, tmp_path: Path) -> None:
    """The outcome query outlives the process that made the sale, without a location."""
    path = str(tmp_path / "payments.db")
    sandbox.fault("POST /v2/transactions", "close_after_commit")
    sandbox.fault("GET /v2/transactions", "error_before_commit", times=1000)
    async with sandbox.gateway(location_id=None, ledger=SqliteLedger(path), timeout=1) as gateway:
        with pytest.raises(OutcomeUnknownError) as unknown:
            await gateway.transactions.create(SALE)
    sandbox.clear_faults()
    async with sandbox.gateway(location_id=None, ledger=SqliteLedger(path)) as gateway:
        (recovered,) = await gateway.recover()
    assert (recovered.outcome, recovered.api_id) == ("found", unknown.value.api_id)
