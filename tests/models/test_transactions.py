"""Transactions: what their status means, and their payment method."""

from typing import Any

import pytest

from gateway_async.errors import DeclinedError
from gateway_async.models.codes import ReasonCode, TransactionStatus
from gateway_async.models.transactions import Transaction

APPROVED = {101, 102, 111, 121, 131, 132, 133, 134}
DECLINED = {136, 301}
VOIDED = {201}
NEITHER = {135, 191, 331}


def transaction(status: int | None, **fields: Any) -> Transaction:
    return Transaction(id="t1", status_id=None if status is None else TransactionStatus(status), **fields)


@pytest.mark.parametrize("status", [*sorted(APPROVED | DECLINED | VOIDED | NEITHER), 999, None])
def test_status(status: int | None) -> None:
    """Derive approved, declined and voided from the status alone."""
    record = transaction(status)
    expected = (status in APPROVED, status in DECLINED, status in VOIDED)
    assert (record.approved, record.declined, record.voided) == expected


def test_every_known_status_is_judged() -> None:
    assert sorted([*APPROVED, *DECLINED, *VOIDED, *NEITHER]) == sorted(TransactionStatus)


@pytest.mark.parametrize(
    ("status", "reason", "partially"),
    [(101, 1201, True), (102, 1201, True), (101, 1000, False), (301, 1201, False), (101, None, False)],
)
def test_partial_approval(status: int, reason: int | None, partially: bool) -> None:
    """Reason 1201 with an approved status means that less was approved than asked for."""
    record = transaction(status, reason_code_id=None if reason is None else ReasonCode(reason))
    assert record.partially_approved is partially


def test_decline() -> None:
    """`raise_for_decline()` raises with the transaction, the reason code and the gateway's words."""
    record = transaction(301, reason_code_id=ReasonCode.INSUFFICIENT_FUNDS, verbiage="DECLINE", response_message="NSF")
    with pytest.raises(DeclinedError, match="NSF") as raised:
        record.raise_for_decline()
    assert (raised.value.transaction, raised.value.reason_code_id, raised.value.message) == (record, 1616, "NSF")


def test_decline_text() -> None:
    """Old records have only `verbiage`."""
    with pytest.raises(DeclinedError, match="DECLINE"):
        transaction(301, verbiage="DECLINE").raise_for_decline()


@pytest.mark.parametrize("status", [101, 201, 331, 999, None])
def test_raise_for_decline_returns_the_transaction_if_it_is_none(status: int | None) -> None:
    record = transaction(status)
    assert record.raise_for_decline() is record
