"""Refunds and moved vaults at the sandbox."""

from typing import Any

import pytest

from gateway_async import AsyncGateway, ContactCreate, Transaction, TransactionCreate, ValidationError
from gateway_async.sandbox import Sandbox
from tests.support.sales import CARD, NEW_CARD

pytestmark = pytest.mark.anyio

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


@pytest.mark.parametrize(("action", "account"), [("sale", CARD), ("debit", DEBIT)])
async def test_full_refund(sandbox: Sandbox, gateway: AsyncGateway, action: str, account: dict[str, Any]) -> None:
    """A card's and a settled bank account's payment are refunded; the refund names the payment."""
    payment = await pay(gateway, action, **account)
    sandbox.advance(4 * 24 * 3600)  # a debit settles within days
    refund = await gateway.transactions.refund(payment.id)
    assert refund.approved
    assert (refund.previous_transaction_id, refund.transaction_amount) == (payment.id, payment.transaction_amount)


async def test_partial_refund(gateway: AsyncGateway) -> None:
    """After a part, a refund of the full amount is refused and the rest is returned."""
    payment = await pay(gateway, **CARD)
    await gateway.transactions.refund(payment.id, "5.00")
    with pytest.raises(ValidationError) as refused:
        await gateway.transactions.refund(payment.id)
    assert "transaction_amount" in refused.value.fields
    assert (await gateway.transactions.refund(payment.id, "7.50")).approved


@pytest.mark.parametrize("fault", LOST)
async def test_moved_vault(sandbox: Sandbox, fault: Any) -> None:
    """A lost edit is repeated, because the record does not show that the vault moved; twice does no harm."""
    async with sandbox.gateway() as gateway:
        customer = await gateway.contacts.create(ContactCreate(last_name="Smith"))
        card = await gateway.account_vaults.create(NEW_CARD)
        sale = TransactionCreate(action="sale", transaction_amount="12.50", account_vault_id=card.id)
        payment = await gateway.transactions.create(sale)
        sandbox.fault("PUT /v2/transactions/{id}", fault)
        edited = await gateway.transactions.edit(
            payment.id, contact_id=customer.id, tags=["vip"], move_account_vault=True
        )
        assert [tag["title"] for tag in edited.tags or ()] == ["vip"]
        assert (await gateway.account_vaults.get(card.id)).contact_id == edited.contact_id == customer.id
        assert (await gateway.transactions.edit(payment.id, contact_id="")).contact_id is None
