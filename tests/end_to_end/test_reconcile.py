"""`gateway.reconcile()`: the payments of a ledger are compared with those of a sandbox."""

from collections.abc import AsyncIterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from gateway_async import AsyncGateway, DuplicateError, InvalidRequestError, QuickInvoiceCreate, Transaction, UserApiKey
from gateway_async.ledger.reconciliation import Reconciliation
from gateway_async.sandbox import Sandbox
from tests.support.ledgers import KINDS, LedgerStore, empty_store
from tests.support.sales import NEW_CARD, sale, sale_at

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio"])]

PARTIAL = "2.01"
DECLINED = "6.16"
HOUR = timedelta(hours=1)


any_store = pytest.fixture(params=KINDS)(empty_store)


@pytest.fixture
def store(tmp_path: Path) -> LedgerStore:
    """Where a ledger in a file may be made."""
    return LedgerStore("sqlite", tmp_path)


@pytest.fixture
async def client(sandbox: Sandbox, store: LedgerStore) -> AsyncIterator[AsyncGateway]:
    """A client with a ledger in a file."""
    async with sandbox.gateway(ledger=store.ledger()) as gateway:
        yield gateway


async def pay(
    gateway: AsyncGateway, amount: str = "12.50", action: Any = "sale", api_id: str | None = None
) -> Transaction:
    """Charge a card."""
    return await gateway.transactions.create(sale(api_id, amount, action))


async def reconcile(gateway: AsyncGateway, **options: Any) -> Reconciliation:
    """Reconcile the last hour, in small pages."""
    return await gateway.reconcile(datetime.now(UTC) - HOUR, page_size=2, **options)


async def edit(client: AsyncGateway, store: LedgerStore, statement: str) -> None:
    """Change the ledger when everything is written to it."""
    await client.check()
    store.ask(statement)


def kinds(found: Reconciliation) -> list[str]:
    """Return the kinds of the discrepancies."""
    return [each.kind for each in found.discrepancies]


async def test_agreement(sandbox: Sandbox, any_store: LedgerStore) -> None:
    """Sales, a refund, a decline, a void, a tip, captures and terminals agree, in both kinds of ledger."""
    async with sandbox.gateway(ledger=any_store.ledger()) as gateway:
        await pay(gateway, DECLINED)
        assert (await pay(gateway, PARTIAL)).partially_approved
        sale = await pay(gateway)
        await gateway.transactions.refund(sale.id, "2.50")
        await gateway.transactions.void((await pay(gateway)).id)
        await gateway.transactions.tip_adjust((await pay(gateway)).id, "2.00")
        held = await pay(gateway, "20.00", "authonly")
        await gateway.transactions.increment(held.id, "30.00")
        await gateway.transactions.complete(held.id, "25.00")
        await gateway.router_transactions.create(sale_at(sandbox.terminal_id, amount="7.50"))
        await gateway.account_vaults.create(NEW_CARD)
        found = await reconcile(gateway)
    assert (kinds(found), found.agrees, found.declined) == ([], True, 1)
    assert (found.ledger.count, found.gateway.count) == (7, 7)
    assert (found.ledger.charged, found.ledger.refunded) == (Decimal("67.01"), Decimal("2.50"))
    assert (found.gateway.charged, found.gateway.refunded) == (Decimal("60.50"), Decimal("2.50"))
    assert sum(each.payments.count for each in found.batches) == 6


async def test_summer_time(client: AsyncGateway) -> None:
    """In the hour that a day has twice, times are compared as moments, not by their clocks."""
    summer = datetime(2024, 10, 27, 2, 30, fold=0, tzinfo=ZoneInfo("Europe/Berlin"))
    winter = datetime(2024, 10, 27, 2, 10, fold=1, tzinfo=ZoneInfo("Europe/Berlin"))
    with pytest.raises(InvalidRequestError, match="until: must be after since"):
        await client.reconcile(winter, summer)
    with pytest.raises(InvalidRequestError, match="since: too early"):  # the order is right
        await client.reconcile(summer, winter)


