"""One card, one terminal, one sale: the SDK against the sandbox, over real sockets, on both event loops."""

from decimal import Decimal

import anyio
import attrs
import pytest

from gateway_async import (
    AccountVaultUpdate,
    AchVaultCreate,
    ApiId,
    AsyncGateway,
    ContactCreate,
    ContactUpdate,
    DeclinedError,
    InvalidRequestError,
    NotFoundError,
    RecordDeletedError,
    RouterAccountVaultCreate,
    SwipedVaultCreate,
    TicketVaultCreate,
    TransactionCreate,
    TransactionStatus,
    TransactionUpdate,
    TransactionVaultCreate,
    ValidationError,
    VaultCopyCreate,
)
from gateway_async.sandbox import Sandbox
from tests.support.sales import NEW_CARD, sale, sale_at

pytestmark = pytest.mark.anyio


async def test_contact(gateway: AsyncGateway) -> None:
    """Create, read by both ids, list, change, delete; and then it is gone."""
    made = await gateway.contacts.create(
        ContactCreate(last_name="Müller", contact_api_id="c-1", email_trx_receipt=True, contact_balance="245.65")
    )
    assert (made.last_name, made.email_trx_receipt, made.contact_balance) == ("Müller", True, Decimal("245.65"))
    assert await gateway.contacts.get(made.id) == await gateway.contacts.get(ApiId("c-1")) == made
    changed = await gateway.contacts.update(ApiId("c-1"), ContactUpdate(city="Bern", email_trx_receipt=False))
    assert (changed.city, changed.email_trx_receipt, changed.last_name) == ("Bern", False, "Müller")
    assert (await gateway.contacts.update(made.id, ContactUpdate(city=None))).city is None
    assert made.id in [contact.id async for contact in gateway.contacts.list({"last_name": "Müll"})]
    await gateway.contacts.delete(made.id)
    with pytest.raises(RecordDeletedError):
        await gateway.contacts.get(made.id)


async def test_vault_sources(gateway: AsyncGateway, sandbox: Sandbox) -> None:
    """A vault is made from a number, a stripe, a ticket, a transaction, a vault, a bank account and at a terminal."""
    vaults = gateway.account_vaults
    keyed = await vaults.create(NEW_CARD)
    swiped = await vaults.create(SwipedVaultCreate(track_data=";4111111111111111=30121011000?"))
    ticket = await vaults.create(TicketVaultCreate(ticket=sandbox.ticket()))
    paid = await gateway.transactions.create(sale(account_number="5454545454545454"))
    charged = await vaults.create(TransactionVaultCreate(previous_transaction_id=paid.id))
    copied = await vaults.create(VaultCopyCreate(previous_account_vault_id=charged.id))
    bank = await vaults.create(
        AchVaultCreate(
            account_number="7009536573657",
            routing="072000326",
            account_type="checking",
            is_company=False,
            account_holder_name="John Smith",
        )
    )
    shown = await gateway.router_account_vaults.create(
        RouterAccountVaultCreate(terminal_id=sandbox.terminal_id, contact_id=sandbox.contact_id)
    )
    stored = [keyed, swiped, ticket, charged, copied, bank, shown]
    assert [vault.last_four for vault in stored] == ["1111", "1111", "1111", "5454", "5454", "3657", "1111"]
    assert [vault.account_type for vault in stored] == ["visa", "visa", "visa", "mc", "mc", "checking", "visa"]
    assert await vaults.list().count() == len(stored)


async def test_a_vault_is_read_changed_and_deleted_by_both_ids(gateway: AsyncGateway) -> None:
    vault = await gateway.account_vaults.create(NEW_CARD)
    name = ApiId(vault.account_vault_api_id or "")
    assert await gateway.account_vaults.get(name) == vault
    changed = await gateway.account_vaults.update(name, AccountVaultUpdate(exp_date="0131", title="Main card"))
    assert (changed.exp_date, changed.title) == ("0131", "Main card")
    assert (await gateway.account_vaults.bin_info(vault.id)).country_code
    expanded = await gateway.account_vaults.get(vault.id, expand=("location",))
    assert expanded.extra["location"]["id"] == vault.location_id
    await gateway.account_vaults.delete(name)
    with pytest.raises(RecordDeletedError):
        await gateway.account_vaults.get(vault.id)


