"""`gateway-async demo`: twelve chapters, each of which shows its code, runs it, and checks what it says.

`programs.py` has the code that is shown.
"""

import asyncio
import io
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, chdir, contextmanager, redirect_stdout
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, Final

import anyio
import anyio.to_thread
import attrs
from rich.console import Console

from gateway_async import (
    AccountVault,
    ApiId,
    AsyncGateway,
    ConnectionLostError,
    PaymentStatus,
    PostbackConfigCreate,
    ReasonCode,
    Transaction,
    TransactionStatus,
)
from gateway_async.cli.command import AsJson
from gateway_async.cli.demo import programs
from gateway_async.cli.demo.display import Chapter, Display, JsonLinesDisplay, TextDisplay, sparkline
from gateway_async.cli.output import command_name, fail
from gateway_async.cli.standard_streams import OutputError
from gateway_async.migration import read_rows
from gateway_async.observe import AttemptFailed, CallEnded, Event, LookupOutcome, OutcomeLookedUp
from gateway_async.postbacks import PostbackReceiver
from gateway_async.sandbox import Sandbox
from gateway_async.sandbox.http.server import Listener

__all__ = ["Demo", "DemoCommand", "DemoError"]

_VAULTS: Final = 10_000
_CARDS: Final = 1_000
_POSTBACK_SECONDS: Final = 10.0
_KILL_SECONDS: Final = 20.0
_PAUSE: Final = 0.02
_TEST_CARD: Final = "4111111111111111"
_KILLED: Final = "till-7-order-12"
"""The api id of the sale whose process is killed."""


