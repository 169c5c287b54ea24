"""The eight chapters of the demo: each shows its code, runs it, and checks what it prints."""

from collections.abc import Callable
from dataclasses import dataclass
from inspect import getdoc
from statistics import median
from time import perf_counter
from typing import Any

from gateway_async import (
    AccountVault,
    AsyncGateway,
    ConnectionLostError,
    PaymentStatus,
    ReasonCode,
    TransactionStatus,
)
from gateway_async.cli import snippets
from gateway_async.cli.stage import DemoStage, sparkline
from gateway_async.observe import AttemptFailed, CallEnded, Event, OutcomeLookedUp
from gateway_async.sandbox import Sandbox

__all__ = ["tell"]

VAULTS = 10_000
"""How many vaults are made for the walk."""


async def tell(stage: DemoStage) -> None:
    """Run all chapters with a new sandbox.

    Raises:
        NotAsToldError: a statement of a chapter is not true.
    """
    events: list[Event] = []
    _open(stage, "A gateway of your own", snippets.open_gateway)
    async with snippets.open_gateway(events.append) as (sandbox, gateway):
        story = _Story(stage, sandbox, gateway, events)
        await story.find_the_contact()
        vault = await story.store_a_card()
        await story.sell_at_the_terminal(vault)
        await story.be_declined(vault)
        await story.lose_an_answer(vault)
        await story.ask_for_payment()
        await story.settle()
        await story.walk_the_vaults()


def _open(stage: DemoStage, title: str, snippet: Callable[..., Any]) -> None:
    stage.open(title, getdoc(snippet) or "", snippets.excerpt(snippet))


@dataclass(frozen=True)
class _Story:
    """The chapters of the demo and the state they share.

    Attributes:
        stage: prints the chapters.
        sandbox: the sandbox of the demo.
        gateway: its client.
        events: the events that the client passed to its observer.
    """

    stage: DemoStage
    sandbox: Sandbox
    gateway: AsyncGateway
    events: list[Event]

    async def find_the_contact(self) -> None:
        contact = await self.gateway.contacts.get(self.sandbox.contact_id)
        self.stage.claim(f"it answers at {self.sandbox.base_url}", contact.id == self.sandbox.contact_id)
        self.stage.close(self.sandbox.base_url)

    async def store_a_card(self) -> AccountVault:
        _open(self.stage, "A card is stored from a terminal", snippets.store_card_at_terminal)
        with self.stage.waiting(lambda: "the customer looks for the card"):
            vault = await snippets.store_card_at_terminal(self.gateway, self.sandbox)
        card = f"{vault.account_type} …{vault.last_four}"
        self.stage.claim(f"the {card} is stored as vault {vault.id}", vault.last_four == "1111")
        self.stage.close(card)
        return vault

    async def sell_at_the_terminal(self, vault: AccountVault) -> None:
        _open(self.stage, "A sale waits, other calls go on", snippets.sell_at_terminal)
        self.events.clear()
        with self.stage.waiting(lambda: f"the sale waits; {len(self._seconds_of('GET')):,} other calls are done"):
            sale = await snippets.sell_at_terminal(self.gateway, self.sandbox, vault)
        others, wait = self._seconds_of("GET"), max(self._seconds_of("POST"))
        pace = f"{median(others) * 1000:.1f} ms"
        self.stage.claim(f"the sale of {sale.transaction_amount} was approved after {wait:.1f} s", sale.approved)
        self.stage.claim(f"{len(others):,} other calls finished meanwhile, in {pace} (median)", len(others) > 1)
        self.stage.close(f"{len(others):,} others, {pace}")

    async def be_declined(self, vault: AccountVault) -> None:
        _open(self.stage, "A decline is a result", snippets.charge)
        sale = await snippets.charge(self.gateway, vault)
        reason = f"{sale.reason_code_id} {sale.verbiage}"
        self.stage.claim("sale.approved is False", not sale.approved)
        self.stage.claim(
            f"sale.reason_code_id and .verbiage are {reason}", sale.reason_code_id == ReasonCode.INSUFFICIENT_FUNDS
        )
        self.stage.close(reason)

    async def lose_an_answer(self, vault: AccountVault) -> None:
        _open(self.stage, "A lost answer is looked up", snippets.charge_and_lose_the_answer)
        self.events.clear()
        sale = await snippets.charge_and_lose_the_answer(self.gateway, self.sandbox, vault)
        lost = [type(event.error) for event in self.events if isinstance(event, AttemptFailed)]
        found = [event.outcome for event in self.events if isinstance(event, OutcomeLookedUp)]
        charged = self.sandbox.ledger()["charged"].get(sale.transaction_api_id)
        self.stage.claim("the request left, then the connection was lost", lost == [ConnectionLostError])
        self.stage.claim(f"the sale was looked up as {sale.transaction_api_id}, and found", found == ["found"])
        self.stage.claim(f"it is approved for {sale.transaction_amount}", sale.approved)
        self.stage.claim("the gateway's ledger says that it was charged once", charged == 1)
        self.stage.close("found, charged once")

    async def ask_for_payment(self) -> None:
        _open(self.stage, "An invoice is paid in part", snippets.ask_for_payment)
        invoice = await snippets.ask_for_payment(self.gateway, self.sandbox)
        sent = [notice["event"] for notice in self.sandbox.outbox() if notice["quick_invoice_id"] == invoice.id]
        left = f"{invoice.remaining_balance} of {invoice.amount_due} is left"
        self.stage.claim(f"the customer was told: {', '.join(sent)}", sent == ["created", "paid"])
        self.stage.claim(
            f"{left}, payment_status_id is {invoice.payment_status_id:d}",
            invoice.payment_status_id == PaymentStatus.PARTIALLY_PAID,
        )
        self.stage.close(left)

    async def settle(self) -> None:
        _open(self.stage, "The batch settles", snippets.settle)
        batch = await snippets.settle(self.gateway)
        payments = await self.gateway.transactions.list({"status_id": TransactionStatus.SETTLED}).count()
        self.stage.claim("batch.is_open is False", batch is not None and batch.is_open is False)
        self.stage.claim(f"{payments} payments are settled", payments > 0)
        self.stage.close(f"{payments} payments")

    async def walk_the_vaults(self) -> None:
        _open(self.stage, f"{VAULTS:,} vaults are walked", snippets.walk_vaults)
        with self.stage.waiting(lambda: f"{VAULTS:,} vaults are made"):
            self.sandbox.add_vaults(VAULTS)
        self.events.clear()
        began = perf_counter()
        with self.stage.waiting(lambda: f"page {len(self._seconds_of('GET'))} is here"):
            visas = await snippets.walk_vaults(self.gateway)
        rate = f"{visas / (perf_counter() - began):,.0f} vaults/s"
        pages = self._seconds_of("GET")
        self.stage.claim(f"{visas:,} vaults came by, {rate}", visas == VAULTS + 1)  # one came from the terminal
        self.stage.claim(
            f"in {len(pages)} pages  {sparkline(pages)}  {median(pages) * 1000:.0f} ms each", len(pages) > 1
        )
        self.stage.close(rate)

    def _seconds_of(self, method: str) -> list[float]:
        """Return the seconds of each call with an HTTP method since the events were cleared."""
        ended = (event for event in list(self.events) if isinstance(event, CallEnded))
        return [event.seconds for event in ended if event.call.startswith(method)]
