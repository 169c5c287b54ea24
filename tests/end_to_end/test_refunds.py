"""Refunds, tips and edits at the sandbox: each happens once, whatever becomes of the response."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from gateway_async import (
    AsyncGateway,
    CardVaultCreate,
    ContactCreate,
    OutcomeUnknownError,
    SqliteLedger,
    Transaction,
    TransactionCreate,
    ValidationError,
)
from gateway_async.sandbox import Sandbox

pytestmark = pytest.mark.anyio

SALE: dict[str, Any] = {"account_number": "4111111111111111", "exp_date": "1230"}
DEBIT: dict[str, Any] = {
    "account_number": "1234567890",
    "routing": "072403004",
    "account_type": "checking",
    "payment_method": "ach",
    "account_holder_name": "Ada Lovelace",
    "ach_sec_code": "WEB",
}
LOST = ["close_after_commit", "reset_before_commit", "error_after_commit", "cut_body"]


async def pay(gateway: AsyncGateway, action: Any = "sale", **account: Any) -> Transaction:
    """Charge 12.50."""
    return await gateway.transactions.create(TransactionCreate(action=action, transaction_amount="12.50", **account))


@pytest.mark.parametrize(("action", "account"), [("sale", SALE), ("debit", DEBIT)])
async def test_full_refund(sandbox: Sandbox, gateway: AsyncGateway, action: str, account: dict[str, Any]) -> None:
    """A card's and a settled bank account's payment are refunded; the refund names the payment."""
    payment = await pay(gateway, action, **account)
    sandbox.advance(4 * 24 * 3600)  # a debit settles within days
    refund = await gateway.transactions.refund(payment.id)
    assert refund.approved
    assert (refund.previous_transaction_id, refund.transaction_amount) == (payment.id, payment.transaction_amount)


async def test_partial_refund(gateway: AsyncGateway) -> None:
    """After a part, a refund of the full amount is refused and the rest is returned."""
    payment = await pay(gateway, **SALE)
    await gateway.transactions.refund(payment.id, "5.00")
    with pytest.raises(ValidationError) as refused:
        await gateway.transactions.refund(payment.id)
    assert "transaction_amount" in refused.value.fields
    assert (await gateway.transactions.refund(payment.id, "7.50")).approved


@pytest.mark.parametrize("fault", LOST)
async def test_a_lost_refund_is_found_under_its_generated_id(sandbox: Sandbox, fault: Any) -> None:
    async with sandbox.gateway() as gateway:
        payment = await pay(gateway, **SALE)
        sandbox.fault("POST /v2/transactions", fault)
        refund = await gateway.transactions.refund(payment.id, 5)
    assert sandbox.ledger()["refunded"] == {refund.transaction_api_id: 1}


async def test_ledger(sandbox: Sandbox, tmp_path: Path) -> None:
    """A refund is recorded like a sale, with nothing left open."""
    async with sandbox.gateway(ledger=SqliteLedger(str(tmp_path / "payments.db"))) as gateway:
        payment = await pay(gateway, **SALE)
        sandbox.fault("POST /v2/transactions", "close_after_commit")
        sandbox.fault("GET /v2/transactions/{id}", "error_before_commit", nth=2, times=1000)
        with pytest.raises(OutcomeUnknownError):
            await gateway.with_options(timeout=1).transactions.refund(payment.id)
        sandbox.clear_faults()
        (recovered,) = await gateway.recover(wait=0)
    assert recovered.outcome == "found"
    assert isinstance(recovered.record, Transaction)
    assert recovered.record.previous_transaction_id == payment.id


@pytest.mark.parametrize("fault", LOST)
async def test_tip(sandbox: Sandbox, fault: Any) -> None:
    """A repeated tip does not add up."""
    async with sandbox.gateway() as gateway:
        payment = await pay(gateway, **SALE)
        sandbox.fault("PUT /v2/transactions/{id}", fault)
        tipped = await gateway.transactions.tip_adjust(payment.id, "2.00")
        assert (tipped.tip_amount, tipped.transaction_amount) == (Decimal("2.00"), Decimal("14.50"))
        again = await gateway.transactions.tip_adjust(payment.id, "3.00")
        assert (again.tip_amount, again.transaction_amount) == (Decimal("3.00"), Decimal("15.50"))


@pytest.mark.parametrize("fault", LOST)
async def test_an_edit_of_a_description_keeps_the_amount_and_is_looked_up(sandbox: Sandbox, fault: Any) -> None:
    async with sandbox.gateway() as gateway:
        payment = await pay(gateway, **SALE)
        sandbox.fault("PUT /v2/transactions/{id}", fault)
        edited = await gateway.transactions.edit(payment.id, description="Tea", contact_id=sandbox.contact_id)
    assert (edited.description, edited.contact_id) == ("Tea", sandbox.contact_id)
    assert edited.transaction_amount == payment.transaction_amount


@pytest.mark.parametrize("fault", LOST)
async def test_moved_vault(sandbox: Sandbox, fault: Any) -> None:
    """A lost edit is repeated, because the record does not show that the vault moved; twice does no harm."""
    async with sandbox.gateway() as gateway:
        customer = await gateway.contacts.create(ContactCreate(last_name="Smith"))
        card = await gateway.account_vaults.create(CardVaultCreate(**SALE))
        sale = TransactionCreate(action="sale", transaction_amount="12.50", account_vault_id=card.id)
        payment = await gateway.transactions.create(sale)
        sandbox.fault("PUT /v2/transactions/{id}", fault)
        edited = await gateway.transactions.edit(
            payment.id, contact_id=customer.id, tags=["vip"], move_account_vault=True
        )
        assert [tag["title"] for tag in edited.tags or ()] == ["vip"]
        assert (await gateway.account_vaults.get(card.id)).contact_id == edited.contact_id == customer.id
        assert (await gateway.transactions.edit(payment.id, contact_id="")).contact_id is None
