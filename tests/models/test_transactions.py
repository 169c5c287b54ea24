"""Transactions: what their status says, and what a decline is."""

from typing import Any

import pytest

from gateway_async._secrets import AccountNumber, Secret
from gateway_async.errors import DeclinedError
from gateway_async.models.codes import ReasonCode, TransactionStatus
from gateway_async.models.transactions import (
    RouterTransactionCreate,
    Transaction,
    TransactionCreate,
    TransactionUpdate,
)

#            status  approved declined voided
STATES = [
    (101, True, False, False),
    (102, True, False, False),
    (111, True, False, False),
    (121, True, False, False),
    (131, True, False, False),
    (132, True, False, False),
    (133, True, False, False),
    (134, True, False, False),
    (135, False, False, False),
    (136, False, True, False),
    (191, False, False, False),
    (201, False, False, True),
    (301, False, True, False),
    (331, False, False, False),
    (999, False, False, False),
    (None, False, False, False),
]


def transaction(status: int | None, **fields: Any) -> Transaction:
    """A transaction with a status."""
    return Transaction(id="t1", status_id=None if status is None else TransactionStatus(status), **fields)


@pytest.mark.parametrize(("status", "approved", "declined", "voided"), STATES)
def test_what_a_status_says(status: int | None, approved: bool, declined: bool, voided: bool) -> None:
    """Derive approved, declined and voided from the status alone."""
    record = transaction(status)
    assert (record.approved, record.declined, record.voided) == (approved, declined, voided)


def test_every_known_status_is_judged() -> None:
    """No status is left out of the table above."""
    assert {status for status, *_ in STATES if status not in (None, 999)} == set(TransactionStatus)


@pytest.mark.parametrize(
    ("status", "reason", "partially"),
    [(101, 1201, True), (102, 1201, True), (101, 1000, False), (301, 1201, False), (101, None, False)],
)
def test_a_partial_approval_is_an_approval_with_its_reason(status: int, reason: int | None, partially: bool) -> None:
    """Reason 1201 with an approved status means that less was approved than asked for."""
    record = transaction(status, reason_code_id=None if reason is None else ReasonCode(reason))
    assert record.partially_approved is partially


def test_a_decline_is_raised_on_request() -> None:
    """`raise_for_decline()` raises with the transaction, the reason code and the gateway's words."""
    record = transaction(301, reason_code_id=ReasonCode.INSUFFICIENT_FUNDS, verbiage="DECLINE", response_message="NSF")
    with pytest.raises(DeclinedError, match="NSF") as raised:
        record.raise_for_decline()
    assert (raised.value.transaction, raised.value.reason_code_id, raised.value.message) == (record, 1616, "NSF")


def test_a_decline_without_a_message_quotes_the_verbiage() -> None:
    """Old records have only `verbiage`."""
    with pytest.raises(DeclinedError, match="DECLINE"):
        transaction(301, verbiage="DECLINE").raise_for_decline()


@pytest.mark.parametrize("status", [101, 201, 331, 999, None])
def test_what_is_no_decline_passes(status: int | None) -> None:
    """`raise_for_decline()` returns the transaction, so that it can be chained."""
    record = transaction(status)
    assert record.raise_for_decline() is record


def test_account_data_is_masked_from_the_start() -> None:
    """Numbers, CVV, track data and tickets become secrets as soon as the request is made."""
    request = TransactionCreate(
        action="sale", account_number="4111111111111111", cvv="999", routing="072000326", track_data="t", ticket="k"
    )
    assert (request.account_number, request.routing) == (AccountNumber("4111111111111111"), AccountNumber("072000326"))
    assert (request.cvv, request.track_data, request.ticket) == (Secret("999"), Secret("t"), Secret("k"))


def test_a_card_is_assumed() -> None:
    """`payment_method` is `cc` unless said otherwise, with and without a terminal."""
    sale = TransactionCreate(action="sale")
    at_terminal = RouterTransactionCreate(action="sale", terminal_id="term", transaction_amount="1.00")
    assert (sale.payment_method, at_terminal.payment_method) == ("cc", "cc")


@pytest.mark.parametrize(
    ("kind", "needed"),
    [
        (TransactionCreate, ["action"]),
        (TransactionUpdate, ["action"]),
        (RouterTransactionCreate, ["action", "terminal_id", "transaction_amount"]),
    ],
)
def test_what_a_transaction_needs(kind: Any, needed: list[str]) -> None:
    """A missing required field is a type error."""
    assert kind(**dict.fromkeys(needed, "1.00"))
    for missing in needed:
        with pytest.raises(TypeError, match=missing):
            kind(**{name: "1.00" for name in needed if name != missing})
