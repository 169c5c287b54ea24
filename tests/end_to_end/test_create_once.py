"""`create_once` against the sandbox: each id is created once, whatever is lost and however often it is called."""

from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import attrs
import pytest

from gateway_async import (
    AchVaultCreate,
    ApiId,
    AsyncGateway,
    CardVaultCreate,
    ContactCreate,
    MismatchedWriteError,
    OutcomeUnknownError,
    PaylinkCreate,
    QuickInvoiceCreate,
    SqliteLedger,
    SwipedVaultCreate,
    TicketVaultCreate,
    TransactionVaultCreate,
    VaultCopyCreate,
)
from gateway_async.sandbox import Sandbox
from tests.support.sales import CARD, NEW_CARD, sale, sale_at
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio

SALE = sale("order-1")
VAULTS = ("card", "swiped", "ach", "ticket", "transaction", "copy")


async def new_vault(mode: str, sandbox: Sandbox, gateway: AsyncGateway) -> Any:
    """Build the create of a vault with an id of the caller's."""
    named: dict[str, Any] = {"account_vault_api_id": "card-1", "contact_id": sandbox.contact_id}
    match mode:
        case "card":
            return CardVaultCreate(**CARD, **named)
        case "swiped":
            return SwipedVaultCreate(track_data="%B4111111111111111^LOVELACE/ADA^30121010000000000?", **named)
        case "ach":
            named |= {"account_number": "123456789012", "routing": "072000326", "account_holder_name": "Ada"}
            return AchVaultCreate(account_type="checking", is_company=False, **named)
        case "ticket":
            return TicketVaultCreate(ticket=sandbox.ticket(), **named)
        case "transaction":
            return TransactionVaultCreate(previous_transaction_id=(await gateway.transactions.create(SALE)).id, **named)
        case _:
            other = await gateway.account_vaults.create(NEW_CARD)
            return VaultCopyCreate(previous_account_vault_id=other.id, **named)


@pytest.mark.parametrize("mode", VAULTS)
async def test_every_way_to_store_an_account_can_be_repeated(mode: str, sandbox: Sandbox) -> None:
    async with sandbox.gateway() as gateway:
        new = await new_vault(mode, sandbox, gateway)
        first = await gateway.account_vaults.create_once(new)
        again = await gateway.account_vaults.create_once(new)
    assert first.id == again.id
    assert sandbox.ledger()["stored"]["card-1"] == 1


LUNCH = QuickInvoiceCreate(title="Lunch", due_date=date(2030, 1, 31), item_list={"Tea": Decimal("2.50")})
OTHERS: dict[str, Sequence[Any]] = {
    "transactions": (SALE, attrs.evolve(SALE, transaction_amount="13.00")),
    "contacts": (
        ContactCreate(last_name="Lovelace", contact_api_id="c-1"),
        ContactCreate(last_name="Hopper", contact_api_id="c-1"),
    ),
    "quick_invoices": (
        attrs.evolve(LUNCH, quick_invoice_api_id="i-1"),
        attrs.evolve(LUNCH, quick_invoice_api_id="i-1", title="Dinner"),
    ),
    "paylinks": (
        PaylinkCreate(amount_due="12.50", email="ada@example.test", paylink_api_id="p-1"),
        PaylinkCreate(amount_due="13.00", email="ada@example.test", paylink_api_id="p-1"),
    ),
}
"""Resource → two creates that differ, with one id."""


@pytest.mark.parametrize("resource", OTHERS)
async def test_repetition(resource: str, sandbox: Sandbox) -> None:
    """An equal repetition returns the record, and a different one gets it with the error."""
    new, different = OTHERS[resource]
    async with sandbox.gateway() as gateway:
        calls = getattr(gateway, resource)
        before = await calls.list().count()
        first = await calls.create_once(new)
        assert (await calls.create_once(new)).id == first.id
        with pytest.raises(MismatchedWriteError) as caught:
            await calls.create_once(different)
        assert getattr(caught.value.record, "id", None) == first.id
        assert await calls.list().count() == before + 1


OTHER_SALES: dict[str, dict[str, Any]] = {
    "order number": {"order_num": "78"},
    "card": {"account_number": "5555555555554444"},
    "capture": {"action": "sale"},
}


