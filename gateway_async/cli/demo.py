"""The demo: eight chapters, each of which shows its code, runs it, and checks every statement that it prints.

The functions above `Demo` are the code that is shown. A docstring introduces its chapter, and the body is shown with at
most 72 characters on a line.
"""
# ruff: noqa: RET504  results have names, for the reader

import asyncio
import inspect
import re
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import date
from decimal import Decimal
from statistics import median
from textwrap import dedent, fill, indent
from time import perf_counter
from typing import Any, Final

import attrs
from rich import box
from rich.console import Console, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.spinner import Spinner
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from gateway_async import (
    AccountVault,
    AsyncGateway,
    ConnectionLostError,
    PaymentStatus,
    QuickInvoice,
    QuickInvoiceCreate,
    ReasonCode,
    RouterAccountVaultCreate,
    RouterTransactionCreate,
    Transaction,
    TransactionBatch,
    TransactionCreate,
    TransactionStatus,
)
from gateway_async.cli.errors import fail
from gateway_async.observe import AttemptFailed, CallEnded, Event, Observer, OutcomeLookedUp
from gateway_async.sandbox import Sandbox

__all__ = ["Demo", "DemoError", "excerpt", "run_demo", "sparkline"]

_VAULTS: Final = 10_000
_NEXT: Final = {
    "gateway-async sandbox": "serves such a gateway for a program of your own",
    "gateway-async sandbox --help": "how to keep its records in a file, or present the cards",
    "README.md": "a first call, terminals, lost responses, tests",
}
_BARS: Final = "▁▂▃▄▅▆▇█"
_PYTHON: Final = Syntax("", "python", theme="ansi_dark", background_color="default")


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


class DemoError(Exception):
    """A statement of the demo has turned out false."""


@attrs.define
class Chapter:
    """A chapter for the summary."""

    title: str
    began: float
    result: str = ""
    seconds: float = 0.0


