"""Whether a response belongs to its request: what counts as a difference."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway_async._wire.response_matching import check_belongs, check_changed, check_refusal, same_value
from gateway_async.errors import MismatchedReplyError


def differences(expected: dict[str, Any], record: dict[str, Any]) -> tuple[str, ...]:
    """Return the differences of `record`; empty if it matches."""
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


@pytest.mark.parametrize(
    ("action", "type_id", "agrees"),
    [
        ("refund", 30, True),
        ("refund", "20", False),
        ("credit", 50, False),
        ("sale", "20", True),
        ("sale", 30, False),
        ("debit", 40, False),
        ("authonly", 99, True),
        ("sale", None, True),
        ("brand new", 30, True),
    ],
)
def test_money_that_went_the_other_way_is_anothers(action: str, type_id: Any, agrees: bool) -> None:
    """Tell sales from refunds; ignore unknown types."""
    assert (differences({"action": action}, {"type_id": type_id, "action": "x"}) == ()) is agrees


def test_every_difference_is_told() -> None:
    """List every difference in the error."""
    assert differences({"id": "a", "location_id": "x"}, {"id": "b", "location_id": "y"}) == (
        "id is 'b', not 'a'",
        "location_id is 'y', not 'x'",
    )


def test_a_difference_does_not_show_a_card_number() -> None:
    """Mask the values of another record."""
    assert differences({"id": "a"}, {"id": "4111111111111111"}) == ("id is '************1111', not 'a'",)


AMOUNTS = [
    ("as asked", {"transaction_amount": "12.50"}, True),
    ("as a number", {"transaction_amount": Decimal("12.5")}, True),
    ("with a tip", {"transaction_amount": "15.00", "tip_amount": "2.50"}, True),
    ("with the tip asked for", {"transaction_amount": "12.50", "tip_amount": "2.50"}, True),
    ("with a surcharge", {"transaction_amount": "12.88", "subtotal_amount": "12.50", "surcharge_amount": 0.38}, True),
    ("more than asked, with its subtotal", {"transaction_amount": "125.00", "subtotal_amount": "12.50"}, False),
    ("more than asked, authorized as asked", {"transaction_amount": "125.00", "auth_amount": "12.50"}, False),
    ("authorized for more than asked", {"transaction_amount": "12.50", "auth_amount": "125.00"}, False),
    ("authorized for more, and nothing else", {"auth_amount": "125.00"}, False),
    ("authorized with a tip", {"transaction_amount": "15.00", "auth_amount": "15.00", "tip_amount": "2.50"}, True),
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
    ("computed with floats", {"transaction_amount": 12.499999999999998, "auth_amount": 12.500000000000002}, True),
    ("computed with floats, with a tip", {"transaction_amount": "14.489999999999998", "tip_amount": 1.99}, True),
    ("of another sale, computed with floats", {"transaction_amount": "12.510000000000002"}, False),
    ("half a cent more", {"transaction_amount": "12.505"}, True),
    ("more than half a cent more", {"transaction_amount": "12.5051"}, False),
    ("absurdly large", {"transaction_amount": "1e999999"}, False),
    ("no amount at all", {"transaction_amount": "NaN"}, False),
    ("not even a text", {"transaction_amount": {"value": "12.50"}}, False),
]


@pytest.mark.parametrize(("record", "agrees"), [row[1:] for row in AMOUNTS], ids=[row[0] for row in AMOUNTS])
def test_amounts(record: dict[str, Any], agrees: bool) -> None:
    """A tip or surcharge may have been added, and a void or a decline sets 0; any other amount is another sale's."""
    assert (differences({"transaction_amount": "12.50"}, record) == ()) is agrees


LOWER = [
    ("without the surcharge", {"surcharge_amount": "2.00"}, "100.00", True),
    ("without the tax", {"tax": "5.00"}, "97.00", True),
    ("without both", {"surcharge_amount": "2.00", "tax": "5.00"}, "95.00", True),
    ("without one of two", {"surcharge_amount": "2.00", "tax": "5.00"}, "97.00", True),
    ("without more than the surcharge", {"surcharge_amount": "2.00"}, "99.00", False),
    ("without a surcharge that was not sent", {}, "100.00", False),
    ("with the surcharge twice", {"surcharge_amount": "2.00"}, "104.00", False),
]


