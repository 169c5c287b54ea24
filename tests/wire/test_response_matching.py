"""Whether a response belongs to its request: what counts as a difference."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway_async._secrets import AccountNumber, Secret
from gateway_async._wire.response_matching import check_refusal, compare, expected_values, find_differences, same_value
from gateway_async.errors import MismatchedReplyError
from tests.support.processes import run_python


@pytest.mark.parametrize("name", ["id", "transaction_api_id", "location_id", "last_four", "transaction_amount"])
@pytest.mark.parametrize("silence", [(), (None,), ("",)])
def test_silence_is_no_difference(name: str, silence: tuple[Any, ...]) -> None:
    assert find_differences({name: "1.00"}, dict(zip([name], silence, strict=False))) == ()


@pytest.mark.parametrize("name", ["id", "transaction_api_id", "location_id", "last_four"])
def test_other_values(name: str) -> None:
    """Id, integrator id, location and last four digits are those that were asked for."""
    assert find_differences({name: "1111"}, {name: "1111"}) == ()
    assert find_differences({name: "1111"}, {name: 1111}) == ()
    assert find_differences({name: "1111"}, {name: "2222"}) == (f"{name} is '2222', not '1111'",)


@pytest.mark.parametrize(("asked", "got"), [("007", "7"), ("007", 7), ("1.0", "1.00"), ("1e3", "1000"), ("0011", "11")])
def test_ids_are_texts_not_numbers(asked: str, got: Any) -> None:
    assert find_differences({"transaction_api_id": asked}, {"transaction_api_id": got}) == (
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
def test_direction(action: str, type_id: Any, agrees: bool) -> None:
    """Tell sales from refunds; ignore unknown types."""
    assert (find_differences({"action": action}, {"type_id": type_id, "action": "x"}) == ()) is agrees


def test_every_difference_is_told() -> None:
    assert find_differences({"id": "a", "location_id": "x"}, {"id": "b", "location_id": "y"}) == (
        "id is 'b', not 'a'",
        "location_id is 'y', not 'x'",
    )


def test_fields_that_prove_nothing_do_not_hide_the_next_difference() -> None:
    expected = {"title": "Tea", "description": "green", "tax": "1.00", "exp_date": Secret("0930"), "id": "a"}
    shown = {"title": None, "description": "green", "tax": "0.00", "exp_date": "0128", "id": "b"}
    assert find_differences(expected, shown) == ("exp_date is not the one that was sent", "id is 'b', not 'a'")


def test_a_difference_does_not_show_a_card_number() -> None:
    assert find_differences({"id": "a"}, {"id": "4111111111111111"}) == ("id is '************1111', not 'a'",)


@pytest.mark.parametrize(("shown", "quoted"), [("2222", "2222"), ("12345", "…2345"), ("072000326", "…0326")])
def test_a_whole_account_number_is_shown_by_its_last_four_digits(shown: str, quoted: str) -> None:
    assert find_differences({"last_four": "1111"}, {"last_four": shown}) == (f"last_four is {quoted!r}, not '1111'",)


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
    ("another one, voided", {"transaction_amount": "99.00", "status_id": 201}, False),
    ("voided since, as text", {"transaction_amount": "0.00", "status_id": "201"}, True),
    ("approved in part", {"transaction_amount": "12.50", "auth_amount": "5.00"}, True),
    ("amount taken back, authorization kept", {"transaction_amount": "0.00", "auth_amount": "12.50"}, True),
    ("of another sale", {"transaction_amount": "12.51"}, False),
    ("of another sale, ten times", {"transaction_amount": "125.00"}, False),
    ("of another sale with a tip", {"transaction_amount": "15.00", "tip_amount": "2.00"}, False),
    ("declined", {"transaction_amount": "0.00", "status_id": 301}, True),
    ("with a surcharge of its own", {"transaction_amount": "12.88", "surcharge_amount": "0.38"}, True),
    ("with the fee of a surcharge", {"transaction_amount": "12.88", "auth_surcharge_fee": 0.38}, True),
    (
        "with a tip and a surcharge that two fields show",
        {"transaction_amount": "14.88", "tip_amount": "2.00", "surcharge_amount": "0.38", "auth_surcharge_fee": "0.38"},
        True,
    ),
    (
        "with a tax and a surcharge of the gateway",
        {"transaction_amount": "13.88", "subtotal_amount": "12.50", "tax": "1.00", "surcharge_amount": "0.38"},
        True,
    ),
    (
        "with the gateway's tax, authorized with it",
        {"transaction_amount": "13.50", "auth_amount": "13.50", "subtotal_amount": "12.50", "tax": "1.00"},
        True,
    ),
    ("with a tax, and another subtotal", {"transaction_amount": "13.50", "subtotal_amount": "12.00", "tax": 1}, False),
    ("with a part of a tax", {"transaction_amount": "13.20", "subtotal_amount": "12.50", "tax": "1.00"}, False),
    ("with a part taken back", {"transaction_amount": "5.00", "subtotal_amount": "12.50"}, True),
    ("with a tax, and no subtotal", {"transaction_amount": "13.50", "tax": "1.00"}, False),
    (
        "with a tax, and more than that",
        {"transaction_amount": "13.60", "subtotal_amount": "12.50", "tax": "1.00"},
        False,
    ),
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
    assert (find_differences({"action": "sale", "transaction_amount": "12.50"}, record) == ()) is agrees


def test_tax() -> None:
    """A tax that was sent is within the amount: the gateway does not add it again."""
    record = {"transaction_amount": "13.50", "subtotal_amount": "12.50", "tax": "1.00"}
    assert find_differences({"transaction_amount": "12.50", "tax": "1.00"}, record)
    assert not find_differences({"transaction_amount": "13.50", "tax": "1.00"}, record)


def test_broken_text() -> None:
    """A gateway that cuts an emoji in two shows a part of it; an id with such a character is another one."""
    assert find_differences({"description": "Thanks \U0001f600"}, {"description": "Thanks \ufffd"}) == ()
    assert find_differences({"description": "Thanks"}, {"description": "Sorry"}) != ()
    assert find_differences({"transaction_api_id": "a-1"}, {"transaction_api_id": "a-\ufffd"}) != ()


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
def test_dropped_fees(sent: dict[str, Any], amount: str, agrees: bool) -> None:
    """A debit card pays no surcharge: the amount may be lower by just that, and by nothing else."""
    expected = {"transaction_amount": "102.00", **sent}
    record = {"transaction_amount": amount, "auth_amount": amount, "status_id": 101}
    assert (find_differences(expected, record) == ()) is agrees


SAME = [
    (1, 1), (1, "1"), (1, True), (0, "0"), (0, False), (None, None), (None, ""), ("", None),
    ("12.50", "12.50"), ("12.50", "12.5"), ("12.50", 12.5), ("12.50", Decimal("12.5")), ("21.00", 21),
    ("19.99", "19.989999999999998"), ("19.99", Decimal("19.989999999999998")), ("0.30", 0.30000000000000004),
    ("a", "a"), ("", ""), ({"a": 1}, {"a": 1}), ("101", 101), (5, Decimal("5.0")),
    ({"a": Decimal(1), "b": "2.50"}, {"b": Decimal("2.5"), "a": "1"}), ({}, {}),
    ([Secret("a"), {"b": Secret("1")}], ["a", {"b": 1}]), ({"pin": Secret("9")}, {"pin": "9"}), ([1], ["1"]),
]  # fmt: skip
DIFFERENT = [
    (1, 0), (1, "0"), (1, False), (0, True), (None, "x"), ("x", None), ("12.50", "12.51"), ("12.50", None),
    ("007", "7"), ("02115", "2115"), ("1e3", "1000"), ("a", "A"), ({"a": 1}, {"a": 2}), ("12.50", [12.5]),
    ("19.99", "19.984999999999998"), (Decimal("1.005"), "1.00"), ("1.00", "1e999999"),
    ({"a": Decimal(1)}, {"a": Decimal(1), "b": Decimal(1)}), ({"a": Decimal(1)}, {"b": Decimal(1)}), ({"a": 1}, []),
    ([Secret("a")], ["b"]), ([1], [1, 2]), ([], {}),
]  # fmt: skip


@pytest.mark.parametrize(("sent", "got"), SAME)
def test_spellings(sent: Any, got: Any) -> None:
    """Flags, numbers and money are the same in any of the gateway's spellings."""
    assert same_value(sent, got)