@attrs.frozen(kw_only=True)
class DemoCommand:
    """Watch the package at work in under 15 seconds.

    Chapters: a terminal, a decline, a lost response, a refund, an invoice, a settlement, postbacks, a killed process,
    10,000 vaults and a migration. It starts a sandbox of its own, shows code of the documents, runs it, and checks each
    statement about it. The exit status is 1 if a statement is wrong.
    """

    as_json: AsJson = False

    def run(self) -> None:
        """Run all chapters. A failure names its chapter."""
        display: Display = (
            JsonLinesDisplay() if self.as_json else TextDisplay(Console(file=sys.stdout, highlight=False))
        )
        demo = Demo(display)
        try:
            asyncio.run(demo.run())
        except OutputError:
            raise
        except Exception as error:  # noqa: BLE001  any error is reported with its chapter
            title = demo.chapters[-1].title
            fail(f"the demo failed in chapter {len(demo.chapters)}, {title!r}: {_first_message(error)}")
        command = command_name()
        advice = {
            f"{command} sandbox": "serves such a gateway for a program of your own",
            f"{command} sandbox -h": "how to keep its records in a file",
            f"{command} list contacts": "calls a gateway from the shell",
            "README.md": "a first call, terminals, lost responses, tests",
        }
        display.summarize(demo.chapters, advice)


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
        """Run all chapters with a new sandbox, in a folder that is deleted at the end.

        Raises:
            DemoError: a statement of a chapter is not true.
        """
        async with AsyncExitStack() as stack:
            with self._chapter("A gateway of your own", programs.open_gateway) as chapter:
                sandbox, gateway = await stack.enter_async_context(programs.open_gateway())
                contact = await gateway.contacts.get(sandbox.contact_id)
                self.check(f"it responds at {sandbox.base_url}", contact.id == sandbox.contact_id)
                chapter.result = sandbox.base_url
            stack.enter_context(gateway.observing(self._events.append))
            stack.enter_context(chdir(stack.enter_context(TemporaryDirectory())))
            os.environ.update(sandbox.environment())  # for the programs that call `AsyncGateway.from_env()`
            card = await self._store_card(gateway, sandbox)
            await self._sell_at_terminal(gateway, sandbox, card)
            await self._decline(gateway, card)
            payment = await self._lose_response(gateway, sandbox, card)
            await self._refund_part(gateway, sandbox, payment)
            await self._send_invoice(gateway, sandbox)
            await self._settle(gateway, payment)
            await self._receive_postbacks(gateway, sandbox, card)
            await self._recover(sandbox)
            await self._list_vaults(gateway, sandbox)
            await self._migrate(gateway, sandbox)

    async def _store_card(self, gateway: AsyncGateway, sandbox: Sandbox) -> AccountVault:
        with self._chapter("A card is stored from a terminal", programs.store_card_at_terminal) as chapter:
            with self.waiting(lambda: "the customer looks for the card"):
                card = await programs.store_card_at_terminal(gateway, sandbox.terminal_id, sandbox.contact_id)
            chapter.result = f"{card.account_type} …{card.last_four}"
            self.check(f"the {chapter.result} is stored as vault {card.id}", card.last_four == "1111")
        return card

    async def _sell_at_terminal(self, gateway: AsyncGateway, sandbox: Sandbox, card: AccountVault) -> None:
        with self._chapter("A sale waits, other calls go on", programs.sell_at_terminal) as chapter:
            with self.waiting(lambda: f"the sale waits; {len(self._seconds_of('GET')):,} other calls are done"):
                async with asyncio.TaskGroup() as tasks:
                    sale = tasks.create_task(programs.sell_at_terminal(gateway, sandbox.terminal_id))
                    while not sale.done():
                        await gateway.account_vaults.get(card.id)
            payment, others, seconds = sale.result(), self._seconds_of("GET"), max(self._seconds_of("POST"))
            duration = f"{median(others) * 1000:.1f} ms"
            self.check(f"the sale of {payment.transaction_amount} was approved after {seconds:.1f} s", payment.approved)
            self.check(f"{len(others):,} other calls finished meanwhile, in {duration} (median)", len(others) > 1)
            chapter.result = f"{len(others):,} others, {duration}"

    async def _decline(self, gateway: AsyncGateway, card: AccountVault) -> None:
        with self._chapter("A decline is a result", programs.sell) as chapter:
            payment = await programs.sell(gateway, card)
            chapter.result = f"{payment.reason_code_id} {payment.verbiage}"
            is_declined = payment.reason_code_id == ReasonCode.INSUFFICIENT_FUNDS
            self.check("payment.approved is False", not payment.approved)
            self.check(f"payment.reason_code_id and .verbiage are {chapter.result}", is_declined)

    async def _lose_response(self, gateway: AsyncGateway, sandbox: Sandbox, card: AccountVault) -> Transaction:
        with self._chapter("A lost response is looked up", programs.lose_response) as chapter:
            await programs.lose_response(gateway, sandbox, card)
            lost = [type(event.error) for event in self._events if isinstance(event, AttemptFailed)]
            found = [event.outcome for event in self._events if isinstance(event, OutcomeLookedUp)]
            payment = await gateway.transactions.get(ApiId("1001-1"))
            charged = sandbox.ledger()["charged"].get("1001-1")
            self.check("the request left, then the connection was lost", lost == [ConnectionLostError])
            self.check("the sale was looked up as 1001-1, and found", found == [LookupOutcome.FOUND])
            self.check(f"it is approved for {payment.transaction_amount}", payment.approved)
            self.check("the gateway's ledger says that it was charged once", charged == 1)
            chapter.result = "found, charged once"
        return payment

    async def _refund_part(self, gateway: AsyncGateway, sandbox: Sandbox, payment: Transaction) -> None:
        with self._chapter("A part of a sale is refunded", programs.refund_part) as chapter:
            refund = await programs.refund_part(gateway, payment)
            refunded = sandbox.ledger()["refunded"].get(refund.transaction_api_id)
            chapter.result = f"{refund.transaction_amount} of {payment.transaction_amount}"
            self.check(f"{chapter.result} is refunded", refund.approved)
            self.check("refund.status_id is 111, refunded", refund.status_id == TransactionStatus.REFUNDED)
            self.check("the gateway's ledger says that it was refunded once", refunded == 1)

    async def _send_invoice(self, gateway: AsyncGateway, sandbox: Sandbox) -> None:
        with self._chapter("An invoice is paid in part", programs.send_invoice) as chapter:
            invoice = await programs.send_invoice(gateway)
            sandbox.pay_quick_invoice(invoice.id, "10.00")
            invoice = await gateway.quick_invoices.get(invoice.id)
            sent = [message["event"] for message in sandbox.outbox() if message["quick_invoice_id"] == invoice.id]
            chapter.result = f"{invoice.remaining_balance} of {invoice.amount_due} is left"
            is_partial = invoice.payment_status_id == PaymentStatus.PARTIALLY_PAID
            self.check(f"the customer was notified: {', '.join(sent)}", sent == ["created", "paid"])
            self.check(f"{chapter.result}, payment_status_id is {invoice.payment_status_id:d}", is_partial)

    async def _settle(self, gateway: AsyncGateway, payment: Transaction) -> None:
        with self._chapter("The batch settles", programs.settle) as chapter:
            with redirect_stdout(io.StringIO()) as printed:
                await programs.settle(gateway, payment)
            settled = await gateway.transactions.list({"status_id": TransactionStatus.SETTLED}).count()
            chapter.result = f"{settled} payments"
            self.check(f"it prints: {_line(printed)}", _line(printed).startswith("False "))
            self.check(f"{settled} payments are settled", settled > 0)

    async def _receive_postbacks(self, gateway: AsyncGateway, sandbox: Sandbox, card: AccountVault) -> None:
        with self._chapter("Postbacks are received", programs.make_receiver) as chapter:
            with redirect_stdout(io.StringIO()) as printed:
                async with _serve(programs.make_receiver()) as url:
                    await _ask_for_postbacks(gateway, sandbox, url)
                    payment = await programs.sell(gateway, card)
                    with anyio.fail_after(_POSTBACK_SECONDS):
                        while not _line(printed):  # noqa: ASYNC110  the program has no event
                            await anyio.sleep(_PAUSE)
            chapter.result = "transaction CREATE"
            self.check(f"it prints: {_line(printed)}", _line(printed).startswith(f"CREATE {payment.id} "))

    async def _recover(self, sandbox: Sandbox) -> None:
        with self._chapter("A killed process loses nothing", programs.recover) as chapter:
            with self.waiting(lambda: "another process charges a card"):
                status = await anyio.to_thread.run_sync(_kill_while_selling, sandbox)
            with redirect_stdout(io.StringIO()) as printed:
                await programs.recover()
            found = _line(printed).partition(" Transaction(")[0]
            charged = sandbox.ledger()["charged"].get(_KILLED)
            self.check(f"the other process charged a card and was killed, status {status}", status != 0)
            self.check(f"it prints: {found}, and the transaction", found.endswith(f" {_KILLED} found"))
            self.check("the gateway's ledger says that it was charged once", charged == 1)
            chapter.result = "found, charged once"

    async def _list_vaults(self, gateway: AsyncGateway, sandbox: Sandbox) -> None:
        with self._chapter(f"{_VAULTS:,} vaults are listed", programs.list_vaults) as chapter:
            with self.waiting(lambda: f"{_VAULTS:,} vaults are created"):
                sandbox.add_vaults(_VAULTS)
            began = perf_counter()
            with (
                self.waiting(lambda: f"page {len(self._seconds_of('GET'))} has arrived"),
                redirect_stdout(io.StringIO()) as printed,
            ):
                await programs.list_vaults(gateway)
            number, pages = len(printed.getvalue().split()), self._seconds_of("GET")
            chapter.result = f"{number / (perf_counter() - began):,.0f} vaults/s"
            self.check(f"it prints {number:,} lines, {chapter.result}", number == _VAULTS + 1)  # one from the terminal
            self.check(f"in {len(pages)} pages  {sparkline(pages)}  {median(pages) * 1000:.0f} ms each", len(pages) > 1)

    async def _migrate(self, gateway: AsyncGateway, sandbox: Sandbox) -> None:
        with self._chapter(f"{_CARDS:,} cards are migrated", programs.migrate) as chapter:
            _write_cards(Path("cards.csv"), sandbox.contact_id)
            with self.waiting(lambda: f"{len(self._seconds_of('POST')):,} cards are stored"):
                report = await programs.migrate(gateway, read_rows("cards.csv"))
            again = await programs.migrate(gateway, read_rows("cards.csv"))
            times = {count for name, count in sandbox.ledger()["stored"].items() if name.startswith("card-")}
            chapter.result = f"{report.stored / report.seconds:,.0f} cards/s"
            self.check(f"{report.stored:,} cards are stored, {chapter.result}", report.stored == _CARDS)
            self.check(f"run again, {again.skipped:,} are skipped", (again.stored, again.skipped) == (0, _CARDS))
            self.check("the gateway's ledger says that each was stored once", times == {1})

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

    @contextmanager
    def _chapter(self, title: str, program: Callable[..., Any]) -> Iterator[Chapter]:
        """Show the title, the introduction and the code of a chapter, and its end."""
        self._events.clear()
        chapter = Chapter(title, began=perf_counter())
        self.chapters.append(chapter)
        self._display.open(len(self.chapters), chapter, program)
        yield chapter
        chapter.seconds = perf_counter() - chapter.began
        self._display.close(len(self.chapters), chapter)


