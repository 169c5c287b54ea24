"""`Reconciler`: read both sides of a reconciliation, and collect what differs.

It only reads. The gateway is read before the ledger: an intent is on disk before its call is sent, so every payment
that the gateway shows has its intent by then.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, closing
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from itertools import islice
from typing import Any, Final, Self, TypeVar, cast

import anyio
import anyio.to_thread
import attrs

from gateway_async._arguments import check_numbers
from gateway_async._secrets import mask_text
from gateway_async._text import first_error
from gateway_async._wire.amounts import add
from gateway_async.errors import InvalidRequestError, NotFoundError, RecordDeletedError
from gateway_async.ledger.protocol import Intent, Ledger, ReadableLedger, StoredIntent
from gateway_async.ledger.reconciliation.comparison import (
    GatewayPayment,
    RecordedCall,
    compare_payment,
    discrepancy,
    payment_of,
    recorded_call,
)
from gateway_async.ledger.reconciliation.result import BatchTotals, Discrepancy, PaymentTotals, Reconciliation
from gateway_async.ledger.reconciliation.tables import ReconciliationTables
from gateway_async.models.codes import BatchStatus
from gateway_async.models.record import ApiId
from gateway_async.models.time_range import TimeRange
from gateway_async.models.transaction_batches import TransactionBatch
from gateway_async.models.transactions import Transaction
from gateway_async.resources.transaction_batches import TransactionBatches
from gateway_async.resources.transactions import Transactions

T = TypeVar("T")
R = TypeVar("R")

_CHUNK: Final = 500
"""How many rows of the tables are in memory at once."""

_LONGEST_MARGIN: Final = 30 * 86_400.0

_MAX_CONCURRENT: Final = 16
"""Reads of single records that run at the same time."""


@attrs.frozen
class Period:
    """The period of a reconciliation.

    Attributes:
        since: its begin.
        until: its end, which is not part of it.
        margin: how far apart the clocks of the two sides may show the same payment.
    """

    since: datetime
    until: datetime
    margin: timedelta

    @classmethod
    def between(cls, since: datetime, until: datetime | None, margin: float) -> Self:
        """The period between two times; without `until`, it ends now.

        Raises:
            InvalidRequestError: a time has no time zone, `until` is not after `since`, or `margin` is not a number
                from 0.
        """
        until = datetime.now(UTC) if until is None else until
        check_numbers("seconds", minimum=0, maximum=_LONGEST_MARGIN, margin=margin)
        for name, moment in (("since", since), ("until", until)):
            if not isinstance(moment, datetime) or moment.tzinfo is None:
                raise InvalidRequestError(f"{name}: must be an aware datetime (with a tzinfo)")
        since, until = since.astimezone(UTC), until.astimezone(UTC)  # in one other zone, their clocks would be compared
        if until <= since:
            raise InvalidRequestError("until: must be after since")
        return cls(since, until, timedelta(seconds=margin))

    def __contains__(self, moment: datetime) -> bool:
        return self.since <= moment < self.until

    @property
    def listed_since(self) -> datetime:
        """When the payments read from both sides begin."""
        return self.since - self.margin

    @property
    def listed_until(self) -> datetime:
        """When the payments read from the gateway end."""
        return self.until + self.margin


class Reconciler:
    """Compares the payments of one period.

    The rows of both sides are in temporary tables. In memory are two or three pages of the gateway's list, and one
    record for each discrepancy, open intent and batch.

    Args:
        transactions: reads the payments of the gateway.
        transaction_batches: reads its batches.
        ledger: the ledger.
        gateway: the gateway's address; intents of another gateway are ignored.
        location_id: the location whose payments are compared; None compares all locations.
        period: the period.

    Raises:
        InvalidRequestError: the ledger cannot return resolved intents.
    """

    def __init__(
        self,
        transactions: Transactions,
        transaction_batches: TransactionBatches,
        ledger: Ledger,
        *,
        gateway: str,
        location_id: str | None,
        period: Period,
    ) -> None:
        if not callable(getattr(ledger, "entries", None)):
            name = type(ledger).__name__
            raise InvalidRequestError(f"ledger: {name} has no method entries (expected a ReadableLedger)")
        self._transactions = transactions
        self._transaction_batches = transaction_batches
        self._ledger = cast("ReadableLedger", ledger)
        self._gateway = gateway
        self._location_id = location_id
        self._period = period
        self._started_at = datetime.now(UTC)
        self._findings = _Findings()

    async def reconcile(self, page_size: int) -> Reconciliation:
        """Read both sides, and compare them.

        Raises:
            GatewayError: the gateway or the ledger cannot be read.
        """
        async with self._open_ledger() as entries:
            await anext(entries, None)  # a ledger that cannot be read must not fail after a long list
        with closing(ReconciliationTables()) as tables:
            await self._read_gateway(tables, page_size)
            await self._read_ledger(tables)
            await self._confirm_missing(tables)
            async for _ in _in_chunks(self._compare(tables)):
                pass
        batches = await self._read_batches()
        found = self._findings
        return Reconciliation(
            since=self._period.since,
            until=self._period.until,
            ledger=found.ledger.totals(),
            gateway=found.gateway.totals(),
            other_channels=found.other_channels.totals(),
            declined=found.declined,
            open_intents=tuple(found.open_intents),
            discrepancies=tuple(found.discrepancies),
            batches=batches,
        )

    async def _read_gateway(self, tables: ReconciliationTables, page_size: int) -> None:
        filters: dict[str, Any] = {"created_ts": TimeRange.custom(self._period.listed_since, self._period.listed_until)}
        if self._location_id is not None:
            filters["location_id"] = self._location_id
        pages = self._transactions.list(filters, sort="created_ts", page_size=page_size)
        async for page in pages.by_page():
            await _run_in_thread(partial(tables.add_payments, _payments_of(page.records)))

    async def _read_ledger(self, tables: ReconciliationTables) -> None:
        """Read the ledger up to now.

        A payment can be changed after the period.
        """
        calls: list[RecordedCall] = []
        async with self._open_ledger() as entries:
            async for stored in entries:
                if not self._is_expected(stored.intent):
                    continue
                calls += self._note(stored)
                if len(calls) >= _CHUNK:
                    await _run_in_thread(partial(tables.add_calls, calls))
                    calls = []
        await _run_in_thread(partial(tables.add_calls, calls))

    def _note(self, stored: StoredIntent) -> Sequence[RecordedCall]:
        """The call of an entry that moves money.

        Open intents and settlements are added to the findings.
        """
        intent, is_in_period = stored.intent, stored.intent.sent_at in self._period
        if intent.resource == "transaction_batches":
            if is_in_period and stored.outcome == "done":
                self._findings.settled[stored.record_id or intent.call.split("/")[-2]] = intent
            call = None
        else:
            call = recorded_call(stored)
            if call is not None and not call.is_create and self._ended_after_start(stored):
                call = attrs.evolve(call, outcome="open")  # the list may show the payment as it was before the change
        if is_in_period and stored.outcome is None and (call or intent.resource == "transaction_batches"):
            self._findings.open_intents.append(intent)
        return [] if call is None else [call]

    def _ended_after_start(self, stored: StoredIntent) -> bool:
        return stored.resolved_at is not None and stored.resolved_at >= self._started_at

    @asynccontextmanager
    async def _open_ledger(self) -> AsyncIterator[AsyncIterator[StoredIntent]]:
        entries = self._ledger.entries(self._period.listed_since)
        try:
            yield entries
        finally:
            if isinstance(entries, AsyncGenerator):
                await entries.aclose()

    def _is_expected(self, intent: Intent) -> bool:
        """Whether an intent belongs to this gateway and location."""
        location_id = self._location_id
        is_of_location = None in (location_id, intent.location_id) or intent.location_id == mask_text(location_id or "")
        return is_of_location and intent.gateway in ("", self._gateway)

    async def _confirm_missing(self, tables: ReconciliationTables) -> None:
        """Read each payment that only the ledger has; the list may lack it because the clocks differ."""
        async for chunk in _in_chunks(tables.calls_without_payment()):
            calls = [call for call in chunk if call.sent_at in self._period]
            records = await _map_concurrently(self._find, calls)
            own = [
                each for each in records if each and each.location_id in (None, self._location_id or each.location_id)
            ]
            await _run_in_thread(partial(tables.add_payments, _payments_of(own)))
            for call, record in zip(calls, records, strict=True):
                is_payment = record is not None and payment_of(record) is not None
                if not is_payment and call.outcome == "done":
                    self._findings.discrepancies.append(discrepancy("missing_at_gateway", call=call))
                    self._findings.ledger.add(call.amount or Decimal(0), is_refund=call.is_refund)

    async def _find(self, call: RecordedCall) -> Transaction | None:
        """Read a call's payment by its id, else by its integrator id."""
        location_id = self._location_id or call.location_key
        refs: list[str | ApiId] = [] if call.key is None else [call.key]
        if call.api_key is not None and location_id is not None:
            refs.append(ApiId(call.api_key, location_id))
        for ref in refs:
            try:
                return await self._transactions.get(ref)
            except (NotFoundError, RecordDeletedError, InvalidRequestError):  # a masked id cannot be sent
                continue
        return None

    def _compare(self, tables: ReconciliationTables) -> Iterator[GatewayPayment]:
        """Compare each payment with its calls, and yield it."""
        for payment, calls in tables.payments_with_calls():
            self._compare_payment(payment, calls, tables)
            yield payment

    def _compare_payment(
        self, payment: GatewayPayment, calls: Sequence[RecordedCall], tables: ReconciliationTables
    ) -> None:
        creates = [call for call in calls if call.is_create]
        if creates:
            if any(call.sent_at in self._period for call in creates):
                self._compare_recorded(payment, calls, creates, tables)
        elif (payment.created_ts is None or payment.created_ts in self._period) and not payment.is_declined:
            self._note_unrecorded(payment)

    def _note_unrecorded(self, payment: GatewayPayment) -> None:
        found = self._findings
        found.add_to_batch(payment)
        if payment.is_of_other_channel:
            found.other_channels.add(payment.amount, is_refund=payment.is_refund)
        else:
            found.gateway.add(payment.amount, is_refund=payment.is_refund)
            found.discrepancies.append(discrepancy("missing_in_ledger", payment))

    def _compare_recorded(
        self,
        payment: GatewayPayment,
        calls: Sequence[RecordedCall],
        creates: Sequence[RecordedCall],
        tables: ReconciliationTables,
    ) -> None:
        found = self._findings
        call = min(creates, key=_certainty)
        if payment.is_declined:
            found.declined += call.outcome == "done"
            return
        found.gateway.add(payment.amount, is_refund=payment.is_refund)
        found.add_to_batch(payment)
        twins = [] if payment.is_masked else [each for each in tables.earlier_twins(payment) if not each.is_declined]
        if call.outcome not in ("done", "open"):
            found.discrepancies.append(discrepancy("recorded_as_not_executed", payment, call))
        elif twins:
            details = [f"the first one is {twins[0].id}"]
            found.discrepancies.append(discrepancy("duplicate", payment, call, details))
        elif different := compare_payment(payment, calls):
            found.discrepancies.append(discrepancy("different", payment, call, different))
        if call.outcome == "done" and not twins:
            amount = payment.amount if call.amount is None else call.amount
            found.ledger.add(amount, is_refund=call.is_refund)

    async def _read_batches(self) -> tuple[BatchTotals, ...]:
        """Read the batches of the payments and of the recorded settlements."""
        found = self._findings
        listed = {mask_text(batch_id) for batch_id in found.by_batch}  # a ledger stores masked ids
        ids = [*found.by_batch, *(key for key in found.settled if key not in listed)]
        batches: list[BatchTotals] = []
        for chunk in (ids[start : start + _CHUNK] for start in range(0, len(ids), _CHUNK)):
            for batch_id, batch in zip(chunk, await _map_concurrently(self._find_batch, chunk), strict=True):
                settle = found.settled.get(mask_text(batch_id))
                if settle is not None and not _is_settled(batch):
                    found.discrepancies.append(_not_settled(batch_id, batch, settle))
                if batch is not None and batch_id in found.by_batch:
                    batches.append(BatchTotals(batch=batch, payments=found.by_batch[batch_id].totals()))
        return tuple(batches)

    async def _find_batch(self, batch_id: str) -> TransactionBatch | None:
        try:
            return await self._transaction_batches.get(batch_id)
        except (NotFoundError, RecordDeletedError, InvalidRequestError):  # a masked id cannot be sent
            return None


