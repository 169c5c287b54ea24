"""The code that the demo shows; the demo runs these functions, so the shown code works.

The docstring of a function introduces its chapter. Its body is shown as code, with at most 72 characters on a line.
"""
# ruff: noqa: RET504  results have names, for the reader

import asyncio
import inspect
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import date
from decimal import Decimal
from textwrap import dedent
from typing import Any

from gateway_async import (
    AccountVault,
    AsyncGateway,
    QuickInvoice,
    QuickInvoiceCreate,
    RouterAccountVaultCreate,
    RouterTransactionCreate,
    Transaction,
    TransactionBatch,
    TransactionCreate,
)
from gateway_async.observe import Observer
from gateway_async.sandbox import Sandbox

__all__ = [
    "ask_for_payment",
    "charge",
    "charge_and_lose_the_answer",
    "excerpt",
    "open_gateway",
    "sell_at_terminal",
    "settle",
    "store_card_at_terminal",
    "walk_vaults",
]


@asynccontextmanager
async def open_gateway(watch: Observer) -> AsyncIterator[tuple[Sandbox, AsyncGateway]]:
    """A sandbox is a real HTTP server. Its client already has the credentials; `watch` observes every call."""
    async with (
        Sandbox(terminal_delay=2.0) as sandbox,
        sandbox.gateway(observers=[watch]) as gateway,
    ):
        yield sandbox, gateway


async def store_card_at_terminal(gateway: AsyncGateway, sandbox: Sandbox) -> AccountVault:
    """The request stays open until the customer has presented a card. No card number passes through the program."""
    vault = await gateway.router_account_vaults.create(
        RouterAccountVaultCreate(
            terminal_id=sandbox.terminal_id,
            contact_id=sandbox.contact_id,
        )
    )
    return vault


async def sell_at_terminal(gateway: AsyncGateway, sandbox: Sandbox, vault: AccountVault) -> Transaction:
    """One task waits for the customer. It holds no thread, and no connection that other calls need."""
    new = RouterTransactionCreate(
        action="sale",
        terminal_id=sandbox.terminal_id,
        transaction_amount="12.50",
    )
    async with asyncio.TaskGroup() as tasks:
        sale = tasks.create_task(gateway.router_transactions.create(new))
        while not sale.done():
            await gateway.account_vaults.get(vault.id)
    return sale.result()


async def charge(gateway: AsyncGateway, vault: AccountVault) -> Transaction:
    """The card's issuer declines. This is a normal result: no exception to catch, only a field to check."""
    sale = await gateway.transactions.create(
        TransactionCreate(
            action="sale",
            account_vault_id=vault.id,
            transaction_amount="6.16",
        )
    )
    return sale


async def charge_and_lose_the_answer(gateway: AsyncGateway, sandbox: Sandbox, vault: AccountVault) -> Transaction:
    """The gateway charges the card, then closes the connection without a response. A retry could charge it twice."""
    sandbox.fault("POST /v2/transactions", "close_after_commit")
    sale = await gateway.transactions.create(
        TransactionCreate(
            action="sale",
            account_vault_id=vault.id,
            transaction_amount="24.00",
        )
    )
    return sale


async def ask_for_payment(gateway: AsyncGateway, sandbox: Sandbox) -> QuickInvoice:
    """An invoice goes out by e-mail. The customer pays part of it on its page, which the sandbox plays here."""
    invoice = await gateway.quick_invoices.create(
        QuickInvoiceCreate(
            title="Order 1001",
            due_date=date(2030, 1, 31),
            item_list={"Tea": Decimal("12.50"), "Scones": Decimal("8.50")},
            email="ada@example.test",
            send_email=True,
            allow_partial_pay=True,
        )
    )
    sandbox.pay_quick_invoice(invoice.id, "10.00")
    invoice = await gateway.quick_invoices.get(invoice.id)
    return invoice


async def settle(gateway: AsyncGateway) -> TransactionBatch | None:
    """Approved payments collect in the open batch of their merchant account, until it is settled."""
    batch = await gateway.transaction_batches.list({"is_open": True}).first()
    if batch:
        batch = await gateway.transaction_batches.settle(batch.id)
    return batch


async def walk_vaults(gateway: AsyncGateway) -> int:
    """One loop over all vaults. While a page is used, the next one is fetched."""
    visas = 0
    async for vault in gateway.account_vaults.list(page_size=500):
        if vault.account_type == "visa":
            visas += 1
    return visas


def excerpt(snippet: Callable[..., Any]) -> str:
    """Return the body of a snippet without signature, docstring and `return`."""
    _, _, body = inspect.getsource(snippet).split('"""')
    return dedent(re.sub(r"yield .+", "...", re.sub(r"\n    return .+", "", body))).strip()
