"""Answers belong to questions: what is a difference, and what is none."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway_async._wire.belonging import check_belongs, same_value
from gateway_async.errors import MismatchedReplyError


def differences(expected: dict[str, Any], record: dict[str, Any]) -> tuple[str, ...]:
    """What keeps `record` from being the answer; empty when nothing does."""
    try:
        check_belongs(expected, record)
    except MismatchedReplyError as error:
        return error.differences
    return ()


@pytest.mark.parametrize("name", ["id", "transaction_api_id", "location_id", "last_four", "transaction_amount"])
@pytest.mark.parametrize("silence", [(), (None,), ("",)])
def test_silence_is_no_difference(name: str, silence: tuple[Any, ...]) -> None:
    """A record that leaves a value out, or has it empty, proves nothing."""
    assert differences({name: "1.00"}, dict(zip([name], silence, strict=False))) == ()


@pytest.mark.parametrize("name", ["id", "transaction_api_id", "location_id", "last_four"])
def test_another_value_is_a_difference(name: str) -> None:
    """Id, integrator id, location and last four digits are those that were asked for."""
    assert differences({name: "1111"}, {name: "1111"}) == ()
    assert differences({name: "1111"}, {name: 1111}) == ()
    assert differences({name: "1111"}, {name: "2222"}) == (f"{name} is '2222', not '1111'",)


@pytest.mark.parametrize(("asked", "got"), [("007", "7"), ("007", 7), ("1.0", "1.00"), ("1e3", "1000"), ("0011", "11")])
def test_ids_are_texts_not_numbers(asked: str, got: Any) -> None:
    """Two ids that would be one number are two records."""
    assert differences({"transaction_api_id": asked}, {"transaction_api_id": got}) == (
        f"transaction_api_id is {got!r}, not {asked!r}",
    )


def test_every_difference_is_told() -> None:
    """All that differs stands in the error."""
    assert differences({"id": "a", "location_id": "x"}, {"id": "b", "location_id": "y"}) == (
        "id is 'b', not 'a'",
        "location_id is 'y', not 'x'",
    )


def test_a_difference_does_not_show_a_card_number() -> None:
    """Whatever stands in another's record is masked."""
    assert differences({"id": "a"}, {"id": "4111111111111111"}) == ("id is '************1111', not 'a'",)


AMOUNTS = [
    ("as asked", {"transaction_amount": "12.50"}, True),
    ("as a number", {"transaction_amount": Decimal("12.5")}, True),
    ("with a tip", {"transaction_amount": "15.00", "tip_amount": "2.50"}, True),
    ("with the tip asked for", {"transaction_amount": "12.50", "tip_amount": "2.50"}, True),
    ("with a surcharge", {"transaction_amount": "12.88", "subtotal_amount": "12.50"}, True),
    ("voided since", {"transaction_amount": "0.00", "status_id": 201}, True),
    ("voided since, as text", {"transaction_amount": "0.00", "status_id": "201"}, True),
    ("approved in part", {"transaction_amount": "12.50", "auth_amount": "5.00"}, True),
    ("amount taken back, authorization kept", {"transaction_amount": "0.00", "auth_amount": "12.50"}, True),
    ("of another sale", {"transaction_amount": "12.51"}, False),
    ("of another sale, ten times", {"transaction_amount": "125.00"}, False),
    ("of another sale with a tip", {"transaction_amount": "15.00", "tip_amount": "2.00"}, False),
    ("declined", {"transaction_amount": "0.00", "status_id": 301}, True),
    ("with a surcharge of its own", {"transaction_amount": "12.88", "surcharge_amount": "0.38"}, True),
    ("with the fee of a surcharge", {"transaction_amount": "12.88", "auth_surcharge_fee": 0.38}, True),
    ("of another sale with a surcharge", {"transaction_amount": "13.00", "surcharge_amount": "0.38"}, False),
    ("no amount at all", {"transaction_amount": "NaN"}, False),
    ("not even a text", {"transaction_amount": {"value": "12.50"}}, False),
]


@pytest.mark.parametrize(("record", "agrees"), [row[1:] for row in AMOUNTS], ids=[row[0] for row in AMOUNTS])
def test_amounts(record: dict[str, Any], agrees: bool) -> None:
    """A tip or surcharge may have been added, and a void or a decline sets 0; any other amount is another sale's."""
    assert (differences({"transaction_amount": "12.50"}, record) == ()) is agrees


SAME = [
    (1, 1), (1, "1"), (1, True), (0, "0"), (0, False), (None, None),
    ("12.50", "12.50"), ("12.50", "12.5"), ("12.50", 12.5), ("12.50", Decimal("12.5")), ("21.00", 21),
    ("a", "a"), ("", ""), ({"a": 1}, {"a": 1}), ("101", 101), (5, Decimal("5.0")),
    ({"a": Decimal(1), "b": "2.50"}, {"b": Decimal("2.5"), "a": "1"}), ({}, {}),
]  # fmt: skip
DIFFERENT = [
    (1, 0), (1, "0"), (1, False), (0, True), (None, "x"), ("x", None), ("12.50", "12.51"), ("12.50", None),
    ("007", "7"), ("02115", "2115"), ("1e3", "1000"), ("a", "A"), ({"a": 1}, {"a": 2}), ("12.50", [12.5]),
    ({"a": Decimal(1)}, {"a": Decimal(1), "b": Decimal(1)}), ({"a": Decimal(1)}, {"b": Decimal(1)}), ({"a": 1}, []),
]  # fmt: skip


@pytest.mark.parametrize(("sent", "got"), SAME)
def test_the_same_value_in_another_spelling(sent: Any, got: Any) -> None:
    """Flags, numbers and money are the same in any of the gateway's spellings."""
    assert same_value(sent, got)


@pytest.mark.parametrize(("sent", "got"), DIFFERENT)
def test_another_value(sent: Any, got: Any) -> None:
    """Texts are equal only as they are: a zip code with its zero is another one without."""
    assert not same_value(sent, got)


@given(st.text(), st.text())
def test_texts_that_differ_are_different(sent: str, got: str) -> None:
    """No two different texts are the same, unless they are amounts."""
    assert same_value(sent, got) == (sent == got) or "." in sent