@attrs.define
class _Sums:
    """Counts payments, and adds up their amounts."""

    count: int = 0
    charged: Decimal = Decimal("0.00")
    refunded: Decimal = Decimal("0.00")

    def add(self, amount: Decimal, *, is_refund: bool) -> None:
        self.count += 1
        if is_refund:
            self.refunded = add(self.refunded, amount)
        else:
            self.charged = add(self.charged, amount)

    def totals(self) -> PaymentTotals:
        return PaymentTotals(count=self.count, charged=self.charged, refunded=self.refunded)


@attrs.define
class _Findings:
    """Results of a reconciliation so far.

    Attributes:
        settled: the masked ids of the batches that the ledger has as settled, with the intents.
        by_batch: the payments of each batch.
    """

    ledger: _Sums = attrs.field(factory=_Sums)
    gateway: _Sums = attrs.field(factory=_Sums)
    other_channels: _Sums = attrs.field(factory=_Sums)
    declined: int = 0
    open_intents: list[Intent] = attrs.field(factory=list)
    discrepancies: list[Discrepancy] = attrs.field(factory=list)
    settled: dict[str, Intent] = attrs.field(factory=dict)
    by_batch: dict[str, _Sums] = attrs.field(factory=dict)

    def add_to_batch(self, payment: GatewayPayment) -> None:
        """Add a payment to its batch, unless it was voided."""
        if payment.batch_id is not None and not payment.is_voided:
            sums = self.by_batch.setdefault(payment.batch_id, _Sums())
            sums.add(payment.amount, is_refund=payment.is_refund)


