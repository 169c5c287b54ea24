"""What is stopped at every moment: functions that other processes load from this file."""

import os

from gateway_async import AsyncGateway, CardVaultCreate, RouterTransactionCreate, TransactionCreate

__all__ = ["SCENARIOS", "breaks", "router_sale", "sale", "settle", "store", "void"]

CARD = {"account_number": "4111111111111111", "exp_date": "1230"}


async def sale(gateway: AsyncGateway) -> None:
    """Charge a card that is keyed."""
    await gateway.transactions.create(TransactionCreate(action="sale", transaction_amount="12.50", **CARD))


async def router_sale(gateway: AsyncGateway) -> None:
    """Let a customer pay at the terminal that the environment names."""
    terminal_id = os.environ["TERMINAL_ID"]
    new = RouterTransactionCreate(action="sale", transaction_amount="12.50", terminal_id=terminal_id)
    await gateway.router_transactions.create(new)


async def store(gateway: AsyncGateway) -> None:
    """Store a card."""
    await gateway.account_vaults.create(CardVaultCreate(**CARD))


async def settle(gateway: AsyncGateway) -> None:
    """Charge a card, and settle the batch that the payment is in."""
    await sale(gateway)
    batch = await gateway.transaction_batches.list({"is_open": True}).first()
    assert batch is not None
    await gateway.transaction_batches.settle(str(batch.id))


async def void(gateway: AsyncGateway) -> None:
    """Charge a card, and take the payment back."""
    new = TransactionCreate(action="sale", transaction_amount="12.50", **CARD)
    await gateway.transactions.void(str((await gateway.transactions.create(new)).id))


async def breaks(gateway: AsyncGateway) -> None:
    """Fail by itself."""
    await gateway.transactions.get("unknown")


SCENARIOS = (sale, router_sale, store, settle, void)
