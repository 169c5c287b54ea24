"""How a record shows that a change was made."""

from decimal import Decimal
from typing import Any

import pytest

from gateway_async._wire.convert.read import FieldError
from gateway_async._wire.evidence import (
    EXISTS,
    FIELDS_MATCH,
    FIELDS_MATCH_OR_CLOSED,
    IS_OFF_INVOICE,
    IS_ON_INVOICE,
    IS_REOPENED,
    IS_SETTLED,
    LAST_NAME_MATCHES,
    Evidence,
    compare_fields,
    evidence_of,
    shows,
)
from gateway_async.models.codes import TransactionAction

MOVES = (IS_ON_INVOICE, IS_OFF_INVOICE)
SETTLED: list[tuple[str, dict[str, Any], dict[str, Any], bool]] = [
    ("void", {}, {"status_id": 201}, True),
    ("void", {}, {"status_id": "201"}, True),
    ("void", {}, {"status_id": 101}, False),
    ("void", {}, {}, False),
    ("authcomplete", {}, {"status_id": 101}, True),
    ("authcomplete", {}, {"status_id": 134}, True),
    ("authcomplete", {}, {"status_id": 102}, False),
    ("authcomplete", {"transaction_amount": "9.00"}, {"status_id": 101, "transaction_amount": Decimal("9.0")}, True),
    ("authincrement", {"transaction_amount": "15.00"}, {"transaction_amount": 15}, True),
    ("authincrement", {"transaction_amount": "15.00"}, {"transaction_amount": "12.00"}, False),
    ("tipadjust", {"tip_amount": "2.00"}, {"tip_amount": "2.00"}, True),
    ("tipadjust", {"tip_amount": "2.00"}, {"tip_amount": "0.00"}, False),
    ("edit", {"description": "a", "clerk_number": None}, {"description": "a"}, True),
    ("edit", {"description": "a"}, {"description": "b"}, False),
    ("edit", {"billing_zip": "02115"}, {"billing_zip": "2115"}, False),
]


def done(evidence: Evidence, sent: dict[str, Any], record: dict[str, Any]) -> bool:
    """Whether `record` shows that what was sent has been done."""
    return shows(evidence.name, evidence.facts(sent), record)


@pytest.mark.parametrize(("action", "sent", "record", "expected"), SETTLED)
def test_the_mark_of_an_action(action: str, sent: dict[str, Any], record: dict[str, Any], expected: bool) -> None:
    """The record tells whether the action was carried out, with what was sent."""
    evidence = evidence_of(action)
    assert evidence is not None
    assert done(evidence, {"action": action, **sent}, record) is expected


@pytest.mark.parametrize("action", ["void", "authcomplete", "authincrement", "tipadjust"])
def test_the_mark_of_moved_money_compares_sums_only(action: str) -> None:
    """Nothing else of what was sent is needed, so that none of it need be kept."""
    evidence = evidence_of(action)
    assert evidence is not None
    sent = {"tip_amount": "1.00", "description": "a card", "notification_email_address": "a@example.test"}
    assert set(evidence.facts(sent)) <= {"tip_amount"}


def test_actions_without_a_mark() -> None:
    """Find no evidence for actions that leave none, and for unknown actions."""
    marked = {action for action in [*TransactionAction, "brand new", ""] if evidence_of(action)}
    assert marked == {"void", "authcomplete", "authincrement", "tipadjust", "edit"}


def test_a_record_says_what_was_sent() -> None:
    """Compare every sent value, in any notation, except the action."""
    assert done(FIELDS_MATCH, {"action": "edit", "flag": 1, "tax": "1.00"}, {"flag": "1", "tax": 1})
    assert not done(FIELDS_MATCH, {"flag": 1, "tax": "1.00"}, {"flag": True})
    assert done(FIELDS_MATCH, {"update_if_exists": 1}, {})


def test_a_record_that_is_there_was_made() -> None:
    """A create wants no more than its record's existence."""
    assert done(EXISTS, {"tax": "1.00"}, {})


@pytest.mark.parametrize(
    ("record", "agreed"),
    [
        ({"title": "Lunch", "item_list": {"Tea": "2.50"}}, True),
        ({"title": "Lunch"}, True),
        ({"title": None, "item_list": None}, True),
        ({"title": "Dinner"}, False),
        ({"item_list": {"Tea": "2.51"}}, False),
        ({"item_list": {"Tea": 2.5, "Cake": 1}}, False),
    ],
)
def test_a_record_that_does_not_contradict(record: dict[str, Any], agreed: bool) -> None:
    """Silence agrees; another value is another record's, that had the same name before."""
    sent = {"title": "Lunch", "item_list": {"Tea": Decimal("2.5")}}
    assert done(compare_fields("title", "item_list", "note"), sent, record) is agreed


def test_a_contact_has_the_last_name() -> None:
    """One of another name had the integrator id before."""
    assert done(LAST_NAME_MATCHES, {"last_name": "Smith", "city": "X"}, {"last_name": "Smith", "city": "Y"})
    assert not done(LAST_NAME_MATCHES, {"last_name": "Smith"}, {"last_name": "Jones"})


def test_a_payment_says_whose_it_is() -> None:
    """On an invoice or off it; a record that says nothing of invoices cannot tell."""
    sent = {"quick_invoice_id": "i"}
    on, off = ([done(evidence, sent, {"quick_invoice_id": whose}) for whose in ("i", "j", None)] for evidence in MOVES)
    assert (on, off) == ([True, False, False], [False, True, True])
    for evidence in MOVES:
        with pytest.raises(FieldError):
            done(evidence, sent, {})


@pytest.mark.parametrize("record", [{}, {"status_id": None}, {"status_id": 101, "transaction_amount": "12.00"}])
def test_a_capture_that_cannot_be_told(record: dict[str, Any]) -> None:
    """A record without a status, or captured for another sum, says neither that it was done nor that it was not."""
    evidence = evidence_of("authcomplete")
    assert evidence is not None
    with pytest.raises(FieldError):
        done(evidence, {"transaction_amount": "9.00"}, record)


def test_a_sum_beyond_the_one_that_was_sent_says_nothing() -> None:
    """Another raised it, after this increment or instead; to ask again for less could undo that."""
    evidence = evidence_of("authincrement")
    assert evidence is not None
    with pytest.raises(FieldError, match="raised to more than"):
        done(evidence, {"transaction_amount": "9.00"}, {"transaction_amount": "12.00"})


def test_unknown_evidence() -> None:
    """A ledger of a later version may name one."""
    with pytest.raises(KeyError):
        shows("is on the moon", {}, {})


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
def test_a_closed_invoice_has_two_codes(sent: dict[str, Any], invoice: dict[str, Any], expected: bool) -> None:
    """Closing is done when the invoice is closed, whichever of the two it says."""
    assert done(FIELDS_MATCH_OR_CLOSED, sent, invoice) is expected


def test_the_marks_of_reopening_and_settling() -> None:
    """An open invoice was reopened, and a batch that is not open was settled; silence proves nothing."""
    opened = [done(IS_REOPENED, {}, {"status_id": status}) for status in (1, "1", 0, 2, None)]
    settled = [done(IS_SETTLED, {}, {"is_open": flag}) for flag in (0, "0", False, 1, None)]
    assert (opened, settled) == ([True, True, False, False, False], [True, True, True, False, False])