@pytest.mark.parametrize(("sent", "got"), DIFFERENT)
def test_another_value(sent: Any, got: Any) -> None:
    """Texts are equal only as they are: a zip code with its zero is another one without."""
    assert not same_value(sent, got)


@given(st.text(), st.text())
def test_texts_that_differ_are_different_unless_they_are_amounts(sent: str, got: str) -> None:
    assert same_value(sent, got) == (sent == got) or "." in sent


# --- the values of a create


@pytest.mark.parametrize(
    ("name", "sent", "shown"),
    [
        ("account_holder_name", "Ada  Lovelace", "ADA LOVELACE "),
        ("account_holder_name", "José Núñez", "JOSE NUNEZ"),
        ("account_holder_name", "Jos\u00e9", "Jose\u0301"),
        ("description", "O'Brien & Sons", "O&#039;Brien &amp; Sons"),
        ("cell_phone", "4055551234", "(405) 555-1234"),
        ("description", "", None),
        ("end_date", None, "0000-00-00"),
        ("exp_date", Secret("0930"), "0930"),
        ("exp_date", Secret("0930"), "09/30"),
        ("exp_date", Secret("0930"), "09-2030"),
        ("exp_date", "0920", "09 / 20"),
        ("active", 1, True),
        ("tax", "1.00", 1),
    ],
)
def test_same_texts(name: str, sent: Any, shown: Any) -> None:
    """Gateways change the case, accents, spaces and HTML of texts, and the punctuation of phone numbers."""
    assert compare(name, sent, {name: shown}) is True


