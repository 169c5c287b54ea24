"""The chapters of the demo: each shows a program of the documents, runs it, and checks what it says.

The docstring is the title and the introduction. The paragraphs that do not name `demo` are the program: they are shown,
and a test compares them with the documents.
"""
# ruff: noqa: T201, S106  as in the documents

import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import date
from decimal import Decimal
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread

from gateway_async import (
    AccountVault,
    ApiId,
    AsyncGateway,
    Attachment,
    ConnectionLostError,
    PaymentStatus,
    PostbackConfigCreate,
    QuickInvoiceCreate,
    ReasonCode,
    RouterAccountVaultCreate,
    RouterTransactionCreate,
    SqliteLedger,
    TimeRange,
    Transaction,
    TransactionCreate,
    TransactionStatus,
)
from gateway_async.cli.demo.display import sparkline
from gateway_async.migration import migrate_vaults, read_rows
from gateway_async.observe import AttemptFailed, LookupOutcome, OutcomeLookedUp
from gateway_async.postbacks import Postback, PostbackReceiver
from gateway_async.sandbox import Sandbox
from gateway_async.sandbox.http.server import Listener

if TYPE_CHECKING:
    from gateway_async.cli.demo import Demo

_VAULTS: Final = 10_000
_CARDS: Final = 1_000
_POSTBACK_SECONDS: Final = 10.0
_KILL_SECONDS: Final = 20.0
_PAUSE: Final = 0.02
_TEST_CARD: Final = "4111111111111111"
_KILLED: Final = "till-7-order-12"
"""The api id of the sale whose process is killed."""


@asynccontextmanager
async def open_gateway(demo: "Demo") -> AsyncIterator[tuple[Sandbox, AsyncGateway]]:
    """A gateway of your own.

    A sandbox is a real HTTP server. Its client already has the credentials.
    """
    async with Sandbox() as sandbox, sandbox.gateway() as gateway:
        contact = await gateway.contacts.get(sandbox.contact_id)

        demo.check(f"it responds at {sandbox.base_url}", contact.id == sandbox.contact_id)
        demo.result = sandbox.base_url
        yield sandbox, gateway


async def store_card(demo: "Demo", gateway: AsyncGateway, terminal_id: str, contact_id: str) -> AccountVault:
    """A card is stored from a terminal.

    The request stays open until the customer has presented a card. No card number passes through the program.
    """
    demo.wait(lambda: "the customer looks for the card")

    new = RouterAccountVaultCreate(
        terminal_id=terminal_id,
        contact_id=contact_id,
    )
    card = await gateway.router_account_vaults.create(new)

    demo.result = f"{card.account_type} …{card.last_four}"
    demo.check(f"the {demo.result} is stored as vault {card.id}", card.last_four == "1111")
    return card


async def sell_at_terminal(demo: "Demo", gateway: AsyncGateway, terminal_id: str) -> None:
    """A sale waits, other calls go on.

    One task waits for the customer. It holds no thread, and no connection that other calls need.
    """
    demo.wait(lambda: f"the sale waits; {len(demo.seconds_of('GET')):,} other calls are done")

    sale = RouterTransactionCreate(
        action="sale",
        terminal_id=terminal_id,
        transaction_amount="12.50",
    )
    payment = await gateway.router_transactions.create(sale)

    others, seconds = demo.seconds_of("GET"), max(demo.seconds_of("POST"))
    duration = f"{median(others) * 1000:.1f} ms"
    demo.check(f"the sale of {payment.transaction_amount} was approved after {seconds:.1f} s", payment.approved)
    demo.check(f"{len(others):,} other calls finished meanwhile, in {duration} (median)", len(others) > 1)
    demo.result = f"{len(others):,} others, {duration}"


async def decline(demo: "Demo", gateway: AsyncGateway, card: AccountVault) -> None:
    """A decline is a result.

    The card's issuer declines. This is a normal result: no exception to catch, only a field to check.
    """
    sale = TransactionCreate(
        action="sale",
        account_vault_id=card.id,
        transaction_amount="6.16",
    )
    payment = await gateway.transactions.create(sale)

    demo.result = f"{payment.reason_code_id} {payment.verbiage}"
    is_declined = payment.reason_code_id == ReasonCode.INSUFFICIENT_FUNDS
    demo.check("payment.approved is False", not payment.approved)
    demo.check(f"payment.reason_code_id and .verbiage are {demo.result}", is_declined)