async def test_payments(gateway: AsyncGateway) -> None:
    """Authorize, raise and capture one payment, void another, and refund a third."""
    vault = await gateway.account_vaults.create(NEW_CARD)
    held = await gateway.transactions.create(
        TransactionCreate(action="authonly", account_vault_id=vault.id, transaction_amount=10)
    )
    assert held.status_id == TransactionStatus.AUTH_ONLY
    raised = await gateway.transactions.increment(held.id, "15.00")
    assert raised.transaction_amount == Decimal("15.00")
    captured = await gateway.transactions.complete(ApiId(held.transaction_api_id or ""), Decimal("14.00"))
    assert (captured.approved, captured.status_id, captured.transaction_amount) == (True, 101, Decimal("14.00"))
    voided = await gateway.transactions.void((await gateway.transactions.create(sale())).id)
    assert (voided.voided, voided.transaction_amount, voided.auth_amount) == (True, Decimal(0), Decimal("12.50"))
    assert voided.void_date is not None
    paid = await gateway.transactions.create(sale())
    refund = await gateway.transactions.create(
        TransactionCreate(action="refund", previous_transaction_id=paid.id, transaction_amount="12.50")
    )
    assert refund.status_id == TransactionStatus.REFUNDED
    described = await gateway.transactions.update(paid.id, TransactionUpdate(action="edit", description="shoes"))
    assert described.description == "shoes"


async def test_trigger_amounts(gateway: AsyncGateway) -> None:
    """The trigger amounts respond with their reasons, and raise only when asked to."""
    declined = await gateway.transactions.create(sale(amount="6.16"))
    assert (declined.approved, declined.declined, declined.reason_code_id) == (False, True, 1616)
    with pytest.raises(DeclinedError):
        declined.raise_for_decline()
    partial = await gateway.transactions.create(sale(amount="2.01"))
    assert (partial.partially_approved, partial.auth_amount) == (True, Decimal("1.00"))


async def test_terminal_sale(sandbox_by_hand: Sandbox) -> None:
    """A sale waits until a person brings the card, and other calls go on meanwhile."""
    box = sandbox_by_hand
    async with box.gateway() as gateway, anyio.create_task_group() as tasks:
        results = []

        async def pay() -> None:
            results.append(await gateway.router_transactions.create(sale_at(box.terminal_id, "till-1")))

        tasks.start_soon(pay)
        await box.await_call()
        for _ in range(5):
            await gateway.contacts.get(box.contact_id)
        assert results == []
        box.present(card="5454545454545454", entry_mode="P")
    (transaction,) = results
    assert (transaction.approved, transaction.last_four, transaction.entry_mode_id) == (True, "5454", "P")
    assert (transaction.transaction_api_id, transaction.transaction_amount) == ("till-1", Decimal("12.50"))


async def test_a_timeout_at_the_device_is_a_decline_with_its_words(gateway: AsyncGateway, sandbox: Sandbox) -> None:
    transaction = await gateway.router_transactions.create(sale_at(sandbox.terminal_id, amount="7.72"))
    assert (transaction.declined, transaction.response_message) == (True, "Card Entry Timeout")


async def test_refusals(gateway: AsyncGateway, sandbox: Sandbox) -> None:
    """Unknown ids and taken names are 422 with messages, an unknown record is 404."""
    with pytest.raises(ValidationError) as unknown:
        await gateway.account_vaults.create(attrs.evolve(NEW_CARD, contact_id="x" * 24))
    assert "contact_id" in unknown.value.fields
    await gateway.transactions.create(sale("twice"))
    with pytest.raises(ValidationError) as taken:
        await gateway.transactions.create(sale("twice"))
    assert taken.value.fields == {"transaction_api_id": ("transaction_api_id already exists in this location",)}
    with pytest.raises(NotFoundError):
        await gateway.transactions.get("0" * 24)
    with pytest.raises(ValidationError) as terminal:
        await gateway.router_transactions.create(sale_at("no-such"))
    assert "terminal_id" in terminal.value.fields


async def test_lists(gateway: AsyncGateway, sandbox: Sandbox) -> None:
    """Lists stream sorted, filtered and counted, whatever the page size."""
    sandbox.add_vaults(2_345)
    walked = [vault.id async for vault in gateway.account_vaults.list(sort="-created_ts", page_size=500)]
    assert len(walked) == len(set(walked)) == await gateway.account_vaults.list().count() == 2_345
    pages = [len(page.records) async for page in gateway.account_vaults.list(page_size=1000).by_page()]
    assert pages == [1000, 1000, 345]
    assert (await gateway.account_vaults.list()).page_count == 118
    assert len((await gateway.account_vaults.list(page_size=5000)).records) == 2_345


async def test_no_location(sandbox: Sandbox) -> None:
    """Without a location a sale is made in the user's primary one; vaults and integrator ids need one, and say so."""
    async with sandbox.gateway(location_id=None) as gateway:
        sold = await gateway.transactions.create(sale())
        at_terminal = await gateway.router_transactions.create(sale_at(sandbox.terminal_id))
        assert (sold.location_id, at_terminal.location_id) == (sandbox.location_id, sandbox.location_id)
        with pytest.raises(InvalidRequestError, match="location_id: is required"):
            await gateway.account_vaults.create(NEW_CARD)
        with pytest.raises(InvalidRequestError, match="location_id: an ApiId needs one"):
            await gateway.transactions.get(ApiId("order-1"))
