"""The programs that the demo shows and runs. They are programs of the documents: a test compares them.

A docstring introduces its chapter, and the body is shown. What a program prints is shown too.
"""
# ruff: noqa: T201, S106  as in the documents

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
    Attachment,
    QuickInvoice,
    QuickInvoiceCreate,
    RouterAccountVaultCreate,
    RouterTransactionCreate,
    SqliteLedger,
    TimeRange,
    Transaction,
    TransactionCreate,
)
from gateway_async.migration import Report, Rows, migrate_vaults
from gateway_async.postbacks import Postback, PostbackReceiver
from gateway_async.sandbox import Sandbox


@asynccontextmanager
async def open_gateway() -> AsyncIterator[tuple[Sandbox, AsyncGateway]]:
    """A sandbox is a real HTTP server. Its client already has the credentials."""
    async with Sandbox() as sandbox, sandbox.gateway() as gateway:
        yield sandbox, gateway


async def store_card_at_terminal(gateway: AsyncGateway, terminal_id: str, contact_id: str) -> AccountVault:
    """The request stays open until the customer has presented a card. No card number passes through the program."""
    new = RouterAccountVaultCreate(
        terminal_id=terminal_id,
        contact_id=contact_id,
    )
    card = await gateway.router_account_vaults.create(new)
    return card  # noqa: RET504  a name for readers


async def sell_at_terminal(gateway: AsyncGateway, terminal_id: str) -> Transaction:
    """One task waits for the customer. It holds no thread, and no connection that other calls need."""
    sale = RouterTransactionCreate(
        action="sale",
        terminal_id=terminal_id,
        transaction_amount="12.50",
    )
    payment = await gateway.router_transactions.create(sale)
    return payment  # noqa: RET504


async def sell(gateway: AsyncGateway, card: AccountVault) -> Transaction:
    """The card's issuer declines. This is a normal result: no exception to catch, only a field to check."""
    sale = TransactionCreate(
        action="sale",
        account_vault_id=card.id,
        transaction_amount="6.16",
    )
    payment = await gateway.transactions.create(sale)
    return payment  # noqa: RET504


async def lose_response(gateway: AsyncGateway, sandbox: Sandbox, card: AccountVault) -> None:
    """The gateway charges the card, then closes the connection without a response. A retry could charge it twice."""
    sale = TransactionCreate(
        action="sale",
        account_vault_id=card.id,
        transaction_amount="12.50",
        transaction_api_id="1001-1",
    )
    sandbox.fault("POST /v2/transactions", "close_after_commit")
    await gateway.transactions.create(sale)


async def refund_part(gateway: AsyncGateway, payment: Transaction) -> Transaction:
    """A refund is a transaction of its own. It returns a part of the sale, or all of it."""
    refund = await gateway.transactions.refund(payment.id, "5.00")
    return refund  # noqa: RET504


async def send_invoice(gateway: AsyncGateway) -> QuickInvoice:
    """An invoice goes out by e-mail. The customer then pays a part of it on its page, as the sandbox does here."""
    invoice = await gateway.quick_invoices.create(
        QuickInvoiceCreate(
            title="Order 1001",
            due_date=date(2030, 1, 31),
            item_list={"Tea": Decimal("12.50"), "Scones": Decimal("8.50")},
            email="ada@example.test",
            send_email=True,
            allow_partial_pay=True,
            tags=["tea room"],
        ),
        files=[Attachment("terms.txt", b"Payable within 30 days.")],
    )
    return invoice  # noqa: RET504


async def settle(gateway: AsyncGateway, payment: Transaction) -> None:
    """Approved payments collect in the open batch, until it is settled."""
    if payment.transaction_batch_id is not None:
        batch = await gateway.transaction_batches.settle(
            payment.transaction_batch_id,
        )
        print(
            batch.is_open,
            batch.processing_status_id,
            batch.batch_close_ts,
        )


def make_receiver() -> PostbackReceiver:
    """The gateway reports changes by HTTP. A receiver checks the credentials, and passes typed records to functions."""
    receiver = PostbackReceiver(username="shop", password="a long secret")

    @receiver.on("transaction")
    async def on_payment(postback: Postback[Transaction]) -> None:
        print(
            postback.type,
            postback.record.id,
            postback.record.status_id,
        )

    return receiver


async def recover() -> None:
    """Another process charged a card and was killed. Its ledger has the intent, so the next process looks it up."""
    async with AsyncGateway.from_env(
        ledger=SqliteLedger("payments.db"),
    ) as gateway:
        for recovered in await gateway.recover(wait=None):
            print(
                recovered.call,
                recovered.api_id,
                recovered.outcome,
                recovered.record,
            )


async def list_vaults(gateway: AsyncGateway) -> None:
    """One loop over all vaults. While a page is used, the next ones are fetched."""
    pages = gateway.account_vaults.list(
        {"created_ts": TimeRange.LAST_30_DAYS, "account_type": ["visa", "mc"]},
        sort="-created_ts",
        expand=("contact",),
    )
    async for vault in pages:
        print(vault.last_four)


async def migrate(gateway: AsyncGateway, rows: Rows) -> Report:
    """A file of cards is stored in the vault. A journal remembers each row, so that no card is stored twice."""
    report = await migrate_vaults(
        gateway,
        rows,
        journal="cards.journal",
        concurrency=64,
    )
    return report  # noqa: RET504


async def sell_and_wait(api_id: str) -> None:
    """Sell with a ledger, in a process that the demo kills."""
    sale = TransactionCreate(
        action="sale",
        account_number="4111111111111111",  # a published test card
        exp_date="1230",
        transaction_amount="36.00",
        transaction_api_id=api_id,
    )
    async with AsyncGateway.from_env(ledger=SqliteLedger("payments.db")) as gateway:
        await gateway.transactions.create(sale)


def excerpt(program: Callable[..., Any]) -> str:
    """Extract the body of a program, without signature, docstring and `return`."""
    _, _, body = inspect.getsource(program).split('"""')
    body = re.sub(r"\n+    return .+", "", re.sub(r"  # noqa.*", "", body))
    return dedent(re.sub(r"yield .+", "...", body)).strip()
