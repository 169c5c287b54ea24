"""How a record shows that a change was made."""

from decimal import Decimal
from typing import Any

import pytest

from gateway_async._wire.recovery import (
    agrees,
    done_when,
    exists,
    is_reopened,
    is_settled,
    says,
    says_or_is_closed,
)
from gateway_async.models.codes import TransactionAction

SETTLED: list[tuple[str, dict[str, Any], dict[str, Any], bool]] = [
    ("void", {}, {"status_id": 201}, True),
    ("void", {}, {"status_id": "201"}, True),
    ("void", {}, {"status_id": 101}, False),
    ("void", {}, {}, False),
    ("authcomplete", {}, {"status_id": 101}, True),
    ("authcomplete", {}, {"status_id": 134}, True),
    ("authcomplete", {}, {"status_id": 102}, False),
    ("authcomplete", {"transaction_amount": "9.00"}, {"status_id": 101, "transaction_amount": Decimal("9.0")}, True),
    ("authcomplete", {"transaction_amount": "9.00"}, {"status_id": 101, "transaction_amount": "12.00"}, False),
    ("authincrement", {"transaction_amount": "15.00"}, {"transaction_amount": 15}, True),
    ("authincrement", {"transaction_amount": "15.00"}, {"transaction_amount": "12.00"}, False),
    ("tipadjust", {"tip_amount": "2.00"}, {"tip_amount": "2.00"}, True),
    ("tipadjust", {"tip_amount": "2.00"}, {"tip_amount": "0.00"}, False),
    ("edit", {"description": "a", "clerk_number": None}, {"description": "a"}, True),
    ("edit", {"description": "a"}, {"description": "b"}, False),
    ("edit", {"billing_zip": "02115"}, {"billing_zip": "2115"}, False),
]


@pytest.mark.parametrize(("action", "sent", "record", "done"), SETTLED)
def test_the_mark_of_an_action(action: str, sent: dict[str, Any], record: dict[str, Any], done: bool) -> None:
    """The record tells whether the action was carried out, with what was sent."""
    mark = done_when(action)
    assert mark is not None
    assert mark({"action": action, **sent}, record) is done


def test_actions_without_a_mark() -> None:
    """What leaves no mark of its own, and what nobody knows, cannot be settled by reading."""
    marked = {action for action in [*TransactionAction, "brand new", ""] if done_when(action)}
    assert marked == {"void", "authcomplete", "authincrement", "tipadjust", "edit"}


def test_a_record_says_what_was_sent() -> None:
    """Every value must be there, in any spelling; the action itself is no value of the record."""
    assert says({"action": "edit", "flag": 1, "tax": "1.00"}, {"flag": "1", "tax": 1})
    assert not says({"flag": 1, "tax": "1.00"}, {"flag": True})
    assert says({"update_if_exists": 1}, {})


def test_a_record_that_is_there_was_made() -> None:
    """A create wants no more than its record's existence."""
    assert exists({"tax": "1.00"}, {})


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
    assert agrees("title", "item_list", "note")(sent, record) is agreed


@pytest.mark.parametrize(
    ("sent", "invoice", "done"),
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
def test_a_closed_invoice_has_two_codes(sent: dict[str, Any], invoice: dict[str, Any], done: bool) -> None:
    """Closing is done when the invoice is closed, whichever of the two it says."""
    assert says_or_is_closed(sent, invoice) is done


def test_the_marks_of_reopening_and_settling() -> None:
    """An open invoice was reopened, and a batch that is not open was settled; silence proves nothing."""
    assert [is_reopened({}, {"status_id": status}) for status in (1, "1", 0, 2, None)] == [
        True,
        True,
        False,
        False,
        False,
    ]
    assert [is_settled({}, {"is_open": flag}) for flag in (0, "0", False, 1, None)] == [True, True, True, False, False]