@pytest.mark.parametrize(
    ("name", "sent", "shown"),
    [
        ("id", "a1", "A1"),
        ("order_num", "A-1", "a-1"),
        ("dl_number", "A-1", "a-1"),
        ("payment_method", "cc", "CC"),
        ("interval_type", "m", "M"),
        ("auth_code", "a1", "A1"),
        ("contact_id", "a1", "A1"),
        ("account_holder_name", "Ada Lovelace", "Ada Byron"),
        ("billing_zip", "02115", "2115"),
        ("description", "tea", None),
        ("description", "", "tea"),
        ("tip_amount", "2.00", None),
        ("start_date", "2030-01-31", "2030-02-28"),
        ("exp_date", Secret("0930"), "0128"),
        ("exp_date", Secret("0930"), "30/09"),
        ("exp_date", Secret("0930"), "09/31"),
        ("order_num", "0930", "09/30"),
        ("active", 1, 0),
    ],
)
def test_ids_and_codes_are_compared_exactly(name: str, sent: Any, shown: Any) -> None:
    assert compare(name, sent, {name: shown}) is False


def test_expected_card() -> None:
    """A record shows no whole account number, whatever its field of that name contains."""
    sent = {"account_number": AccountNumber("4111111111111111"), "title": "x", "tags": ["a"]}
    assert expected_values(sent, {"account_number", "last_four", "title", "tags"}) == {
        "last_four": "1111",
        "title": "x",
    }


