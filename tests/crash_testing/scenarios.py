"""Scenarios to stop at every moment; other processes load them from this file."""

import os
from pathlib import Path

from gateway_async import AsyncGateway, OutcomeUnknownError, PostgresLedger, RouterAccountVaultCreate, Transaction
from tests.support import sales
from tests.support.ledgers import ask_postgres, disconnect
from tests.support.servers import POSTGRES


async def sale(gateway: AsyncGateway) -> Transaction:
    """Charge a card that is keyed."""
    return await gateway.transactions.create(sales.sale())


async def router_sale(gateway: AsyncGateway) -> None:
    """Let a customer pay at the terminal that the environment names."""
    await gateway.router_transactions.create(sales.sale_at(os.environ["TERMINAL_ID"]))


async def store(gateway: AsyncGateway) -> None:
    """Store a card."""
    await gateway.account_vaults.create(sales.NEW_CARD)


async def router_store(gateway: AsyncGateway) -> None:
    """Store the card of a customer at the terminal that the environment names."""
    new = RouterAccountVaultCreate(terminal_id=os.environ["TERMINAL_ID"], contact_id=os.environ["CONTACT_ID"])
    await gateway.router_account_vaults.create(new)


async def capture(gateway: AsyncGateway) -> None:
    """Hold an amount on a card, and take it."""
    held = await gateway.transactions.create(sales.sale(action="authonly"))
    await gateway.transactions.complete(held.id)


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
    """Make a ledger in the schema that the environment names, when a killed process has no connection to it."""
    table = f"{os.environ['LEDGER_SCHEMA']}.{path.parent.name}_{path.stem}"
    if ask_postgres(f"SELECT to_regclass('{table}')")[0][0]:
        disconnect(table)
    return PostgresLedger(POSTGRES, table=table)


SCENARIOS = (sale, router_sale, store, router_store, settle, void, capture)
