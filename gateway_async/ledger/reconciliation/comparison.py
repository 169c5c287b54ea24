"""Comparison of one payment of the gateway with the calls of a ledger that made and changed it.

This module contains only pure functions.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, Final
from urllib.parse import unquote

import attrs

from gateway_async._secrets import mask_text
from gateway_async._wire.amounts import exact, to_cents
from gateway_async._wire.response_matching import AMOUNT_FIELDS, find_differences
from gateway_async.ledger.protocol import StoredIntent
from gateway_async.ledger.reconciliation.result import Discrepancy, DiscrepancyKind
from gateway_async.models.codes import ReasonCode, TransactionSource, TransactionStatus, TransactionType
from gateway_async.models.transactions import Transaction

_RESOURCES: Final = ("transactions", "router_transactions")
_WITHOUT_MONEY: Final = frozenset({"avsonly", "settle", "edit"})
"""Actions of transactions that move no money of a payment."""

_REFUNDING_ACTIONS: Final = ("refund", "credit")
_REFUND_TYPES: Final = (TransactionType.REFUND, TransactionType.CREDIT)
_DECLINED: Final = (TransactionStatus.DECLINED, TransactionStatus.REJECTED)
_OTHER_TYPES: Final = (TransactionType.AVS_ONLY, TransactionType.SETTLE)

_OTHER_CHANNELS: Final = frozenset(
    {
        TransactionSource.MERCHANT_APP,
        TransactionSource.MERCHANT_BROWSER,
        TransactionSource.PHONE_ROBOT,
        TransactionSource.STATEMENT,
        TransactionSource.CUSTOMER_APP,
        TransactionSource.CUSTOMER_BROWSER,
        TransactionSource.QUICK_INVOICE,
        TransactionSource.PAYMENT_FORM,
        TransactionSource.HOSTED_PAGE,
        TransactionSource.RECURRING,
        TransactionSource.DECLINED_RECURRING_LINK,
        TransactionSource.PAYLINK,
    }
)
"""Sources of payments that no client made. A payment of an unknown source is expected in the ledger."""

_AMOUNT_FIELDS: Final = (
    "transaction_amount",
    "auth_amount",
    "subtotal_amount",
    "tip_amount",
    "surcharge_amount",
    "auth_surcharge_fee",
)


@attrs.frozen(kw_only=True)
class GatewayPayment:
    """The facts of a transaction that moves money.

    Attributes:
        key: the gateway's id, masked as in a ledger.
        api_key: the integrator id, masked as in a ledger.
        location_key: the location, masked as in a ledger.
        is_masked: whether masking changed the integrator id, so another one may look the same.
        amounts: the amounts as texts with two decimals, by field.
    """

    id: str
    key: str
    api_key: str | None
    is_masked: bool
    location_id: str | None
    location_key: str | None
    status_id: int | None
    type_id: int | None
    is_partial: bool
    source: int | None
    amounts: dict[str, str]
    created_ts: datetime | None
    batch_id: str | None

    @property
    def amount(self) -> Decimal:
        """The amount that settles; for a partial approval, the approved amount."""
        name = "auth_amount" if self.is_partial else "transaction_amount"
        return Decimal(self.amounts.get(name, "0.00"))

    @property
    def is_declined(self) -> bool:
        """Whether no money moved: declined, or rejected by the bank (ACH)."""
        return self.status_id in _DECLINED

    @property
    def is_voided(self) -> bool:
        """Whether it was voided."""
        return self.status_id == TransactionStatus.VOIDED

    @property
    def is_refund(self) -> bool:
        """Whether the customer gets the money."""
        return self.type_id in _REFUND_TYPES

    @property
    def is_of_other_channel(self) -> bool:
        """Whether no client made the payment."""
        return self.source in _OTHER_CHANNELS


@attrs.frozen(kw_only=True)
class RecordedCall:
    """The facts of a call in a ledger that makes or changes a payment.

    Attributes:
        is_create: whether the call makes a payment; otherwise it changes one.
        action: such as `sale` or `void`.
        api_key: the integrator id of the payment, masked, if known.
        key: the gateway's id of the payment, masked, if known.
        location_key: the location, masked, if known.
        outcome: as in the ledger, or `open`.
        amounts: the sent amounts that decide which amounts the record may show.
    """

    is_create: bool
    action: str
    api_key: str | None
    key: str | None
    location_key: str | None
    outcome: str
    sent_at: datetime
    amounts: dict[str, str]

    @property
    def amount(self) -> Decimal | None:
        """The amount that was sent, with two decimals."""
        text = self.amounts.get("transaction_amount")
        return None if text is None else Decimal(text)

    @property
    def is_refund(self) -> bool:
        """Whether the customer gets the money."""
        return self.action in _REFUNDING_ACTIONS


def payment_of(record: Transaction) -> GatewayPayment | None:
    """The facts of a transaction; None if its kind moves no money."""
    if record.type_id in _OTHER_TYPES or record.status_id == TransactionStatus.AVS_ONLY:
        return None
    api_id, location_id = record.transaction_api_id or None, record.location_id
    api_key = None if api_id is None else mask_text(api_id)
    amounts = {name: getattr(record, name) for name in _AMOUNT_FIELDS}
    return GatewayPayment(
        id=record.id,
        key=mask_text(record.id),
        api_key=api_key,
        is_masked=api_key != api_id,
        location_id=location_id,
        location_key=None if location_id is None else mask_text(location_id),
        status_id=_plain(record.status_id),
        type_id=_plain(record.type_id),
        is_partial=record.reason_code_id == ReasonCode.PARTIALLY_APPROVED and record.auth_amount is not None,
        source=_plain(record.trx_source_id),
        amounts={name: str(to_cents(amount)) for name, amount in amounts.items() if amount is not None},
        created_ts=record.created_ts,
        batch_id=record.transaction_batch_id,
    )


def recorded_call(stored: StoredIntent) -> RecordedCall | None:
    """The facts of a call; None if it moves no money."""
    intent = stored.intent
    action = intent.sent.get("action", "")
    if intent.resource not in _RESOURCES or action in _WITHOUT_MONEY:
        return None
    is_create = intent.call.startswith("POST ")
    ref = None if is_create or intent.api_id else unquote(intent.call.rpartition("/")[2])
    return RecordedCall(
        is_create=is_create,
        action=action,
        api_key=intent.api_id,
        key=stored.record_id or ref,
        location_key=intent.location_id,
        outcome=stored.outcome or "open",
        sent_at=intent.sent_at,
        amounts=dict(_sent_amounts(intent.sent, intent.outcome_query)),
    )


def compare_payment(payment: GatewayPayment, calls: Sequence[RecordedCall]) -> tuple[str, ...]:
    """List the values that the calls do not explain, one line each.

    Any call that was executed, or may have been, can have set the amount. A void that the ledger does not have does not
    count, because it may come from another client. Neither does a lower capture or a tip.
    """
    executed = [call for call in calls if call.outcome in ("done", "open")]
    created = [_differences_from_create(payment, call) for call in executed if call.is_create]
    different = min(created, key=len, default=())
    most = max((call.amount for call in executed if call.amount is not None), default=Decimal(0))
    if different and any(_has_set_amount(payment, call, most) for call in executed if not call.is_create):
        different = tuple(each for each in different if each.split(maxsplit=1)[0] not in _AMOUNT_FIELDS)
    voided = any(call.action == "void" and call.outcome == "done" for call in calls)
    if voided and not (payment.is_voided or payment.is_declined):
        different = (*different, f"status_id is {payment.status_id} after a void")
    return different


def discrepancy(
    kind: DiscrepancyKind,
    payment: GatewayPayment | None = None,
    call: RecordedCall | None = None,
    details: Iterable[str] = (),
) -> Discrepancy:
    """Describe a disagreement about a payment."""
    call_facts: dict[str, Any] = {}
    payment_facts: dict[str, Any] = {}
    if call is not None:
        call_facts = {
            "api_id": call.api_key,
            "record_id": call.key,
            "location_id": call.location_key,
            "outcome": call.outcome,
            "ledger_amount": call.amount,
            "sent_at": call.sent_at,
        }
    if payment is not None:
        payment_facts = {
            "api_id": payment.api_key,
            "record_id": payment.id,
            "location_id": payment.location_id,
            "status_id": None if payment.status_id is None else TransactionStatus(payment.status_id),
            "gateway_amount": payment.amount if payment.amounts else None,
            "created_ts": payment.created_ts,
        }
    return Discrepancy(kind=kind, **(call_facts | payment_facts), details=tuple(details))


def _differences_from_create(payment: GatewayPayment, call: RecordedCall) -> tuple[str, ...]:
    return find_differences({"action": call.action, **call.amounts}, _raw(payment))


def _has_set_amount(payment: GatewayPayment, change: RecordedCall, most: Decimal) -> bool:
    """Whether a capture, an increment or a tip explains the amount; `most` is the highest amount that was sent.

    `auth_amount` is left out, because it is still the one of the authorization. A capture without an amount takes what
    was authorized, which may be a part.
    """
    if change.action == "authcomplete" and not change.amounts:
        captured = payment.amounts.get("transaction_amount")
        return captured is not None and captured == payment.amounts.get("auth_amount") and Decimal(captured) <= most
    raw = {name: value for name, value in _raw(payment).items() if name != "auth_amount"}
    return bool(change.amounts) and not find_differences(change.amounts, raw)


def _raw(payment: GatewayPayment) -> Mapping[str, Any]:
    return {**payment.amounts, "status_id": payment.status_id, "type_id": payment.type_id}


def _sent_amounts(sent: Mapping[str, str], outcome_query: Mapping[str, Any] | None) -> Iterator[tuple[str, str]]:
    """Yield the sent amounts with two decimals; those that the ledger does not list are in the outcome query."""
    expected = (outcome_query or {}).get("expected") or {}
    if sent.get("transaction_amount") is None:
        return
    for name in AMOUNT_FIELDS:
        text = sent.get(name, expected.get(name))
        try:
            if text is not None:
                yield name, str(to_cents(exact(str(text), "not an amount")))
        except ValueError:
            continue


def _plain(code: int | None) -> int | None:
    return None if code is None else int(code)
