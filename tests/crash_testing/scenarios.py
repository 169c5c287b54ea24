"""Scenarios to stop at every moment; other processes load them from this file."""

import os
from pathlib import Path
from typing import Any

from gateway_async import (
    AsyncGateway,
    CardVaultCreate,
    OutcomeUnknownError,
    PostgresLedger,
    RouterAccountVaultCreate,
    RouterTransactionCreate,
    Transaction,
    TransactionCreate,
)
from tests.support.servers import POSTGRES

CARD: dict[str, Any] = {"account_number": "4111111111111111", "exp_date": "1230"}


async def sale(gateway: AsyncGateway) -> Transaction:
    """Charge a card that is keyed."""
    return await gateway.transactions.create(TransactionCreate(action="sale", transaction_amount="12.50", **CARD))


async def router_sale(gateway: AsyncGateway) -> None:
    """Let a customer pay at the terminal that the environment names."""
    terminal_id = os.environ["TERMINAL_ID"]
    new = RouterTransactionCreate(action="sale", transaction_amount="12.50", terminal_id=terminal_id)
    await gateway.router_transactions.create(new)


async def store(gateway: AsyncGateway) -> None:
    """Store a card."""
    await gateway.account_vaults.create(CardVaultCreate(**CARD))


async def router_store(gateway: AsyncGateway) -> None:
    """Store the card of a customer at the terminal that the environment names."""
    new = RouterAccountVaultCreate(terminal_id=os.environ["TERMINAL_ID"], contact_id=os.environ["CONTACT_ID"])
    await gateway.router_account_vaults.create(new)


async def capture(gateway: AsyncGateway) -> None:
    """Hold an amount on a card, and take it."""
    new = TransactionCreate(action="authonly", transaction_amount="12.50", **CARD)
    await gateway.transactions.complete((await gateway.transactions.create(new)).id)


async def settle(gateway: AsyncGateway) -> None:
    """Charge a card, and settle the batch that the payment is in."""
    await sale(gateway)
    batch = await gateway.transaction_batches.list({"is_open": True}).first()
    assert batch is not None
    await gateway.transaction_batches.settle(batch.id)


async def void(gateway: AsyncGateway) -> None:
    """Charge a card, and take the payment back."""
    await gateway.transactions.void((await sale(gateway)).id)


async def pay_again(gateway: AsyncGateway) -> None:
    """Charge a card, and charge it under another id if the outcome is unknown, which is a mistake."""
    try:
        await sale(gateway)
    except OutcomeUnknownError:
        await sale(gateway)


async def breaks(gateway: AsyncGateway) -> None:
    """Fail by itself."""
    await gateway.transactions.get("unknown")


def postgres_ledger(path: Path) -> PostgresLedger:
    """Make a ledger in the schema that the environment names."""
    return PostgresLedger(POSTGRES, table=f"{os.environ['LEDGER_SCHEMA']}.{path.parent.name}_{path.stem}")


SCENARIOS = (sale, router_sale, store, router_store, settle, void, capture)