async def lose_response(demo: "Demo", gateway: AsyncGateway, sandbox: Sandbox, card: AccountVault) -> Transaction:
    """A lost response is looked up.

    The gateway charges the card, then closes the connection without a response. A retry could charge it twice.
    """
    sale = TransactionCreate(
        action="sale",
        account_vault_id=card.id,
        transaction_amount="12.50",
        transaction_api_id="1001-1",
    )
    sandbox.fault("POST /v2/transactions", "close_after_commit")
    await gateway.transactions.create(sale)

    lost = [type(event.error) for event in demo.events if isinstance(event, AttemptFailed)]
    found = [event.outcome for event in demo.events if isinstance(event, OutcomeLookedUp)]
    payment = await gateway.transactions.get(ApiId("1001-1"))
    demo.check("the request left, then the connection was lost", lost == [ConnectionLostError])
    demo.check("the sale was looked up as 1001-1, and found", found == [LookupOutcome.FOUND])
    demo.check(f"it is approved for {payment.transaction_amount}", payment.approved)
    demo.check("the gateway's ledger says that it was charged once", sandbox.ledger()["charged"].get("1001-1") == 1)
    demo.result = "found, charged once"
    return payment


async def refund_part(demo: "Demo", gateway: AsyncGateway, sandbox: Sandbox, payment: Transaction) -> None:
    """A part of a sale is refunded.

    A refund is a transaction of its own. It returns all of the sale or part of it.
    """
    refund = await gateway.transactions.refund(payment.id, "5.00")

    refunded = sandbox.ledger()["refunded"].get(refund.transaction_api_id)
    demo.result = f"{refund.transaction_amount} of {payment.transaction_amount}"
    demo.check(f"{demo.result} is refunded", refund.approved)
    demo.check("refund.status_id is 111, refunded", refund.status_id == TransactionStatus.REFUNDED)
    demo.check("the gateway's ledger says that it was refunded once", refunded == 1)


async def send_invoice(demo: "Demo", gateway: AsyncGateway, sandbox: Sandbox) -> None:
    """An invoice is paid in part.

    An invoice goes out by e-mail. The customer pays part of it on its page; here the sandbox does.
    """
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

    sandbox.pay_quick_invoice(invoice.id, "10.00")
    invoice = await gateway.quick_invoices.get(invoice.id)
    sent = [message["event"] for message in sandbox.outbox() if message["quick_invoice_id"] == invoice.id]
    demo.result = f"{invoice.remaining_balance} of {invoice.amount_due} is left"
    is_partial = invoice.payment_status_id == PaymentStatus.PARTIALLY_PAID
    demo.check(f"the customer was notified: {', '.join(sent)}", sent == ["created", "paid"])
    demo.check(f"{demo.result}, payment_status_id is {invoice.payment_status_id:d}", is_partial)


async def settle(demo: "Demo", gateway: AsyncGateway, payment: Transaction) -> None:
    """The batch settles.

    Approved payments collect in the open batch until it is settled.
    """
    if payment.transaction_batch_id is not None:
        batch = await gateway.transaction_batches.settle(
            payment.transaction_batch_id,
        )
        print(
            batch.is_open,
            batch.processing_status_id,
            batch.batch_close_ts,
        )

    settled = await gateway.transactions.list({"status_id": TransactionStatus.SETTLED}).count()
    demo.result = f"{settled} payments"
    demo.check(f"it prints: {demo.printed}", demo.printed.startswith("False "))
    demo.check(f"{settled} payments are settled", settled > 0)


async def receive_postbacks(demo: "Demo", gateway: AsyncGateway, sandbox: Sandbox, card: AccountVault) -> None:
    """Postbacks are received.

    The gateway reports changes by HTTP. A receiver checks the credentials, and passes typed records to your functions.
    """
    receiver = PostbackReceiver(username="shop", password="a long secret")

    @receiver.on("transaction")
    async def on_payment(postback: Postback[Transaction]) -> None:
        print(
            postback.type,
            postback.record.id,
            postback.record.status_id,
        )

    async with Listener(receiver.asgi, "127.0.0.1", 0) as listener:
        await _ask_for_postbacks(gateway, sandbox, f"{listener.url}/")
        sale = TransactionCreate(action="sale", account_vault_id=card.id, transaction_amount="7.50")
        payment = await gateway.transactions.create(sale)
        with anyio.fail_after(_POSTBACK_SECONDS):
            while not demo.printed:  # noqa: ASYNC110  the program has no event
                await anyio.sleep(_PAUSE)
    demo.result = "transaction CREATE"
    demo.check(f"it prints: {demo.printed}", demo.printed.startswith(f"CREATE {payment.id} "))