async def test_unrecorded_payment(sandbox: Sandbox, client: AsyncGateway) -> None:
    """Only the gateway has a payment made without a ledger; declines and a customer's own payments do not count."""
    async with sandbox.gateway() as other:
        sale = await pay(other)
        await pay(other, DECLINED)
        invoice = await other.quick_invoices.create(
            QuickInvoiceCreate(title="Tea", due_date=date(2030, 1, 1), item_list={"Tea": "15.00"})
        )
    sandbox.pay_quick_invoice(invoice.id)
    found = await reconcile(client)
    (missing,) = found.discrepancies
    assert (missing.kind, missing.record_id, missing.gateway_amount) == ("missing_in_ledger", sale.id, Decimal("12.50"))
    assert (found.ledger.count, found.gateway.count, found.other_channels.charged) == (0, 1, Decimal("15.00"))
    assert f"{sale.transaction_api_id}: the gateway has the payment, but the ledger has no call" in str(found)


async def test_missing_payment(store: LedgerStore, client: AsyncGateway) -> None:
    """The ledger has it as done, and no lookup finds it."""
    sale = await pay(client)
    await edit(client, store, "UPDATE @ SET api_id = 'gone', record_id = 'gone'")
    found = await reconcile(client)
    lost, unknown = found.discrepancies
    assert (lost.kind, lost.api_id, lost.ledger_amount) == ("missing_at_gateway", "gone", Decimal("12.50"))
    assert (unknown.kind, unknown.record_id) == ("missing_in_ledger", sale.id)


@pytest.mark.parametrize("outcome", ["not_made", "refused", "not_sent"])
async def test_late_payment(store: LedgerStore, client: AsyncGateway, outcome: str) -> None:
    """The ledger says that it was certainly not executed, and the gateway has it."""
    await pay(client, api_id="made")
    await edit(client, store, f"UPDATE @ SET outcome = '{outcome}', record_id = NULL")  # noqa: S608
    (made,) = (await reconcile(client)).discrepancies
    assert (made.kind, made.api_id, made.outcome) == ("recorded_as_not_executed", "made", outcome)


async def test_rejected_repetition(client: AsyncGateway) -> None:
    """The ledger has one id twice, as done and as refused: the payment was made once."""
    await pay(client, api_id="twice")
    with pytest.raises(DuplicateError):
        await pay(client, api_id="twice")
    assert (await reconcile(client)).agrees


async def test_open_calls(store: LedgerStore, client: AsyncGateway) -> None:
    """A call with an unknown outcome is listed apart from discrepancies, whether the gateway has its payment or not."""
    await pay(client, api_id="first")
    await pay(client, api_id="second")
    await edit(client, store, "UPDATE @ SET outcome = NULL")
    await edit(client, store, "UPDATE @ SET api_id = 'never', record_id = NULL WHERE api_id = 'second'")
    found = await reconcile(client)
    assert [intent.api_id for intent in found.open_intents] == ["first", "never"]
    assert (kinds(found), found.agrees) == (["missing_in_ledger"], False)


async def test_unexplained_amount(store: LedgerStore, client: AsyncGateway) -> None:
    """The gateway charged more than was sent, without an increment in the ledger."""
    held = await pay(client, "20.00", "authonly")
    await client.transactions.increment(held.id, "30.00")
    assert (await reconcile(client)).agrees
    await edit(client, store, "DELETE FROM @ WHERE call LIKE 'PUT%'")
    (different,) = (await reconcile(client)).discrepancies
    assert (different.kind, different.ledger_amount, different.gateway_amount) == (
        "different",
        Decimal("20.00"),
        Decimal("30.00"),
    )


async def test_foreign_changes(sandbox: Sandbox, client: AsyncGateway) -> None:
    """Another client's voids, tips and captures are no discrepancies; its refund is a payment of its own."""
    voided, tipped, held, refunded = [
        await pay(client, action=action) for action in ("sale", "sale", "authonly", "sale")
    ]
    async with sandbox.gateway() as other:
        await other.transactions.void(voided.id)
        await other.transactions.tip_adjust(tipped.id, "2.00")
        await other.transactions.complete(held.id, "10.00")
        refund = await other.transactions.refund(refunded.id)
    found = await reconcile(client)
    (only,) = found.discrepancies
    assert (only.kind, only.record_id) == ("missing_in_ledger", refund.id)


