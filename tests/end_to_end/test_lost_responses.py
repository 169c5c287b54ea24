"""What a caller learns of a lost response over real connections: how far the request got, and what was repeated."""

from typing import Any

import anyio
import pytest

from gateway_async import ContactCreate, NotSentError, OutcomeUnknownError, SendStage, TagCreate, TransactionCreate
from gateway_async.sandbox import Sandbox
from tests.support.sales import NEW_CARD, sale

pytestmark = pytest.mark.anyio

SALE = sale("once")


@pytest.mark.parametrize(
    ("fault", "reached"),
    [
        ("reset_before_commit", SendStage.SENT),
        ("silence", SendStage.SENT),
        ("cut_body", SendStage.RESPONSE_TRUNCATED),
        ("html", SendStage.RESPONDED),
        ("error_after_commit", SendStage.RESPONDED),
    ],
)
async def test_unknown_stage(sandbox: Sandbox, fault: str, reached: SendStage) -> None:
    """An unknown outcome says how far the request got over a real connection; a new tag can never be looked up."""
    async with sandbox.gateway(timeout=6) as gateway:
        sandbox.fault("POST /v2/tags", fault)  # type: ignore[arg-type]
        with pytest.raises(OutcomeUnknownError) as caught:
            await gateway.tags.create(TagCreate(title="t"))
    assert (caught.value.reached, f"({reached})" in str(caught.value)) == (reached, True)


async def test_unsent_stage(sandbox: Sandbox) -> None:
    """A refused connection leaves nothing written; with a full pool no connection is tried."""
    sandbox.fault("GET /v2/contacts/{id}", "silence")
    async with sandbox.gateway(max_connections=1, timeout=1, max_attempts=1) as gateway:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(gateway.contacts.get, sandbox.contact_id)
            await anyio.wait_all_tasks_blocked()
            with pytest.raises(NotSentError) as waited:
                await gateway.transactions.create(SALE)
            tasks.cancel_scope.cancel()
        sandbox.stop()
        with pytest.raises(NotSentError) as refused:
            await gateway.transactions.create(SALE)
    assert "was not sent: it could not be sent within 0.666667 s" in str(waited.value)
    assert (waited.value.reached, refused.value.reached) == (SendStage.NOT_CONNECTED, SendStage.NOTHING_WRITTEN)


@pytest.mark.parametrize("fault", ["close_after_commit", "reset_before_commit", "error_after_commit", "cut_body"])
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