class Demo:
    """The chapters of the demo and what they print.

    Without a terminal, everything is printed as plain lines, without the live line.
    """

    def __init__(self, console: Console) -> None:
        self.chapters: list[Chapter] = []
        self._console = console
        self._events: list[Event] = []

    async def run(self) -> None:
        """Run all chapters with a new sandbox.

        Raises:
            DemoError: a statement of a chapter is not true.
        """
        self._open("A gateway of your own", open_gateway)
        async with open_gateway(self._events.append) as (sandbox, gateway):
            contact = await gateway.contacts.get(sandbox.contact_id)
            self.check(f"it responds at {sandbox.base_url}", contact.id == sandbox.contact_id)
            self._close(sandbox.base_url)
            vault = await self._store_card(gateway, sandbox)
            await self._sell_at_terminal(gateway, sandbox, vault)
            await self._decline(gateway, vault)
            await self._lose_response(gateway, sandbox, vault)
            await self._send_invoice(gateway, sandbox)
            await self._settle(gateway)
            await self._list_vaults(gateway, sandbox)

    async def _store_card(self, gateway: AsyncGateway, sandbox: Sandbox) -> AccountVault:
        self._open("A card is stored from a terminal", store_card_at_terminal)
        with self.waiting(lambda: "the customer looks for the card"):
            vault = await store_card_at_terminal(gateway, sandbox)
        card = f"{vault.account_type} …{vault.last_four}"
        self.check(f"the {card} is stored as vault {vault.id}", vault.last_four == "1111")
        self._close(card)
        return vault

    async def _sell_at_terminal(self, gateway: AsyncGateway, sandbox: Sandbox, vault: AccountVault) -> None:
        self._open("A sale waits, other calls go on", sell_at_terminal)
        with self.waiting(lambda: f"the sale waits; {len(self._seconds_of('GET')):,} other calls are done"):
            sale = await sell_at_terminal(gateway, sandbox, vault)
        others, seconds = self._seconds_of("GET"), max(self._seconds_of("POST"))
        duration = f"{median(others) * 1000:.1f} ms"
        self.check(f"the sale of {sale.transaction_amount} was approved after {seconds:.1f} s", sale.approved)
        self.check(f"{len(others):,} other calls finished meanwhile, in {duration} (median)", len(others) > 1)
        self._close(f"{len(others):,} others, {duration}")

    async def _decline(self, gateway: AsyncGateway, vault: AccountVault) -> None:
        self._open("A decline is a result", charge)
        sale = await charge(gateway, vault)
        reason = f"{sale.reason_code_id} {sale.verbiage}"
        is_declined = sale.reason_code_id == ReasonCode.INSUFFICIENT_FUNDS
        self.check("sale.approved is False", not sale.approved)
        self.check(f"sale.reason_code_id and .verbiage are {reason}", is_declined)
        self._close(reason)

    async def _lose_response(self, gateway: AsyncGateway, sandbox: Sandbox, vault: AccountVault) -> None:
        self._open("A lost response is looked up", charge_and_lose_the_response)
        sale = await charge_and_lose_the_response(gateway, sandbox, vault)
        lost = [type(event.error) for event in self._events if isinstance(event, AttemptFailed)]
        found = [event.outcome for event in self._events if isinstance(event, OutcomeLookedUp)]
        charged = sandbox.ledger()["charged"].get(sale.transaction_api_id)
        self.check("the request left, then the connection was lost", lost == [ConnectionLostError])
        self.check(f"the sale was looked up as {sale.transaction_api_id}, and found", found == ["found"])
        self.check(f"it is approved for {sale.transaction_amount}", sale.approved)
        self.check("the gateway's ledger says that it was charged once", charged == 1)
        self._close("found, charged once")

    async def _send_invoice(self, gateway: AsyncGateway, sandbox: Sandbox) -> None:
        self._open("An invoice is paid in part", send_invoice)
        invoice = await send_invoice(gateway, sandbox)
        sent = [message["event"] for message in sandbox.outbox() if message["quick_invoice_id"] == invoice.id]
        balance = f"{invoice.remaining_balance} of {invoice.amount_due} is left"
        is_partial = invoice.payment_status_id == PaymentStatus.PARTIALLY_PAID
        self.check(f"the customer was notified: {', '.join(sent)}", sent == ["created", "paid"])
        self.check(f"{balance}, payment_status_id is {invoice.payment_status_id:d}", is_partial)
        self._close(balance)

    async def _settle(self, gateway: AsyncGateway) -> None:
        self._open("The batch settles", settle)
        batch = await settle(gateway)
        payments = await gateway.transactions.list({"status_id": TransactionStatus.SETTLED}).count()
        self.check("batch.is_open is False", batch is not None and batch.is_open is False)
        self.check(f"{payments} payments are settled", payments > 0)
        self._close(f"{payments} payments")

    async def _list_vaults(self, gateway: AsyncGateway, sandbox: Sandbox) -> None:
        self._open(f"{_VAULTS:,} vaults are listed", list_vaults)
        with self.waiting(lambda: f"{_VAULTS:,} vaults are created"):
            sandbox.add_vaults(_VAULTS)
        began = perf_counter()
        with self.waiting(lambda: f"page {len(self._seconds_of('GET'))} has arrived"):
            visas = await list_vaults(gateway)
        rate = f"{visas / (perf_counter() - began):,.0f} vaults/s"
        pages = self._seconds_of("GET")
        self.check(f"{visas:,} vaults were read, {rate}", visas == _VAULTS + 1)  # one came from the terminal
        self.check(f"in {len(pages)} pages  {sparkline(pages)}  {median(pages) * 1000:.0f} ms each", len(pages) > 1)
        self._close(rate)

    def _seconds_of(self, method: str) -> list[float]:
        """Return the seconds of this chapter's calls with an HTTP method."""
        ended = (event for event in list(self._events) if isinstance(event, CallEnded))
        return [event.seconds for event in ended if event.call.startswith(method)]

    # --- output

    def check(self, statement: str, holds: bool) -> None:
        """Print a statement that the run has just shown to be true.

        Raises:
            DemoError: `holds` is false.
        """
        if not holds:
            raise DemoError(f"not true: {statement}")
        self._console.print(Text.assemble(("  ✓ ", "bold green"), self._wrap(statement, "    ").lstrip()))

    @contextmanager
    def waiting(self, text: Callable[[], str]) -> Iterator[None]:
        """Show the elapsed seconds and `text()` while the body runs."""
        spinner, began = Spinner("dots", style="yellow"), perf_counter()

        def line() -> RenderableType:
            spinner.update(text=Text(f"{perf_counter() - began:.1f} s  {text()}", style="yellow"))
            return Padding(spinner, (0, 2))

        with Live(get_renderable=line, console=self._console, transient=True, refresh_per_second=10):
            yield

    def print_summary(self) -> None:
        """Print a table of all chapters, and the next commands to try."""
        table = Table(box=box.SIMPLE_HEAD, show_footer=True, pad_edge=False)
        table.add_column("", justify="right", style="cyan")
        table.add_column("chapter", footer="total")
        table.add_column("result", style="green")
        table.add_column("seconds", justify="right", footer=f"{sum(each.seconds for each in self.chapters):.2f}")
        for number, chapter in enumerate(self.chapters, 1):
            table.add_row(str(number), chapter.title, chapter.result, f"{chapter.seconds:.2f}")
        self._print_headline("Summary")
        self._console.print(Padding(table, (0, 1), expand=False))
        width = max(map(len, _NEXT))
        for command, purpose in _NEXT.items():
            self._console.print(Text.assemble("  ", (f"{command:{width}}", "bold cyan"), f"  {purpose}"))

    def _open(self, title: str, snippet: Callable[..., Any]) -> None:
        """Start a chapter: print its title, its introduction and the code that it will run."""
        self._events.clear()
        self.chapters.append(Chapter(title, began=perf_counter()))
        self._print_headline(f"{len(self.chapters)}  {title}")
        self._console.print(Text(self._wrap(inspect.getdoc(snippet) or "", "  ")))
        self._console.print()
        self._console.print(_PYTHON.highlight(indent(excerpt(snippet), "    ")))

    def _close(self, result: str) -> None:
        chapter = self.chapters[-1]
        chapter.result = result
        chapter.seconds = perf_counter() - chapter.began

    def _print_headline(self, text: str) -> None:
        self._console.print()
        self._console.rule(Text(text, style="bold cyan"), align="left", style="cyan")

    def _wrap(self, text: str, margin: str) -> str:
        return fill(text, self._console.width - 1, initial_indent=margin, subsequent_indent=margin)


def excerpt(snippet: Callable[..., Any]) -> str:
    """Return the body of a snippet without signature, docstring and `return`."""
    _, _, body = inspect.getsource(snippet).split('"""')
    return dedent(re.sub(r"yield .+", "...", re.sub(r"\n    return .+", "", body))).strip()


def sparkline(values: Sequence[float]) -> str:
    """Draw a bar for each value, with the tallest for the greatest."""
    top = max(values)
    return "".join(_BARS[round(value / top * (len(_BARS) - 1))] for value in values)


def run_demo() -> None:
    """Run the demo; a failure ends the command with exit status 1 and names the chapter."""
    demo = Demo(Console(highlight=False))
    try:
        asyncio.run(demo.run())
    except Exception as error:  # noqa: BLE001  any error is reported with its chapter
        fail(f"the demo failed in chapter {len(demo.chapters)}, {demo.chapters[-1].title!r}: {_first_message(error)}")
    demo.print_summary()


def _first_message(error: Exception) -> str:
    """Return the message of the first error in an exception group."""
    return _first_message(error.exceptions[0]) if isinstance(error, ExceptionGroup) else str(error) or repr(error)