async def test_other_location(sandbox: Sandbox, store: LedgerStore, client: AsyncGateway) -> None:
    """Payments of another location in the same ledger are compared by a client of that location."""
    second = sandbox.add_location()
    key = UserApiKey(second.user_id, second.user_api_key)
    async with sandbox.gateway(
        ledger=store.ledger(), credentials=key, location_id=second.location_id, developer_id=second.developer_id
    ) as other:
        await pay(other)
        await pay(other)
        assert (await reconcile(other)).ledger.count == 2
    await pay(client)
    found = await reconcile(client)
    assert (found.agrees, found.ledger.count) == (True, 1)


@pytest.mark.parametrize("minutes", [-10, 10])
async def test_clocks(sandbox: Sandbox, client: AsyncGateway, minutes: int) -> None:
    """A payment at an edge of the period belongs to it by the ledger's clock, and to one period only."""
    sandbox.set_clock(datetime.now(UTC).timestamp() + minutes * 60)
    before = datetime.now(UTC)
    await pay(client)
    after = datetime.now(UTC)
    periods = [(before - HOUR, before), (before, after), (after, after + HOUR)]
    found = [await client.reconcile(since, until) for since, until in periods]
    assert [each.agrees for each in found] == [True, True, True]
    assert [each.gateway.count for each in found] == [0, 1, 0]


async def test_margin(sandbox: Sandbox, client: AsyncGateway) -> None:
    """A payment that the list does not have is read by its id before it is reported."""
    sandbox.set_clock(datetime.now(UTC).timestamp() + 600)
    await pay(client)
    found = await client.reconcile(datetime.now(UTC) - HOUR, margin=60)
    assert (found.agrees, found.ledger.count, found.gateway.count) == (True, 1, 1)


async def test_batches(sandbox: Sandbox, store: LedgerStore, client: AsyncGateway) -> None:
    """Each batch comes with its payments of the period; one that is recorded as settled must not be open."""
    await pay(client)
    await client.transactions.refund((await pay(client, "20.00")).id, "5.00")
    batch = await client.transaction_batches.list({"is_open": True}).first()
    assert batch is not None
    await client.transaction_batches.settle(batch.id)
    await pay(client)
    found = await reconcile(client)
    assert found.agrees
    assert [(each.batch.is_open, each.payments.charged, each.payments.refunded) for each in found.batches] == [
        (False, Decimal("32.50"), Decimal("5.00")),
        (True, Decimal("12.50"), Decimal("0.00")),
    ]
    opened = found.batches[1].batch.id
    await edit(client, store, f"UPDATE @ SET record_id = '{opened}' WHERE resource = 'transaction_batches'")  # noqa: S608
    (different,) = (await reconcile(client)).discrepancies
    assert (different.kind, different.record_id) == ("not_settled", opened)


class _WriteOnly:
    """A ledger with the four methods of the protocol only."""

    def __init__(self, ledger: Any) -> None:
        for name in ("record_intent", "record_outcome", "open_intents", "aclose"):
            setattr(self, name, getattr(ledger, name))


async def test_requirements(sandbox: Sandbox, store: LedgerStore) -> None:
    """Reconciling needs a readable ledger that keeps its entries, and times with a zone; each error names it."""
    now = datetime.now(UTC)
    async with sandbox.gateway() as none, sandbox.gateway(ledger=_WriteOnly(store.ledger())) as blind:  # type: ignore[arg-type]
        with pytest.raises(InvalidRequestError, match="ledger: the client has none"):
            await none.reconcile(now - HOUR)
        with pytest.raises(InvalidRequestError, match="ledger: _WriteOnly has no method entries"):
            await blind.reconcile(now - HOUR)
    async with sandbox.gateway(ledger=store.ledger(keep_days=2)) as gateway:
        for since, until, problem in (
            (now - timedelta(days=2), None, "since: too early, resolved intents are kept for 2 days"),
            (now.replace(tzinfo=None), None, "since: must be an aware datetime"),
            (now, now, "until: must be after since"),
        ):
            with pytest.raises(InvalidRequestError, match=problem):
                await gateway.reconcile(since, until)
        with pytest.raises(InvalidRequestError, match="page_size: must be a whole number from 1 to 5000"):
            await gateway.reconcile(now - HOUR, page_size=5001)
