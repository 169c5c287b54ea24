"""The sandbox reads card numbers and tracks, and checks routing numbers."""

import pytest

from gateway_async.sandbox.simulators.cards import is_routing, passes_luhn, read_card, read_track

BRANDS = {
    "4111111111111111": "visa",
    "4012888888881881": "visa",
    "5454545454545454": "mc",
    "6011000995500000": "disc",
    "371449635398431": "amex",
}


def test_card_numbers() -> None:
    """The brand is read off the number, and one wrong digit is noticed."""
    for number, brand in BRANDS.items():
        assert read_card(number).account_type == brand
        for place, digit in enumerate(number):
            assert not passes_luhn(number[:place] + str((int(digit) + 1) % 10) + number[place + 1 :])
    assert "4111111111111111" not in repr(read_card("4111111111111111", "1230"))


def test_a_track_is_checked() -> None:
    account = read_track("%B371449635398431^SMITH/JOHN ^3109101?")
    assert (account.last_four, account.account_holder_name, account.exp_date) == ("8431", "SMITH/JOHN", "0931")
    for track in ["", "4111111111111111", ";4111111111111112=3012?", ";4111111111111111=3013?"]:
        with pytest.raises(ValueError, match=r"."):
            read_track(track)


def test_a_routing_number_has_a_check_digit() -> None:
    assert [is_routing(number) for number in ("072000326", "072000327", "07200032", "x" * 9)] == [True, *[False] * 3]
