"""How a record shows that a change was made."""

from decimal import Decimal
from typing import Any

import pytest

from gateway_async._secrets import Secret
from gateway_async._wire.convert import FieldError
from gateway_async._wire.evidence import (
    EXISTS,
    FIELDS_MATCH,
    FIELDS_MATCH_OR_CLOSED,
    HAS_STATUS,
    IS_OFF_INVOICE,
    IS_ON_INVOICE,
    IS_REOPENED,
    IS_REVERSED,
    IS_SETTLED,
    NAMES_PAYMENT,
    Evidence,
    UnprovenError,
    describe_missing,
    evidence_of,
    is_executed,
)
from gateway_async.models.codes import ReasonCode, TransactionAction

MOVES = (IS_ON_INVOICE, IS_OFF_INVOICE)
NINE, TWENTY = {"transaction_amount": "9.00"}, {"transaction_amount": "20.00"}
TIPPED = {"transaction_amount": "14.50", "tip_amount": "2.00"}
DECLINED = {"transaction_amount": "12.00", "reason_code_id": int(ReasonCode.AUTH_INCREMENT_DECLINED)}
SETTLED: list[tuple[str, dict[str, Any], dict[str, Any], bool]] = [
    ("void", {}, {"status_id": 201}, True),
    ("void", {}, {"status_id": "201"}, True),
    ("void", {}, {"status_id": 101}, False),
    ("void", {}, {"status_id": 301}, True),
    ("authcomplete", {}, {"status_id": 101}, True),
    ("authcomplete", {}, {"status_id": 134}, True),
    ("authcomplete", {}, {"status_id": 102}, False),
    ("authcomplete", {}, {"status_id": 301}, True),
    ("authcomplete", NINE, {"status_id": 101, "transaction_amount": 9, "auth_amount": 5}, True),
    ("authcomplete", NINE, {"status_id": 101, "transaction_amount": 9, "auth_amount": 12}, True),
    ("authcomplete", NINE, {"status_id": 101, "transaction_amount": Decimal("9.0")}, True),
    ("authincrement", {"transaction_amount": "15.00"}, {"transaction_amount": 15}, True),
    ("authincrement", {"transaction_amount": "15.00"}, {"transaction_amount": "12.00"}, False),
    ("tipadjust", {"tip_amount": "2.00"}, {"tip_amount": "2.00"}, True),
    ("tipadjust", {"tip_amount": "2.00"}, {"tip_amount": "0.00"}, False),
    ("authincrement", {"transaction_amount": "15.00"}, {"status_id": 301}, True),
    ("authincrement", {"transaction_amount": "15.00"}, DECLINED, True),
    ("tipadjust", {"tip_amount": "2.00"}, {"tip_amount": None}, False),
    (
        "authincrement",
        TWENTY,
        {"transaction_amount": "20.60", "surcharge_amount": "0.60", "auth_surcharge_fee": None},
        True,
    ),
    ("authincrement", TWENTY, {"transaction_amount": 20.6, "auth_surcharge_fee": 0.6}, True),
    (
        "authincrement",
        TWENTY | {"tax": "2.00"},
        {"transaction_amount": "20.60", "surcharge_amount": "0.60", "tax": "1.00"},
        False,
    ),
    ("tipadjust", TIPPED, {"transaction_amount": "14.88", "tip_amount": "2.00", "surcharge_amount": "0.38"}, True),
    ("tipadjust", TIPPED, {"transaction_amount": "14.88", "tip_amount": "0.00", "surcharge_amount": "0.38"}, False),
    ("tipadjust", TIPPED, {"transaction_amount": "14.87", "tip_amount": "2.00", "surcharge_amount": "0.38"}, False),
    ("edit", {"description": "a", "clerk_number": None}, {"description": "a", "clerk_number": None}, True),
    ("edit", {"description": "a"}, {"description": "b"}, False),
    ("edit", {"billing_zip": "02115"}, {"billing_zip": "2115"}, False),
]


def done(evidence: Evidence, sent: dict[str, Any], record: dict[str, Any]) -> bool:
    """Whether `record` shows that what was sent has been done."""
    return is_executed(evidence.name, evidence.facts(sent), record)


@pytest.mark.parametrize(("action", "sent", "record", "expected"), SETTLED)
def test_action_mark(action: str, sent: dict[str, Any], record: dict[str, Any], expected: bool) -> None:
    """The record tells whether the action was carried out, with what was sent."""
    evidence = evidence_of(action)
    assert evidence is not None
    assert done(evidence, {"action": action, **sent}, record) is expected


@pytest.mark.parametrize("action", ["void", "authcomplete", "authincrement", "tipadjust"])
def test_money_mark(action: str) -> None:
    """The evidence of these actions compares amounts only, so nothing else of the request is stored."""
    evidence = evidence_of(action)
    assert evidence is not None
    sent = {"tip_amount": "1.00", "description": "a card", "notification_email_address": "a@example.test"}
    assert set(evidence.facts(sent)) <= {"tip_amount"}


def test_actions_without_evidence_have_no_mark() -> None:
    marked = {action for action in [*TransactionAction, "brand new", ""] if evidence_of(action)}
    assert marked == {"void", "authcomplete", "authincrement", "tipadjust", "edit"}