@asynccontextmanager
async def _serve(receiver: PostbackReceiver) -> AsyncIterator[str]:
    """Serve a receiver on a free port, and yield its address."""
    listener = Listener(receiver.asgi, "127.0.0.1", 0)
    await listener.bind()
    await listener.open()
    try:
        yield f"{listener.url}/"
    finally:
        await listener.close()


async def _ask_for_postbacks(gateway: AsyncGateway, sandbox: Sandbox, url: str) -> None:
    await gateway.postback_configs.create(
        PostbackConfigCreate(
            url=url,
            resource="transaction",
            product_transaction_id=sandbox.cc_product_transaction_id,
            on_create=True,
            is_active=True,
            basic_auth_username="shop",
            basic_auth_password="a long secret",  # noqa: S106  as the program has it
        )
    )


def _kill_while_selling(sandbox: Sandbox) -> int:
    """Let another process charge a card, kill it before it gets a response, and return its exit status.

    Raises:
        TimeoutError: the process did not charge the card in time.
    """
    sandbox.fault("POST /v2/transactions", "silence")
    program = "import anyio; from gateway_async.cli.demo.programs import sell_and_wait; anyio.run(sell_and_wait, {!r})"
    with subprocess.Popen([sys.executable, "-c", program.format(_KILLED)]) as process:  # noqa: S603  of this package
        try:
            ends_at = time.monotonic() + _KILL_SECONDS
            while not sandbox.ledger()["charged"].get(_KILLED):
                if time.monotonic() > ends_at or process.poll() is not None:
                    raise TimeoutError("the other process did not charge the card")
                time.sleep(_PAUSE)
        finally:
            process.kill()
        return process.wait()


def _write_cards(file: Path, contact_id: str) -> None:
    rows = (f"card-{number},{_TEST_CARD},1230,{contact_id}" for number in range(_CARDS))
    file.write_text("\n".join(["account_vault_api_id,account_number,exp_date,contact_id", *rows]), encoding="utf-8")


def _line(printed: io.StringIO) -> str:
    """Return the first line that a program has printed."""
    return printed.getvalue().partition("\n")[0]


def _first_message(error: Exception) -> str:
    """Return the message of the first error in an exception group."""
    return _first_message(error.exceptions[0]) if isinstance(error, ExceptionGroup) else str(error) or repr(error)
