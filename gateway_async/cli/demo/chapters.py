"""The chapters of the demo: each runs its snippet, and checks every statement that is printed about it."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, Final

import anyio
import anyio.to_thread
from rich.console import Console

from gateway_async import (
    AccountVault,
    AsyncGateway,
    CardVaultCreate,
    ConnectionLostError,
    PaymentStatus,
    ReasonCode,
    Transaction,
    TransactionStatus,
)
from gateway_async.cli.demo import snippets
from gateway_async.cli.demo.display import Chapter, Display, JsonLinesDisplay, TextDisplay, sparkline
from gateway_async.cli.demo.serving import crash_while_selling, serve_receiver
from gateway_async.cli.output import command_name, fail
from gateway_async.cli.standard_streams import OutputError
from gateway_async.models.postbacks import Postback
from gateway_async.observe import AttemptFailed, CallEnded, Event, LookupOutcome, OutcomeLookedUp
from gateway_async.sandbox import Sandbox

__all__ = ["Demo", "DemoError", "run_demo"]

_VAULTS: Final = 10_000
_CARDS: Final = 1_000
_POSTBACK_SECONDS: Final = 10.0
_TEST_CARD: Final = "4111111111111111"


class DemoError(Exception):
    """A statement of the demo has turned out false."""


class Demo:
    """The chapters of the demo.

    Args:
        display: shows what the chapters do.
    """

    def __init__(self, display: Display) -> None:
        self.chapters: list[Chapter] = []
        self._display = display
        self._events: list[Event] = []

    async def run(self) -> None:
        """Run all chapters with a new sandbox.

        Raises:
            DemoError: a statement of a chapter is not true.
        """
        self._open("A gateway of your own", snippets.open_gateway)
        async with snippets.open_gateway(self._events.append) as (sandbox, gateway):
            contact = await gateway.contacts.get(sandbox.contact_id)
            self.check(f"it responds at {sandbox.base_url}", contact.id == sandbox.contact_id)
            self._close(sandbox.base_url)
            vault = await self._store_card(gateway, sandbox)
            await self._sell_at_terminal(gateway, sandbox, vault)
            await self._decline(gateway, vault)
            sale = await self._lose_response(gateway, sandbox, vault)
            await self._return_part(gateway, sandbox, sale)
            await self._send_invoice(gateway, sandbox)
            await self._settle(gateway)
            await self._receive_postbacks(gateway, sandbox, vault)
            with TemporaryDirectory() as folder:
                await self._recover(sandbox, Path(folder) / "payments.db")
                await self._list_vaults(gateway, sandbox)
                await self._migrate(gateway, sandbox, Path(folder) / "cards.journal")

    async def _store_card(self, gateway: AsyncGateway, sandbox: Sandbox) -> AccountVault:
        self._open("A card is stored from a terminal", snippets.store_card_at_terminal)
        with self.waiting(lambda: "the customer looks for the card"):
            vault = await snippets.store_card_at_terminal(gateway, sandbox)
        card = f"{vault.account_type} …{vault.last_four}"
        self.check(f"the {card} is stored as vault {vault.id}", vault.last_four == "1111")
        self._close(card)
        return vault

    async def _sell_at_terminal(self, gateway: AsyncGateway, sandbox: Sandbox, vault: AccountVault) -> None:
        self._open("A sale waits, other calls go on", snippets.sell_at_terminal)
        with self.waiting(lambda: f"the sale waits; {len(self._seconds_of('GET')):,} other calls are done"):
            sale = await snippets.sell_at_terminal(gateway, sandbox, vault)
        others, seconds = self._seconds_of("GET"), max(self._seconds_of("POST"))
        duration = f"{median(others) * 1000:.1f} ms"
        self.check(f"the sale of {sale.transaction_amount} was approved after {seconds:.1f} s", sale.approved)
        self.check(f"{len(others):,} other calls finished meanwhile, in {duration} (median)", len(others) > 1)
        self._close(f"{len(others):,} others, {duration}")

    async def _decline(self, gateway: AsyncGateway, vault: AccountVault) -> None:
        self._open("A decline is a result", snippets.charge)
        sale = await snippets.charge(gateway, vault)
        reason = f"{sale.reason_code_id} {sale.verbiage}"
        is_declined = sale.reason_code_id == ReasonCode.INSUFFICIENT_FUNDS
        self.check("sale.approved is False", not sale.approved)
        self.check(f"sale.reason_code_id and .verbiage are {reason}", is_declined)
        self._close(reason)

    async def _lose_response(self, gateway: AsyncGateway, sandbox: Sandbox, vault: AccountVault) -> Transaction:
        self._open("A lost response is looked up", snippets.charge_and_lose_the_response)
        sale = await snippets.charge_and_lose_the_response(gateway, sandbox, vault)
        lost = [type(event.error) for event in self._events if isinstance(event, AttemptFailed)]
        found = [event.outcome for event in self._events if isinstance(event, OutcomeLookedUp)]
        charged = sandbox.ledger()["charged"].get(sale.transaction_api_id)
        self.check("the request left, then the connection was lost", lost == [ConnectionLostError])
        self.check(f"the sale was looked up as {sale.transaction_api_id}, and found", found == [LookupOutcome.FOUND])
        self.check(f"it is approved for {sale.transaction_amount}", sale.approved)
        self.check("the gateway's ledger says that it was charged once", charged == 1)
        self._close("found, charged once")
        return sale

    async def _return_part(self, gateway: AsyncGateway, sandbox: Sandbox, sale: Transaction) -> None:
        self._open("A part of a sale is refunded", snippets.return_part)
        refund = await snippets.return_part(gateway, sale)
        refunded = sandbox.ledger()["refunded"].get(refund.transaction_api_id)
        self.check(f"{refund.transaction_amount} of {sale.transaction_amount} is refunded", refund.approved)
        self.check("refund.status_id is 111, refunded", refund.status_id == TransactionStatus.REFUNDED)
        self.check("the gateway's ledger says that it was refunded once", refunded == 1)
        self._close(f"{refund.transaction_amount} of {sale.transaction_amount}")

    async def _send_invoice(self, gateway: AsyncGateway, sandbox: Sandbox) -> None:
        self._open("An invoice is paid in part", snippets.send_invoice)
        invoice = await snippets.send_invoice(gateway, sandbox)
        sent = [message["event"] for message in sandbox.outbox() if message["quick_invoice_id"] == invoice.id]
        balance = f"{invoice.remaining_balance} of {invoice.amount_due} is left"
        is_partial = invoice.payment_status_id == PaymentStatus.PARTIALLY_PAID
        self.check(f"the customer was notified: {', '.join(sent)}", sent == ["created", "paid"])
        self.check(f"{balance}, payment_status_id is {invoice.payment_status_id:d}", is_partial)
        self._close(balance)

    async def _settle(self, gateway: AsyncGateway) -> None:
        self._open("The batch settles", snippets.settle)
        batch = await snippets.settle(gateway)
        payments = await gateway.transactions.list({"status_id": TransactionStatus.SETTLED}).count()
        self.check("batch.is_open is False", batch is not None and batch.is_open is False)
        self.check(f"{payments} payments are settled", payments > 0)
        self._close(f"{payments} payments")

    async def _receive_postbacks(self, gateway: AsyncGateway, sandbox: Sandbox, vault: AccountVault) -> None:
        self._open("Postbacks are received", snippets.make_receiver)
        received: asyncio.Queue[Postback[Any]] = asyncio.Queue()
        async with serve_receiver(snippets.make_receiver(received)) as url:
            await snippets.ask_for_postbacks(gateway, sandbox, url)
            sale = await snippets.charge(gateway, vault)
            with anyio.fail_after(_POSTBACK_SECONDS):
                postback = await received.get()
        same = (postback.record.id, postback.record.reason_code_id) == (sale.id, sale.reason_code_id)
        self.check(f"a {postback.resource} {postback.type} arrived, with credentials", postback.type == "CREATE")
        self.check(f"postback.record is the typed transaction {sale.id}", same)
        self._close(f"{postback.resource} {postback.type}")

    async def _recover(self, sandbox: Sandbox, file: Path) -> None:
        self._open("A killed process loses nothing", snippets.recover_after_crash)
        with self.waiting(lambda: "another process charges a card"):
            status = await anyio.to_thread.run_sync(crash_while_selling, sandbox, file, "till-7-order-12")
        (recovered,) = await snippets.recover_after_crash(sandbox, file)
        amount = getattr(recovered.record, "transaction_amount", None)
        charged = sandbox.ledger()["charged"].get(recovered.api_id)
        self.check(f"the other process charged a card and was killed, status {status}", status != 0)
        self.check(f"its sale {recovered.api_id} was found, for {amount}", recovered.outcome == "found")
        self.check("the gateway's ledger says that it was charged once", charged == 1)
        self._close("found, charged once")

    async def _migrate(self, gateway: AsyncGateway, sandbox: Sandbox, journal: Path) -> None:
        self._open(f"{_CARDS:,} cards are migrated", snippets.migrate)
        cards = [_card(number, sandbox.contact_id) for number in range(_CARDS)]
        with self.waiting(lambda: f"{len(self._seconds_of('POST')):,} cards are stored"):
            report = await snippets.migrate(gateway, cards, journal)
        again = await snippets.migrate(gateway, cards, journal)
        times = {count for name, count in sandbox.ledger()["stored"].items() if name.startswith("card-")}
        rate = f"{report.stored / report.seconds:,.0f} cards/s"
        self.check(f"{report.stored:,} cards are stored, {rate}", report.stored == _CARDS)
        self.check(f"run again, {again.skipped:,} are skipped", (again.stored, again.skipped) == (0, _CARDS))
        self.check("the gateway's ledger says that each was stored once", times == {1})
        self._close(rate)

    async def _list_vaults(self, gateway: AsyncGateway, sandbox: Sandbox) -> None:
        self._open(f"{_VAULTS:,} vaults are listed", snippets.list_vaults)
        with self.waiting(lambda: f"{_VAULTS:,} vaults are created"):
            sandbox.add_vaults(_VAULTS)
        began = perf_counter()
        with self.waiting(lambda: f"page {len(self._seconds_of('GET'))} has arrived"):
            visas = await snippets.list_vaults(gateway)
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
        """Show a statement that the run has just shown to be true.

        Raises:
            DemoError: `holds` is false.
        """
        if not holds:
            raise DemoError(f"not true: {statement}")
        self.chapters[-1].statements.append(statement)
        self._display.show(statement)

    @contextmanager
    def waiting(self, text: Callable[[], str]) -> Iterator[None]:
        """Show the elapsed seconds and `text()` while the body runs."""
        with self._display.waiting(text):
            yield

    def _open(self, title: str, snippet: Callable[..., Any]) -> None:
        """Start a chapter: show its title, its introduction and the code that it will run."""
        self._events.clear()
        self.chapters.append(Chapter(title, began=perf_counter()))
        self._display.open(len(self.chapters), self.chapters[-1], snippet)

    def _close(self, result: str) -> None:
        chapter = self.chapters[-1]
        chapter.result = result
        chapter.seconds = perf_counter() - chapter.began
        self._display.close(len(self.chapters), chapter)


def _card(number: int, contact_id: str) -> CardVaultCreate:
    return CardVaultCreate(
        account_number=_TEST_CARD, exp_date="1230", contact_id=contact_id, account_vault_api_id=f"card-{number}"
    )


def run_demo(*, as_json: bool) -> None:
    """Run the demo; a failure ends the command with exit status 1 and names the chapter."""
    display: Display = JsonLinesDisplay() if as_json else TextDisplay(Console(highlight=False))
    demo = Demo(display)
    try:
        asyncio.run(demo.run())
    except OutputError:
        raise
    except Exception as error:  # noqa: BLE001  any error is reported with its chapter
        fail(f"the demo failed in chapter {len(demo.chapters)}, {demo.chapters[-1].title!r}: {_first_message(error)}")
    command = command_name()
    advice = {
        f"{command} sandbox": "serves such a gateway for a program of your own",
        f"{command} sandbox -h": "how to keep its records in a file",
        f"{command} list contacts": "calls a gateway from the shell",
        "README.md": "a first call, terminals, lost responses, tests",
    }
    display.summarize(demo.chapters, advice)


def _first_message(error: Exception) -> str:
    """Return the message of the first error in an exception group."""
    return _first_message(error.exceptions[0]) if isinstance(error, ExceptionGroup) else str(error) or repr(error)