async def recover(demo: "Demo", sandbox: Sandbox) -> None:
    """A killed process loses nothing.

    Another process charged a card and was killed. Its ledger has the intent, so the next process looks it up.
    """
    demo.wait(lambda: "another process charges a card")
    status = await anyio.to_thread.run_sync(_kill_while_selling, sandbox)

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

    found = demo.printed.partition(" Transaction(")[0]
    demo.check(f"the other process charged a card and was killed, status {status}", status != 0)
    demo.check(f"it prints: {found}, and the transaction", found.endswith(f" {_KILLED} found"))
    demo.check("the gateway's ledger says that it was charged once", sandbox.ledger()["charged"].get(_KILLED) == 1)
    demo.result = "found, charged once"


async def list_vaults(demo: "Demo", gateway: AsyncGateway, sandbox: Sandbox) -> None:
    """10,000 vaults are listed.

    One loop over all vaults. The next pages are fetched while you use one.
    """
    demo.wait(lambda: f"{_VAULTS:,} vaults are created")
    sandbox.add_vaults(_VAULTS)
    demo.wait(lambda: f"page {len(demo.seconds_of('GET'))} has arrived")
    began = time.perf_counter()

    pages = gateway.account_vaults.list(
        {"created_ts": TimeRange.LAST_30_DAYS, "account_type": ["visa", "mc"]},
        sort="-created_ts",
        expand=("contact",),
    )
    async for vault in pages:
        print(vault.last_four)

    number, seconds = demo.lines_printed, demo.seconds_of("GET")
    demo.result = f"{number / (time.perf_counter() - began):,.0f} vaults/s"
    demo.check(f"it prints {number:,} lines, {demo.result}", number == _VAULTS + 1)  # one from the terminal
    speed = f"{sparkline(seconds)}  {median(seconds) * 1000:.0f} ms each"
    demo.check(f"in {len(seconds)} pages  {speed}", len(seconds) > 1)


async def migrate(demo: "Demo", gateway: AsyncGateway, sandbox: Sandbox) -> None:
    """1,000 cards are migrated.

    A file of cards is stored in the vault. A journal remembers each row, so no card is stored twice.
    """
    demo.wait(lambda: f"{len(demo.seconds_of('POST')):,} cards are stored")
    _write_cards(Path("cards.csv"), sandbox.contact_id)
    rows = read_rows("cards.csv")

    report = await migrate_vaults(
        gateway,
        rows,
        journal="cards.journal",
        concurrency=64,
    )

    again = await migrate_vaults(gateway, read_rows("cards.csv"), journal="cards.journal")
    times = {count for name, count in sandbox.ledger()["stored"].items() if name.startswith("card-")}
    demo.result = f"{report.stored / report.seconds:,.0f} cards/s"
    demo.check(f"{report.stored:,} cards are stored, {demo.result}", report.stored == _CARDS)
    demo.check(f"run again, {again.skipped:,} are skipped", (again.stored, again.skipped) == (0, _CARDS))
    demo.check("the gateway's ledger says that each was stored once", times == {1})


async def _ask_for_postbacks(gateway: AsyncGateway, sandbox: Sandbox, url: str) -> None:
    new = PostbackConfigCreate(
        url=url,
        resource="transaction",
        product_transaction_id=sandbox.cc_product_transaction_id,
        on_create=True,
        is_active=True,
        basic_auth_username="shop",
        basic_auth_password="a long secret",
    )
    await gateway.postback_configs.create(new)


def _kill_while_selling(sandbox: Sandbox) -> int:
    """Let another process charge a card, kill it before it gets a response, and return its exit status.

    Raises:
        TimeoutError: the process did not charge the card in time.
    """
    sandbox.fault("POST /v2/transactions", "silence")
    program = "import anyio; from gateway_async.cli.demo.chapters import sell_and_wait; anyio.run(sell_and_wait)"
    with subprocess.Popen([sys.executable, "-c", program]) as process:  # noqa: S603  of this package
        try:
            ends_at = time.monotonic() + _KILL_SECONDS
            while not sandbox.ledger()["charged"].get(_KILLED):
                if time.monotonic() > ends_at or process.poll() is not None:
                    raise TimeoutError("the other process did not charge the card")
                time.sleep(_PAUSE)
        finally:
            process.kill()
        return process.wait()


async def sell_and_wait() -> None:
    """Sell with a ledger, in the process that the demo kills."""
    sale = TransactionCreate(
        action="sale",
        account_number=_TEST_CARD,
        exp_date="1230",
        transaction_amount="36.00",
        transaction_api_id=_KILLED,
    )
    async with AsyncGateway.from_env(ledger=SqliteLedger("payments.db")) as gateway:
        await gateway.transactions.create(sale)


def _write_cards(file: Path, contact_id: str) -> None:
    rows = (f"card-{number},{_TEST_CARD},1230,{contact_id}" for number in range(_CARDS))
    file.write_text("\n".join(["account_vault_api_id,account_number,exp_date,contact_id", *rows]), encoding="utf-8")