def test_sent_values() -> None:
    """Compare every sent value, in any notation, except the action; for `exists`, the record is enough."""
    assert done(EXISTS, {"tax": "1.00"}, {})
    assert done(FIELDS_MATCH, {"action": "edit", "flag": 1, "tax": "1.00"}, {"flag": "1", "tax": 1})
    assert not done(FIELDS_MATCH, {"flag": 1, "tax": "1.00"}, {"flag": True, "tax": None})
    assert done(FIELDS_MATCH, {}, {})
    with pytest.raises(FieldError, match="nothing that was sent"):
        done(FIELDS_MATCH, {"action": "edit", "move_account_vault": 1}, {})


def test_missing_evidence() -> None:
    """Name the fields that decide, or those that were sent without the secret ones."""
    record = {"status_id": 101, "title": "Dinner", "account_number": "4111111111111111", "note": "x"}
    shown = describe_missing(FIELDS_MATCH.name, {"title": "Lunch", "account_number": Secret("1"), "tax": "1"}, record)
    assert shown == "the record shows no effect of the call: title is 'Dinner'"
    assert describe_missing("is_voided", {"title": "Lunch"}, record).endswith("call: status_id is 101")


def test_unchanged_record() -> None:
    """A contradiction counts first; a hidden value proves nothing."""
    sent = {"title": "Lunch", "note": "x"}
    with pytest.raises(UnprovenError, match="note: not shown"):
        done(FIELDS_MATCH, sent, {"title": "Lunch"})
    assert not done(FIELDS_MATCH, sent, {"title": "Dinner"})


def test_refund_mark() -> None:
    """The refunded payment is compared with the request; a record that names none may be an older refund."""
    assert done(NAMES_PAYMENT, {}, {"previous_transaction_id": "p"})
    with pytest.raises(UnprovenError):
        done(NAMES_PAYMENT, {}, {})


def test_partial_reversal() -> None:
    """Gateways take the amount that remains, or the amount to return."""
    sent = {"transaction_amount": "5.00", "amount_before": "12.50"}
    shown = [done(IS_REVERSED, sent, {"transaction_amount": amount}) for amount in ("5.00", 7.5, "12.50")]
    assert shown == [True, True, False]
    for amount in ("11.00", None):
        with pytest.raises(FieldError):
            done(IS_REVERSED, sent, {"transaction_amount": amount})


def test_invoice_mark() -> None:
    """A payment says whether it is on an invoice; a record without that field cannot tell."""
    sent = {"quick_invoice_id": "i"}
    on, off = ([done(evidence, sent, {"quick_invoice_id": whose}) for whose in ("i", "j", None)] for evidence in MOVES)
    assert (on, off) == ([True, False, False], [False, True, True])
    for evidence in MOVES:
        with pytest.raises(FieldError):
            done(evidence, sent, {})


UNCLEAR: list[tuple[str, dict[str, Any], str]] = [
    ("authcomplete", {"status_id": None}, "status_id: missing"),
    ("authcomplete", {"status_id": 101, "transaction_amount": "12.00"}, "captured for other amounts"),
    ("authincrement", {"transaction_amount": "12.00"}, "raised to more than"),
    ("tipadjust", {"transaction_amount": "9.38", "surcharge_amount": "0.38"}, "higher by a surcharge"),
]
"""A capture of another sum, an increment by another client, and a surcharge that may have been there before."""


@pytest.mark.parametrize(("action", "record", "reason"), UNCLEAR)
def test_unclear_change(action: str, record: dict[str, Any], reason: str) -> None:
    """The record says neither that it was done nor that it was not: a repetition could undo another client's change."""
    evidence = evidence_of(action)
    assert evidence is not None
    with pytest.raises(FieldError, match=reason):
        done(evidence, {"transaction_amount": "9.00"}, record)


def test_unknown_evidence() -> None:
    """A ledger of a later version may name one."""
    with pytest.raises(KeyError):
        is_executed("is on the moon", {}, {})


@pytest.mark.parametrize(
    ("sent", "invoice", "expected"),
    [
        ({"status_id": 0}, {"status_id": 0}, True),
        ({"status_id": 0}, {"status_id": 2}, True),
        ({"status_id": 2}, {"status_id": "0"}, True),
        ({"status_id": 0}, {"status_id": 1}, False),
        ({"status_id": 1}, {"status_id": 0}, False),
        ({"status_id": 0, "note": "x"}, {"status_id": 2, "note": "y"}, False),
        ({"note": "x"}, {"status_id": 2, "note": "x"}, True),
    ],
)
def test_closed_invoice(sent: dict[str, Any], invoice: dict[str, Any], expected: bool) -> None:
    """Closing is done when the invoice is closed, whichever of the two it says."""
    assert done(FIELDS_MATCH_OR_CLOSED, sent, invoice) is expected


def test_reopening_and_settling() -> None:
    """An open invoice was reopened, and a batch that is not open was settled; silence proves nothing."""
    opened = [done(IS_REOPENED, {}, {"status_id": status}) for status in (1, "1", 0, 2)]
    settled = [done(IS_SETTLED, {}, {"is_open": flag}) for flag in (0, "0", False, 1)]
    assert (opened, settled) == ([True, True, False, False], [True, True, True, False])
    failed = [done(IS_SETTLED, {}, {"is_open": 1, "processing_status_id": status}) for status in (1, "1", 3, 5, None)]
    assert failed == [False, False, True, True, False]
    void = evidence_of("void")
    assert void is not None
    for evidence in (IS_REOPENED, IS_SETTLED, HAS_STATUS, void):
        with pytest.raises(FieldError, match="missing"):
            done(evidence, {}, {})
