"""Secrets stay out of every text that Python makes of them, and card numbers out of what others write."""

import copy
import logging
import pickle
import traceback
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway_async._secrets import AccountNumber, Secret, luhn_valid, mask_text

CARDS = ("4111111111111111", "4012888888881881", "5454545454545454", "6011000995500000", "371449635398431")
KEY = "planted-key-82c1"

TEXTS: dict[str, Callable[[object], str]] = {
    "repr": repr,
    "str": str,
    "ascii": ascii,
    "format": format,
    "format with a width": "{:>40}".format,
    "f-string": lambda secret: f"{secret} {secret!r} {secret!s}",
    "percent": lambda secret: "%s %r" % (secret, secret),  # noqa: UP031  the form under test
    "str.format": "{0} {0!r}".format,
    "in a list": lambda secret: str([secret]),
    "in a dict": lambda secret: str({secret: secret}),
}


@pytest.mark.parametrize("as_text", TEXTS.values(), ids=TEXTS)
def test_a_secret_is_masked_in_every_text(as_text: Callable[[object], str]) -> None:
    """However a secret is turned into text, its value is not in it."""
    assert KEY not in as_text(Secret(KEY))


@pytest.mark.parametrize("as_text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("card", CARDS)
def test_a_card_number_is_masked_in_every_text(as_text: Callable[[object], str], card: str) -> None:
    """However a card number is turned into text, no more than its last four digits are in it."""
    shown = as_text(AccountNumber(card))
    assert card[-4:] in shown
    assert card[-5:] not in shown


def test_how_they_look() -> None:
    """A secret is stars; a card number is stars and its last four digits."""
    assert (repr(Secret(KEY)), repr(AccountNumber(CARDS[0]))) == (
        "Secret('************')",
        "AccountNumber('************1111')",
    )


@pytest.mark.parametrize("number", ["", "1234", "1234567"])
def test_a_short_account_number_shows_nothing(number: str) -> None:
    """A number whose last four digits are more than half of it shows none of them."""
    assert str(AccountNumber(number)) == "************"


def test_reveal_gives_the_value() -> None:
    """`reveal()` is the one way to the value."""
    assert Secret(KEY).reveal() == KEY


def test_a_secret_of_a_secret_is_that_secret() -> None:
    """Wrapping twice reveals the value, not the mask."""
    assert AccountNumber(Secret(CARDS[0])).reveal() == CARDS[0]


def test_last_four() -> None:
    """A card number gives its last four digits, as the gateway's `last_four` does."""
    assert AccountNumber(CARDS[4]).last_four == "8431"


@given(st.text(), st.text())
def test_secrets_are_equal_when_their_values_are(one: str, other: str) -> None:
    """Equality and hash are those of the values, lone surrogates included."""
    assert (Secret(one) == Secret(other)) == (one == other)
    assert Secret(one) == AccountNumber(one)
    assert hash(Secret(one)) == hash(AccountNumber(one))


def test_a_secret_is_no_plain_text() -> None:
    """A secret never equals the text it hides, so that a comparison cannot probe it by accident."""
    assert Secret(KEY) != KEY


def test_secrets_do_not_pickle() -> None:
    """Pickling would write the value down, so it is refused, and the refusal does not show it."""
    with pytest.raises(TypeError, match="does not pickle") as refused:
        pickle.dumps(Secret(KEY))
    assert KEY not in str(refused.value)


def test_copies_are_the_secret_itself() -> None:
    """A copy, deep or not, needs no second place in memory."""
    secret = Secret(KEY)
    assert copy.copy(secret) is secret
    assert copy.deepcopy([secret])[0] is secret


def test_a_secret_has_no_attributes_to_hang_text_on() -> None:
    """There is no `__dict__` that a debugger or a serializer would walk."""
    assert not hasattr(Secret(KEY), "__dict__")


def test_logs_show_stars(caplog: pytest.LogCaptureFixture) -> None:
    """A log record with a secret among its arguments does not show it."""
    logging.getLogger("somebody.else").warning("key %s, card %r", Secret(KEY), AccountNumber(CARDS[0]))
    assert "************1111" in caplog.text
    assert KEY not in caplog.text
    assert CARDS[0] not in caplog.text


def test_tracebacks_show_stars() -> None:
    """A traceback that prints local variables does not show a secret among them."""

    def fails(key: Secret, card: AccountNumber) -> None:
        raise ValueError(f"{key} {card}")

    with pytest.raises(ValueError, match=r"\*") as raised:
        fails(Secret(KEY), AccountNumber(CARDS[0]))
    lines = traceback.TracebackException.from_exception(raised.value, capture_locals=True).format()
    shown = "".join(lines)
    assert "key = Secret('************')" in shown
    assert KEY not in shown
    assert CARDS[0] not in shown


@pytest.mark.parametrize("card", CARDS)
def test_the_test_cards_pass_the_luhn_check(card: str) -> None:
    """Every published test card has a right check digit, and a wrong one is noticed."""
    wrong = card[:-1] + str((int(card[-1]) + 1) % 10)
    assert (luhn_valid(card), luhn_valid(wrong)) == (True, False)


@pytest.mark.parametrize(
    ("written", "masked"),
    [
        ("card 4111111111111111 refused", "card ************1111 refused"),
        ("4111 1111 1111 1111", "************1111"),
        ("4111-1111-1111-1111", "************1111"),
        ("3714 496353 98431", "************8431"),
        ("order 12 4111111111111111", "order 12 ************1111"),
        ("4111111111111111 0930", "************1111 0930"),
        ("4111111111111111 5454545454545454", "************1111 ************5454"),
        (";4111111111111111=", ";************1111="),
        ("x4111111111111111x", "x************1111x"),
        ("no number at all", "no number at all"),
        ("", ""),
        ("4111111111111112 has a wrong check digit", "4111111111111112 has a wrong check digit"),
        ("1763475042 is a time", "1763475042 is a time"),
    ],
)
def test_texts_of_others_are_masked(written: str, masked: str) -> None:
    """Card numbers are masked in any grouping, next to other numbers too; all else stays as it is."""
    assert mask_text(written) == masked


def test_secrets_that_a_text_repeats_are_masked() -> None:
    """What is known to be secret is masked even where its form does not give it away; an empty secret is nothing."""
    secrets = (AccountNumber("072000326"), Secret("999"), Secret(""))
    assert mask_text("routing 072000326, cvv 999", secrets) == "routing ************0326, cvv ************"


def test_a_short_secret_is_masked_where_it_stands_alone() -> None:
    """A CVV inside a longer number or word is chance, and masking it would spoil what the text says."""
    assert mask_text("999 is (999), not 1999 or x999", [Secret("999")]) == (
        "************ is (************), not 1999 or x999"
    )


NO_STARS = st.characters(exclude_characters="*")


@given(st.text(), st.text(NO_STARS, min_size=7), st.text())
def test_no_secret_of_any_form_survives(before: str, secret: str, after: str) -> None:
    """Secrets are masked as they are, whatever characters they are made of."""
    assert secret not in mask_text(f"{before}{secret}{after}", [Secret(secret)])


def test_the_mask_is_no_pattern() -> None:
    """The last four characters of an account number may be anything."""
    assert mask_text(r"account 123456\1", [AccountNumber(r"123456\1")]) == r"account ************56\1"


@st.composite
def card_numbers(draw: st.DrawFn) -> str:
    """Digits of a card's length with a right check digit."""
    digits = draw(st.text("0123456789", min_size=12, max_size=18))
    return next(digits + check for check in "0123456789" if luhn_valid(digits + check))


@given(
    st.text(st.characters(exclude_categories=["Nd"])), card_numbers(), st.text(st.characters(exclude_categories=["Nd"]))
)
def test_no_card_number_survives(before: str, card: str, after: str) -> None:
    """Whatever stands around a card number, nothing but its last four digits is left."""
    masked = mask_text(f"{before}{card}{after}")
    assert card not in masked
    assert sum(character.isdecimal() for character in masked) == 4


@given(card_numbers(), st.sampled_from([" ", "-"]), st.integers(2, 5))
def test_no_grouping_hides_a_card_number(card: str, separator: str, size: int) -> None:
    """Groups of any size are recognised."""
    grouped = separator.join(card[place : place + size] for place in range(0, len(card), size))
    assert mask_text(f"card: {grouped}!") == f"card: ************{card[-4:]}!"


@given(st.text("0123456789 -abc", max_size=80))
def test_masking_is_final(text: str) -> None:
    """What has been masked once is not changed by masking it again, so layers may mask freely."""
    assert mask_text(mask_text(text)) == mask_text(text)
