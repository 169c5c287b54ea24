"""Card numbers, tracks and routing numbers."""

import pytest

from gateway_async.sandbox.simulators.cards import is_routing, passes_luhn, read_card, read_track

CARDS = {
    "4111111111111111": "visa",
    "4012888888881881": "visa",
    "5454545454545454": "mc",
    "6011000995500000": "disc",
    "371449635398431": "amex",
}


@pytest.mark.parametrize(("number", "brand"), CARDS.items())
def test_the_brand_is_read_off_the_number(number: str, brand: str) -> None:
    assert read_card(number).account_type == brand


@pytest.mark.parametrize("number", CARDS)
def test_one_wrong_digit_is_noticed(number: str) -> None:
    for place, digit in enumerate(number):
        wrong = number[:place] + str((int(digit) + 1) % 10) + number[place + 1 :]
        assert not passes_luhn(wrong)


def test_a_track_holds_number_name_and_an_expiry_as_mmyy() -> None:
    account = read_track("%B371449635398431^SMITH/JOHN ^3109101?")
    assert (account.last_four, account.account_holder_name, account.exp_date) == ("8431", "SMITH/JOHN", "0931")


@pytest.mark.parametrize("track", ["", "4111111111111111", ";4111111111111112=3012?", ";4111111111111111=3013?"])
def test_a_track_is_checked(track: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_track(track)


def test_no_account_shows_its_number() -> None:
    assert "4111111111111111" not in repr(read_card("4111111111111111", "1230"))


@pytest.mark.parametrize(
    ("number", "valid"), [("072000326", True), ("072000327", False), ("07200032", False), ("x" * 9, False)]
)
def test_a_routing_number_has_a_check_digit(number: str, valid: bool) -> None:
    assert is_routing(number) is valid
