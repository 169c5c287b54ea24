"""The code that the demo shows and runs.

A docstring introduces its chapter, and the body is shown with at most 72 characters on a line.
"""
# ruff: noqa: RET504  results have names, for the reader

import asyncio
import inspect
import re
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from datetime import date
from decimal import Decimal
from pathlib import Path
from textwrap import dedent
from typing import Any

from gateway_async import (
    AccountVault,
    AsyncGateway,
    CardVaultCreate,
    PostbackConfigCreate,
    QuickInvoice,
    QuickInvoiceCreate,
    Recovered,
    RouterAccountVaultCreate,
    RouterTransactionCreate,
    SqliteLedger,
    Transaction,
    TransactionBatch,
    TransactionCreate,
)
from gateway_async.migration import Report, migrate_vaults
from gateway_async.observe import Observer
from gateway_async.postbacks import Postback, PostbackReceiver
from gateway_async.sandbox import Sandbox

__all__ = [
    "ask_for_postbacks",
    "charge",
    "charge_and_lose_the_response",
    "excerpt",
    "list_vaults",
    "make_receiver",
    "migrate",
    "open_gateway",
    "recover_after_crash",
    "return_part",
    "sell_at_terminal",
    "send_invoice",
    "settle",
    "store_card_at_terminal",
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


async def charge_and_lose_the_response(gateway: AsyncGateway, sandbox: Sandbox, vault: AccountVault) -> Transaction:
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


async def send_invoice(gateway: AsyncGateway, sandbox: Sandbox) -> QuickInvoice:
    """An invoice goes out by e-mail. The customer pays part of it on its page, which the sandbox does here."""
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
    """Approved payments collect in the open batch, until it is settled."""
    batch = await gateway.transaction_batches.list({"is_open": True}).first()
    if batch:
        batch = await gateway.transaction_batches.settle(batch.id)
    return batch


async def list_vaults(gateway: AsyncGateway) -> int:
    """One loop over all vaults. While a page is used, the next one is fetched."""
    visas = 0
    async for vault in gateway.account_vaults.list(page_size=500):
        if vault.account_type == "visa":
            visas += 1
    return visas


async def return_part(gateway: AsyncGateway, sale: Transaction) -> Transaction:
    """A refund is a transaction of its own. It returns a part of the sale, or all of it."""
    refund = await gateway.transactions.refund(sale.id, "4.00")
    return refund


def make_receiver(received: asyncio.Queue[Postback[Any]]) -> PostbackReceiver:
    """The gateway reports changes by HTTP. A receiver checks the credentials, and passes typed records to functions."""
    receiver = PostbackReceiver(username="shop", password="demo")  # noqa: S106  for a sandbox

    @receiver.on("transaction")
    async def handle(postback: Postback[Transaction]) -> None:
        await received.put(postback)

    return receiver


async def recover_after_crash(sandbox: Sandbox, file: Path) -> list[Recovered]:
    """Another process charged a card and was killed. Its ledger has the intent, so the next process looks it up."""
    async with sandbox.gateway(ledger=SqliteLedger(file)) as gateway:
        recovered = await gateway.recover()
    return recovered


async def migrate(gateway: AsyncGateway, cards: Iterable[CardVaultCreate], journal: Path) -> Report:
    """A file of cards is stored in the vault. A journal remembers each row, so that no card is stored twice."""
    report = await migrate_vaults(gateway, cards, journal=journal)
    return report


async def ask_for_postbacks(gateway: AsyncGateway, sandbox: Sandbox, url: str) -> None:
    """Create the config that makes the gateway send postbacks about transactions."""
    await gateway.postback_configs.create(
        PostbackConfigCreate(
            url=url,
            resource="transaction",
            product_transaction_id=sandbox.cc_product_transaction_id,
            on_create=True,
            on_update=True,
            is_active=True,
            basic_auth_username="shop",
            basic_auth_password="demo",  # noqa: S106  as above
        )
    )


def excerpt(snippet: Callable[..., Any]) -> str:
    """Return the body of a snippet without signature, docstring and `return`."""
    _, _, body = inspect.getsource(snippet).split('"""')
    body = re.sub(r"  # noqa.*", "", body)
    return dedent(re.sub(r"yield .+", "...", re.sub(r"\n    return .+", "", body))).strip()
