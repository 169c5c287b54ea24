"""The comparison of a reconciliation, with transactions that no gateway should have."""

from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import attrs
import pytest

from gateway_async import Intent, NotFoundError, Reconciliation, StoredIntent, Transaction
from gateway_async._secrets import mask_text
from gateway_async.ledger.reconciliation.reconciler import Period, Reconciler
from gateway_async.models.codes import BatchStatus, TransactionSource, TransactionStatus, TransactionType
from gateway_async.models.page import Page
from gateway_async.models.transaction_batches import TransactionBatch
from tests.support.intents import SALE

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio"])]

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
LOOKS_LIKE_A_CARD = "4111111111111111abcdefab"
PAYMENT = Transaction(
    id="t1",
    transaction_api_id="mine",
    location_id="loc",
    status_id=TransactionStatus.APPROVED,
    type_id=TransactionType.SALE,
    transaction_amount=Decimal("12.50"),
    created_ts=NOON,
)


@attrs.frozen
class _Lists:
    """The lists and reads of a gateway with these records."""

    records: Sequence[Transaction]
    readable: Sequence[Transaction | TransactionBatch] = ()

    def list(self, *_: Any, **__: Any) -> "_Lists":
        return self

    async def by_page(self) -> AsyncIterator[Page[Transaction]]:
        for record in self.records:
            yield Page(records=(record,), number=1, total_count=None, page_count=None)

    async def get(self, id: str) -> Any:
        for record in self.readable:
            if record.id == id:
                return record
        raise NotFoundError(404, message=f"{id} does not exist")


@attrs.frozen
class _Entries:
    """A ledger with these entries."""

    stored: Sequence[StoredIntent]

    async def entries(self, since: datetime) -> AsyncIterator[StoredIntent]:
        for each in self.stored:
            if each.intent.sent_at >= since:
                yield each


async def reconcile(
    records: Sequence[Transaction],
    *stored: StoredIntent,
    location_id: str = "loc",
    readable: Sequence[Transaction | TransactionBatch] = (),
) -> Reconciliation:
    """Reconcile the day of these records and entries; `readable` records are found by their id only."""
    lists: Any = _Lists(records, readable)
    ledger: Any = _Entries(stored)
    period = Period.between(NOON - timedelta(hours=12), NOON + timedelta(hours=12), 900)
    reconciler = Reconciler(lists, lists, ledger, gateway="https://a.test", location_id=location_id, period=period)
    return await reconciler.reconcile(page_size=1000)


def done(outcome: str | None = "done", **changes: Any) -> StoredIntent:
    """Return the entry of a sale."""
    sent = {"action": "sale", "transaction_amount": "12.50"}
    intent: Intent = attrs.evolve(SALE, **({"sent": sent, "outcome_query": None} | changes))
    return StoredIntent(intent, outcome, None, None)


async def test_repeated_id() -> None:
    """The second one is a discrepancy, unless it was declined, and both are in the gateway's sums."""
    twin = attrs.evolve(PAYMENT, id="t2", created_ts=NOON + timedelta(minutes=20))
    found = await reconcile([PAYMENT, twin], done())
    assert [(each.kind, each.record_id) for each in found.discrepancies] == [("duplicate", "t2")]
    assert (found.ledger.count, found.gateway.count) == (1, 2)
    declined = attrs.evolve(twin, status_id=TransactionStatus.DECLINED)
    assert (await reconcile([PAYMENT, declined], done())).agrees
    elsewhere = attrs.evolve(twin, location_id="other")
    assert "duplicate" not in {each.kind for each in (await reconcile([PAYMENT, elsewhere], done())).discrepancies}


@pytest.mark.parametrize("name", ["id", "transaction_api_id", "location_id"])
async def test_masked_ids(name: str) -> None:
    """A ledger stores ids that look like card numbers masked: the payment is still the same."""
    masked = mask_text(LOOKS_LIKE_A_CARD)
    assert masked != LOOKS_LIKE_A_CARD
    change: dict[str, Any] = {name: LOOKS_LIKE_A_CARD}
    payment = attrs.evolve(PAYMENT, **change)
    entry = {
        "id": attrs.evolve(done(api_id=None), record_id=masked),
        "transaction_api_id": done(api_id=masked),
        "location_id": done(location_id=masked),
    }[name]
    location_id = LOOKS_LIKE_A_CARD if name == "location_id" else "loc"
    found = await reconcile([payment], entry, location_id=location_id)
    assert (found.agrees, found.ledger.count) == (True, 1)


@pytest.mark.parametrize(
    ("changes", "details"),
    [
        ({"transaction_amount": Decimal("13.00")}, ("transaction_amount is '13.00', not '12.50'",)),
        ({"type_id": TransactionType.REFUND}, ("type_id is 30, which no sale has",)),
        ({"transaction_amount": Decimal("14.50"), "tip_amount": Decimal("2.00")}, ()),
        ({"transaction_amount": Decimal("0.00"), "status_id": TransactionStatus.VOIDED}, ()),
        ({"status_id": TransactionStatus.CHARGED_BACK}, ()),
        ({"status_id": TransactionStatus(999)}, ()),
    ],
    ids=["amount", "direction", "tip", "void", "chargeback", "new status"],
)
async def test_what_is_different(changes: dict[str, Any], details: tuple[str, ...]) -> None:
    """Another amount and another direction of the money are; later states of a payment are not."""
    found = await reconcile([attrs.evolve(PAYMENT, **changes)], done())
    assert [each.details for each in found.discrepancies] == ([details] if details else [])


