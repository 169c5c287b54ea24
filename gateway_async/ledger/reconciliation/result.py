"""`Reconciliation`: what `AsyncGateway.reconcile()` found out about the payments of a ledger and of the gateway."""

from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from typing import Final, Literal

import attrs

from gateway_async._text import pluralize
from gateway_async.ledger.protocol import Intent
from gateway_async.models.codes import TransactionStatus
from gateway_async.models.transaction_batches import TransactionBatch

DiscrepancyKind = Literal[
    "missing_at_gateway",
    "missing_in_ledger",
    "recorded_as_not_executed",
    "different",
    "duplicate",
    "not_settled",
]

_SENTENCES: Final = {
    "missing_at_gateway": "the ledger says {outcome}, but the gateway has no such payment",
    "missing_in_ledger": "the gateway has the payment, but the ledger has no call that made it",
    "recorded_as_not_executed": "the ledger says {outcome}, but the gateway has the payment",
    "different": "the ledger and the gateway disagree",
    "duplicate": "the gateway has another payment with the same id",
    "not_settled": "the ledger says that the batch is settled, but the gateway does not",
}


@attrs.frozen(kw_only=True)
class PaymentTotals:
    """The number of payments, and the sums of their amounts with two decimals.

    Attributes:
        count: the number of payments.
        charged: the sum of sales, debits and authorizations.
        refunded: the sum of refunds and credits.
    """

    count: int = 0
    charged: Decimal = Decimal("0.00")
    refunded: Decimal = Decimal("0.00")


@attrs.frozen(kw_only=True)
class BatchTotals:
    """A transaction batch, and the payments of the period that it settles.

    Attributes:
        batch: the batch, which may also contain payments of other times.
        payments: its payments of the period that were neither declined nor voided.
    """

    batch: TransactionBatch
    payments: PaymentTotals


@attrs.frozen(kw_only=True)
class Discrepancy:
    """A payment or batch that the ledger and the gateway disagree about. `str()` describes it for people.

    Attributes:
        kind: `"missing_at_gateway"`, `"missing_in_ledger"`, `"recorded_as_not_executed"`, `"different"`, `"duplicate"`
            or `"not_settled"`.
        api_id: the integrator id of the payment, if it has one.
        record_id: the gateway's id of the transaction or batch, if known.
        location_id: the location, if known.
        outcome: the outcome in the ledger; None if the ledger does not have the payment.
        status_id: the status of the transaction; None if the gateway does not have the payment.
        ledger_amount: the amount that was sent, with two decimals, or None.
        gateway_amount: the amount of the transaction now, with two decimals, or None.
        sent_at: when the call was sent, in UTC, by the clock of the process that sent it.
        created_ts: when the transaction was created, in UTC, by the gateway's clock.
        details: one line for each value that differs.
    """

    kind: DiscrepancyKind
    api_id: str | None = None
    record_id: str | None = None
    location_id: str | None = None
    outcome: str | None = None
    status_id: TransactionStatus | None = None
    ledger_amount: Decimal | None = None
    gateway_amount: Decimal | None = None
    sent_at: datetime | None = None
    created_ts: datetime | None = None
    details: tuple[str, ...] = ()

    def __str__(self) -> str:
        sentence = _SENTENCES[self.kind].format(outcome=self.outcome)
        facts = "; ".join((*self.details, *self._facts()))
        return f"{self.api_id or self.record_id}: {sentence}" + (f" ({facts})" if facts else "")

    def _facts(self) -> Iterator[str]:
        if self.sent_at is not None:
            yield f"sent {_describe(self.ledger_amount, self.sent_at)}"
        if self.created_ts is not None:
            yield f"created {_describe(self.gateway_amount, self.created_ts)}"
        if self.status_id is not None:
            yield f"status {int(self.status_id)}"
        if self.api_id and self.record_id:
            yield f"record {self.record_id}"


@attrs.frozen(kw_only=True)
class Reconciliation:
    """The result of a reconciliation. `str()` describes it for people.

    Without discrepancies and open intents, both sides have the same payments. Their sums can still differ, because an
    amount can change after it was sent: by a partial approval, a tip, a capture or a void, which sets it to 0.

    Attributes:
        since: the start of the period, in UTC.
        until: the end of the period (exclusive), in UTC.
        ledger: the payments that are done in the ledger, with the amounts that were sent, without declined ones.
        gateway: the payments at the gateway, with their amounts now, without declined ones and `other_channels`.
        other_channels: payments that no ledger is expected to have: made on the gateway's pages, in its own apps and by
            recurring plans.
        declined: how many of the ledger's payments were declined.
        open_intents: the payments and changes of the period with an unknown outcome, oldest first, including calls in
            progress. `recover()` looks them up.
        discrepancies: every payment and batch that the two sides disagree about.
        batches: the transaction batches of the payments. The contract gives no totals of a batch to compare with.
    """

    since: datetime
    until: datetime
    ledger: PaymentTotals
    gateway: PaymentTotals
    other_channels: PaymentTotals
    declined: int
    open_intents: tuple[Intent, ...]
    discrepancies: tuple[Discrepancy, ...]
    batches: tuple[BatchTotals, ...]

    @property
    def agrees(self) -> bool:
        """Whether there is no discrepancy and no open intent."""
        return not self.discrepancies and not self.open_intents

    @property
    def summary(self) -> str:
        """The period, the counts and the sums as text, without the single discrepancies."""
        sides = (("ledger", self.ledger), ("gateway", self.gateway), ("other channels", self.other_channels))
        period = f"{self.since:%Y-%m-%d %H:%M:%S} to {self.until:%Y-%m-%d %H:%M:%S} UTC"
        found = len(self.discrepancies)
        differing = f"{found} {pluralize(found, 'discrepancy', 'discrepancies')}"
        counts = f"{differing}, {len(self.open_intents)} open, {self.declined} declined"
        return "\n".join((f"{period}: {counts}", *(f"  {name}: {_describe_totals(each)}" for name, each in sides)))

    def __str__(self) -> str:
        return "\n".join((self.summary, *(f"  {each}" for each in self.discrepancies)))


def _describe(amount: Decimal | None, moment: datetime) -> str:
    return f"{'' if amount is None else f'{amount} '}{moment:%Y-%m-%d %H:%M:%S}"


def _describe_totals(totals: PaymentTotals) -> str:
    return f"{totals.count} {pluralize(totals.count, 'payment')}, {totals.charged} charged, {totals.refunded} refunded"