@pytest.mark.parametrize(
    ("sent", "record"),
    [
        ("x", {}),
        (Secret("072000326"), {"name": None}),
        (Secret("1234"), {"name": "****"}),
        (["a"], {"name": "a"}),
        ("a", {"name": [{"title": "a"}]}),
        ({"Tea": 1}, {"name": [{"name": "Tea"}]}),
        (0, {"name": None}),
        (None, {"name": "0.00"}),
        (None, {"name": Decimal("0.0")}),
        ("2030-01-31", {"name": 1_900_000_000}),
    ],
)
def test_incomparable_values(sent: Any, record: dict[str, Any]) -> None:
    """A hidden value, or one in another form, proves nothing either way."""
    assert compare("name", sent, record) is None


@pytest.mark.parametrize(
    ("action", "shown", "later", "new"),
    [
        ("sale", {"status_id": 101, "type_id": 20}, True, True),
        ("sale", {"status_id": "134"}, True, True),
        ("sale", {"status_id": 301}, True, True),
        ("sale", {"status_id": 201}, True, False),
        ("sale", {"status_id": 331}, True, False),
        ("sale", {"status_id": 102}, False, False),
        ("sale", {"status_id": 121, "type_id": 11}, False, False),
        ("sale", {"type_id": 21}, False, False),
        ("authonly", {"status_id": 102}, True, True),
        ("authonly", {"status_id": 101}, True, False),
        ("authonly", {"status_id": 301}, True, True),
        ("authonly", {"status_id": 101, "reason_code_id": 1001}, True, False),
        ("authonly", {"status_id": "134", "reason_code_id": "1001"}, True, False),
        ("authonly", {"status_id": 102, "reason_code_id": 1000}, True, True),
        ("authonly", {"status_id": 201, "reason_code_id": 1200}, True, False),
        ("authonly", {"status_id": 101, "reason_code_id": 1000, "type_id": 20}, False, False),
        ("authonly", {"status_id": "134", "reason_code_id": "1002"}, False, False),
        ("sale", {"status_id": 101, "reason_code_id": 1000}, True, True),
        ("avsonly", {"status_id": 121}, True, True),
        ("avsonly", {"status_id": 101}, False, False),
        ("refund", {"status_id": 111, "type_id": 30}, True, True),
        ("refund", {"status_id": 111, "type_id": 20}, False, False),
        ("brand new", {"status_id": 102}, True, True),
        ("sale", {"status_id": 999}, True, True),
    ],
)
def test_action_class(action: str, shown: dict[str, Any], later: bool, new: bool) -> None:
    """An authorization differs from a sale, also a completed one. A new payment is not voided; an older one may be."""
    found = [not find_differences({"action": action}, shown, is_new=is_new) for is_new in (False, True)]
    assert found == [later, new]


def test_a_difference_names_the_field_and_not_the_other_persons_value() -> None:
    lines = find_differences({"exp_date": Secret("0930")}, {"exp_date": "0128"})
    assert lines == ("exp_date is not the one that was sent",)


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
def test_foreign_refusal(named: list[str], believed: bool) -> None:
    """Only fields that this package knows, and knows to be others', tell that a refusal went astray."""
    try:
        check_refusal(named, frozenset({"transaction_amount"}))
    except MismatchedReplyError:
        assert not believed
    else:
        assert believed


def test_unknown_fields() -> None:
    """A verb such as `settle` says nothing of what a refusal can name."""
    check_refusal(["item_list"], frozenset())


PROGRAM = """
from gateway_async import AsyncGateway, MismatchedReplyError, UserApiKey
from gateway_async._wire.response_matching import check_refusal

AsyncGateway("https://gateway.test", developer_id="d", credentials=UserApiKey("u", "k")).contacts
try:
    check_refusal(["item_list"], frozenset({"last_name"}))
except MismatchedReplyError:
    print("another request's")
"""


def test_imports() -> None:
    """The meaning of a refusal does not depend on what the process has imported."""
    assert run_python("-c", PROGRAM).stdout == "another request's\n"