async def test_ineffective_void() -> None:
    """The ledger has the void as done, and the payment is still approved."""
    void = done(id="void", call="PUT /v2/transactions/t1", api_id=None, sent={"action": "void"})
    found = await reconcile([PAYMENT], done(), void)
    assert [each.details for each in found.discrepancies] == [("status_id is 101 after a void",)]
    assert (await reconcile([PAYMENT], done(), attrs.evolve(void, outcome="refused"))).agrees


@pytest.mark.parametrize(
    ("amount", "type_id", "agrees"), [("1.00", 20, True), ("13.00", 20, False), ("1.00", 30, False)]
)
async def test_capture(amount: str, type_id: int, agrees: bool) -> None:
    """A capture without an amount takes what was authorized, which may be less than was asked for, but never more."""
    amounts: dict[str, Any] = dict.fromkeys(("transaction_amount", "auth_amount"), Decimal(amount))
    capture = done(id="capture", call="PUT /v2/transactions/t1", api_id=None, sent={"action": "authcomplete"})
    found = await reconcile([attrs.evolve(PAYMENT, type_id=TransactionType(type_id), **amounts)], done(), capture)
    assert found.agrees is agrees


async def test_concurrent_void() -> None:
    """The list may have been read before the void: nothing is wrong."""
    void = done(id="void", call="PUT /v2/transactions/t1", api_id=None, sent={"action": "void"})
    during = attrs.evolve(void, resolved_at=datetime.now(UTC) + timedelta(hours=1))
    assert (await reconcile([PAYMENT], done(), during)).agrees


async def test_rejected_debit() -> None:
    """The bank has rejected it: it is counted as declined, and not as charged."""
    rejected = attrs.evolve(PAYMENT, status_id=TransactionStatus.REJECTED)
    found = await reconcile([rejected], done())
    assert (found.agrees, found.declined, found.gateway.count) == (True, 1, 0)


async def test_address_check() -> None:
    """The id of a recorded sale leads to an address check: the sale is missing."""
    check = attrs.evolve(PAYMENT, id="check", type_id=TransactionType.AVS_ONLY)
    found = await reconcile([], attrs.evolve(done(), record_id="check"), readable=[check])
    assert [each.kind for each in found.discrepancies] == ["missing_at_gateway"]


@pytest.mark.parametrize(
    ("batch", "details"),
    [
        (TransactionBatch(id="b1", is_open=False, processing_status_id=BatchStatus.SETTLED), None),
        (TransactionBatch(id="b1", is_open=False), None),
        (TransactionBatch(id="b1", is_open=True), ()),
        (
            TransactionBatch(id="b1", is_open=False, processing_status_id=BatchStatus.ERROR),
            ("processing_status_id is 3",),
        ),
        (TransactionBatch(id="other"), ("no batch is found by this id",)),
    ],
    ids=["settled", "closed", "open", "error", "unknown"],
)
async def test_a_recorded_settlement(batch: TransactionBatch, details: tuple[str, ...] | None) -> None:
    """The gateway must have the batch, closed and without an error."""
    settle = done(resource="transaction_batches", call="POST /v2/transactionbatches/b1/settle", api_id=None, sent={})
    found = await reconcile([], settle, readable=[batch])
    assert [each.details for each in found.discrepancies] == ([] if details is None else [details])


async def test_masked_batch() -> None:
    """A ledger stores a batch id that looks like a card number masked: the batch is still the same."""
    settle = done(resource="transaction_batches", call="POST /v2/transactionbatches/x/settle", api_id=None, sent={})
    settle = attrs.evolve(settle, record_id=mask_text(LOOKS_LIKE_A_CARD))
    batch = TransactionBatch(id=LOOKS_LIKE_A_CARD, is_open=False)
    payment = attrs.evolve(PAYMENT, transaction_batch_id=LOOKS_LIKE_A_CARD)
    assert (await reconcile([payment], done(), settle, readable=[batch])).agrees


async def test_no_money() -> None:
    """Address checks and stored accounts are not compared; a payment of an unknown channel is."""
    check = attrs.evolve(PAYMENT, status_id=TransactionStatus.AVS_ONLY, type_id=TransactionType.AVS_ONLY)
    entries = done(sent={"action": "avsonly"}), done(resource="account_vaults", call="POST /v2/accountvaults")
    found = await reconcile([check], *entries)
    assert (found.agrees, found.ledger.count, found.gateway.count) == (True, 0, 0)
    unknown = attrs.evolve(PAYMENT, trx_source_id=TransactionSource(99))
    assert [each.kind for each in (await reconcile([unknown])).discrepancies] == ["missing_in_ledger"]


async def test_many_entries() -> None:
    """Rows are compared in chunks: each one is seen once."""
    count = 1201
    entries = [done(id=f"{number}", api_id=f"order-{number}") for number in range(count)]
    records = [attrs.evolve(PAYMENT, id=f"t{number}", transaction_api_id=f"order-{number}") for number in range(count)]
    found = await reconcile(records[1:], *entries)
    assert [each.api_id for each in found.discrepancies] == ["order-0"]
    assert "1 discrepancy, 0 open, 0 declined" in found.summary
    assert "order-0" not in found.summary
    assert (found.ledger.count, found.gateway.count) == (count, count - 1)