@pytest.mark.parametrize(("sent", "amount", "agrees"), [row[1:] for row in LOWER], ids=[row[0] for row in LOWER])
def test_the_gateway_may_drop_the_surcharge_or_the_tax(sent: dict[str, Any], amount: str, agrees: bool) -> None:
    """A debit card pays no surcharge: the amount may be lower by just that, and by nothing else."""
    expected = {"transaction_amount": "102.00", **sent}
    record = {"transaction_amount": amount, "auth_amount": amount, "status_id": 101}
    assert (differences(expected, record) == ()) is agrees


def test_a_capture_for_less_keeps_the_amount_that_was_authorized() -> None:
    """After `authcomplete` the record shows both; the authorized amount is not more than was asked."""
    sent = {"transaction_amount": "5.00"}
    assert not is_older("authcomplete", sent, {"status_id": 101, "transaction_amount": "5.00", "auth_amount": "10.00"})
    assert is_older("authcomplete", sent, {"status_id": 101, "transaction_amount": "10.00", "auth_amount": "5.00"})


SAME = [
    (1, 1), (1, "1"), (1, True), (0, "0"), (0, False), (None, None), (None, ""), ("", None),
    ("12.50", "12.50"), ("12.50", "12.5"), ("12.50", 12.5), ("12.50", Decimal("12.5")), ("21.00", 21),
    ("19.99", "19.989999999999998"), ("19.99", Decimal("19.989999999999998")), ("0.30", 0.30000000000000004),
    ("a", "a"), ("", ""), ({"a": 1}, {"a": 1}), ("101", 101), (5, Decimal("5.0")),
    ({"a": Decimal(1), "b": "2.50"}, {"b": Decimal("2.5"), "a": "1"}), ({}, {}),
]  # fmt: skip
DIFFERENT = [
    (1, 0), (1, "0"), (1, False), (0, True), (None, "x"), ("x", None), ("12.50", "12.51"), ("12.50", None),
    ("007", "7"), ("02115", "2115"), ("1e3", "1000"), ("a", "A"), ({"a": 1}, {"a": 2}), ("12.50", [12.5]),
    ("19.99", "19.984999999999998"), (Decimal("1.005"), "1.00"), ("1.00", "1e999999"),
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


# --- an older answer about the same record


def is_older(action: str, sent: dict[str, Any], record: dict[str, Any]) -> bool:
    """Whether an answer shows the transaction as it was before the action."""
    try:
        check_changed(action, sent, record)
    except MismatchedReplyError:
        return True
    return False


@pytest.mark.parametrize("status", [101, "102", 111, 121, 131, 132, 133, 134])
def test_what_is_not_voided_is_from_before_the_void(status: Any) -> None:
    """Every status that a void ends."""
    assert is_older("void", {}, {"status_id": status})


@pytest.mark.parametrize("status", [201, "201", 301, None, "", 999])
def test_voided_declined_and_unheard_of_are_answers_to_a_void(status: Any) -> None:
    """A new code and silence prove nothing."""
    assert not is_older("void", {}, {"status_id": status})


@pytest.mark.parametrize("action", ["authcomplete", "authincrement"])
def test_the_sum_tells_an_older_answer(action: str) -> None:
    """After a capture or an increment the amount is the one that was sent; in cents or in whole."""
    sent = {"transaction_amount": "15.00"}
    assert is_older(action, sent, {"status_id": 101, "transaction_amount": "10.00"})
    assert not is_older(action, sent, {"status_id": 101, "transaction_amount": 15})
    assert not is_older(action, sent, {"status_id": 101})


@pytest.mark.parametrize("action", ["edit", "partialreversal", "tipadjust", ""])
def test_of_other_actions_nothing_is_known(action: str) -> None:
    """Their answers are believed."""
    assert not is_older(action, {"transaction_amount": "15.00"}, {"status_id": 101, "transaction_amount": "10.00"})


# --- another's refusal


@pytest.mark.parametrize(
    ("named", "believed"),
    [
        (["transaction_amount"], True),
        (["item_list", "transaction_amount"], True),
        (["item_list.Tea"], False),
        (["item_list", "due_date"], False),
        (["a_field_of_next_year"], True),
        (["item_list", "a_field_of_next_year"], True),
        (["transaction_amount[0]"], True),
        ([""], True),
        ([], True),
    ],
)
def test_a_refusal_of_other_resources_fields_is_anothers(named: list[str], believed: bool) -> None:
    """Only fields that this package knows, and knows to be others', tell that a refusal went astray."""
    try:
        check_refusal(named, frozenset({"transaction_amount"}))
    except MismatchedReplyError:
        assert not believed
    else:
        assert believed


def test_of_a_call_without_known_fields_any_refusal_is_believed() -> None:
    """A verb such as `settle` says nothing of what a refusal can name."""
    check_refusal(["item_list"], frozenset())