@pytest.mark.parametrize("change", OTHER_SALES.values(), ids=OTHER_SALES)
async def test_comparison(change: dict[str, Any], sandbox: Sandbox) -> None:
    """A payment of another order or card, or one that only reserves the amount, is not the result."""
    new = attrs.evolve(SALE, action="authonly", order_num="77")
    async with sandbox.gateway() as gateway:
        first = await gateway.transactions.create_once(new)
        with pytest.raises(MismatchedWriteError) as caught:
            await gateway.transactions.create_once(attrs.evolve(new, **change))
        assert getattr(caught.value.record, "id", None) == first.id
    assert sandbox.ledger()["charged"] == {"order-1": 1}


async def test_simultaneous_requests(sandbox: Sandbox) -> None:
    """Twenty requests for one order return one payment."""
    ids: list[str] = []
    async with sandbox.gateway() as gateway, anyio.create_task_group() as tasks:

        async def pay() -> None:
            ids.append((await gateway.transactions.create_once(SALE)).id)

        for _ in range(20):
            tasks.start_soon(pay)
    assert (len(ids), len(set(ids))) == (20, 1)
    assert sandbox.ledger()["charged"] == {"order-1": 1}


async def test_deleted_record(sandbox: Sandbox) -> None:
    """The sandbox frees the id of a deleted vault, so that the card is stored again."""
    new = CardVaultCreate(account_vault_api_id="card-1", **CARD)
    async with sandbox.gateway() as gateway:
        first = await gateway.account_vaults.create_once(new)
        await gateway.account_vaults.delete(first.id)
        again = await gateway.account_vaults.create_once(new)
        assert again.id != first.id
        assert (await gateway.account_vaults.get(ApiId("card-1"))).id == again.id


async def test_used_id(sandbox: Sandbox) -> None:
    """An id is used up by a decline, and by a payment that was voided since."""
    declined = sale("order-2", "6.16")
    async with sandbox.gateway() as gateway:
        first = await gateway.transactions.create_once(declined)
        assert (await gateway.transactions.create_once(declined)).id == first.id
        assert first.declined
        payment = await gateway.transactions.create_once(SALE)
        await gateway.transactions.void(payment.id)
        again = await gateway.transactions.create_once(SALE)
        assert (again.id, again.voided) == (payment.id, True)


async def test_terminal(sandbox_by_hand: Sandbox) -> None:
    """A taken id does not use the terminal: the repetition returns at once, without a customer."""
    box = sandbox_by_hand
    new = sale_at(box.terminal_id, "till-1")
    async with box.gateway() as gateway, anyio.create_task_group() as tasks:
        tasks.start_soon(gateway.router_transactions.create_once, new)
        await anyio.to_thread.run_sync(box.wait_for_call)
        box.present()
        with anyio.fail_after(PATIENCE):
            again = await gateway.router_transactions.create_once(new)
            with pytest.raises(MismatchedWriteError):
                await gateway.router_transactions.create_once(attrs.evolve(new, transaction_amount="13.00"))
    assert again.approved
    assert box.ledger()["charged"] == {"till-1": 1}


@pytest.mark.parametrize("fault", ["close_after_commit", "error_after_commit", "reset_before_commit", "garbage"])
async def test_two_lost_responses(sandbox: Sandbox, fault: Any) -> None:
    """The payment is found and charged once, also when the response to the repetition is lost."""
    sandbox.fault("POST /v2/transactions", fault, times=2)
    async with sandbox.gateway() as gateway:
        first = await gateway.transactions.create_once(SALE)
        assert (await gateway.transactions.create_once(SALE)).id == first.id
    assert sandbox.ledger()["charged"] == {"order-1": 1}


async def test_ledger(sandbox: Sandbox, tmp_path: Path) -> None:
    """After a lost sale, the same call of the next process finds it; nothing stays open but the first intent."""
    sandbox.fault("POST /v2/transactions", "close_after_commit")
    sandbox.fault("GET /v2/transactions/{id}", "error_before_commit", times=1000)
    file = tmp_path / "payments.db"
    async with sandbox.gateway(ledger=SqliteLedger(file), timeout=2) as gateway:
        with pytest.raises(OutcomeUnknownError):
            await gateway.transactions.create_once(SALE)
    sandbox.clear_faults()
    async with sandbox.gateway(ledger=SqliteLedger(file)) as gateway:
        payment = await gateway.transactions.create_once(SALE)
        (recovered,) = await gateway.recover(wait=0)
        assert (recovered.outcome, getattr(recovered.record, "id", None)) == ("found", payment.id)
        assert await gateway.recover(wait=0) == []
    assert sandbox.ledger()["charged"] == {"order-1": 1}