def _payments_of(records: Iterable[Transaction]) -> Sequence[GatewayPayment]:
    return [payment for payment in map(payment_of, records) if payment is not None]


def _certainty(call: RecordedCall) -> int:
    """The rank of an outcome: a rejected repetition of a call must not hide the call that was executed."""
    return {"done": 0, "open": 1}.get(call.outcome, 2)


def _is_settled(batch: TransactionBatch | None) -> bool:
    return batch is not None and not batch.is_open and batch.processing_status_id != BatchStatus.ERROR


def _not_settled(batch_id: str, batch: TransactionBatch | None, settle: Intent) -> Discrepancy:
    if batch is None:
        details: tuple[str, ...] = ("no batch is found by this id",)
    elif batch.processing_status_id is None:
        details = ()
    else:
        details = (f"processing_status_id is {int(batch.processing_status_id)}",)
    return Discrepancy(kind="not_settled", record_id=batch_id, outcome="done", sent_at=settle.sent_at, details=details)


async def _run_in_thread(function: Callable[[], T]) -> T:
    """Run a blocking function in a thread, to its end."""
    return await anyio.to_thread.run_sync(function)


async def _in_chunks(items: Iterator[T]) -> AsyncIterator[Sequence[T]]:
    """Yield the items of a blocking iterator in chunks; each is read in a thread."""
    while chunk := await _run_in_thread(lambda: [*islice(items, _CHUNK)]):
        yield chunk


async def _map_concurrently(function: Callable[[T], Awaitable[R]], items: Sequence[T]) -> Sequence[R]:
    """Call a function for each item, a few at once; raise the first error."""
    limiter = anyio.Semaphore(_MAX_CONCURRENT)
    results: dict[int, R] = {}

    async def run(index: int, item: T) -> None:
        async with limiter:
            results[index] = await function(item)

    try:
        async with anyio.create_task_group() as tasks:
            for index, item in enumerate(items):
                tasks.start_soon(run, index, item)
    except ExceptionGroup as errors:
        raise first_error(errors) from None
    return [results[index] for index in range(len(items))]
