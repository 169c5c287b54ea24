"""Secrets stay out of every text that Python makes of them, and card numbers out of what others write."""

import copy
import gc
import json
import logging
import math
import pickle
import subprocess
import sys
import traceback
from collections.abc import Callable
from decimal import Decimal
from typing import Any
from urllib.parse import quote

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway_async import PasswordLogin, TransactionCreate, _secrets
from gateway_async._secrets import (
    AccountNumber,
    Secret,
    luhn_valid,
    mask_digits,
    mask_text,
    quote_text,
    strip_traceback,
)

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
def test_no_text_of_a_secret_has_its_value(as_text: Callable[[object], str]) -> None:
    assert KEY not in as_text(Secret(KEY))


@pytest.mark.parametrize("as_text", TEXTS.values(), ids=TEXTS)
def test_every_text_of_a_card_number_is_masked(as_text: Callable[[object], str]) -> None:
    for card in CARDS:
        shown = as_text(AccountNumber(card))
        assert card[-4:] in shown
        assert card[-5:] not in shown


def test_look() -> None:
    """A secret is stars; a card number is stars and its last four digits, as the gateway's `last_four`."""
    secret, card = Secret(KEY), AccountNumber(CARDS[4])
    assert (repr(secret), repr(card)) == ("Secret('************')", "AccountNumber('************8431')")
    assert card.last_four == "8431"


def test_value() -> None:
    """Only `reveal` gives it: no comparison with plain text, no copy, no `__dict__` and no second wrapping."""
    secret = Secret(KEY)
    assert secret.reveal() == KEY
    assert AccountNumber(Secret(CARDS[0])).reveal() == CARDS[0]
    assert secret != KEY
    assert copy.copy(secret) is secret
    assert copy.deepcopy([secret])[0] is secret
    assert not hasattr(secret, "__dict__")


@pytest.mark.parametrize("number", ["", "1234", "1234567"])
def test_short_number(number: str) -> None:
    """A number whose last four digits are more than half of it shows none of them."""
    assert str(AccountNumber(number)) == "************"


@given(st.text(), st.text())
def test_equality(one: str, other: str) -> None:
    """Equality and hash are those of the values, lone surrogates included."""
    assert (Secret(one) == Secret(other)) == (one == other)
    assert Secret(one) == AccountNumber(one)
    assert hash(Secret(one)) == hash(AccountNumber(one))


def test_pickle() -> None:
    """Pickling would write the value down, so it is refused, and the refusal does not show it."""
    with pytest.raises(TypeError, match="does not pickle") as refused:
        pickle.dumps(Secret(KEY))
    assert KEY not in str(refused.value)


WALKS: dict[str, Callable[[object], object]] = {
    "gc": gc.get_referents,
    "getstate": lambda secret: secret.__getstate__(),
    "object's getstate": object.__getstate__,
    "slots": lambda secret: [getattr(secret, name) for name in Secret.__slots__],
    "attributes": lambda secret: [getattr(secret, name) for name in dir(secret) if name != "reveal"],
    "attrs": lambda secret: attrs.asdict(PasswordLogin("user", secret, "domain")),  # type: ignore[arg-type]
    "attrs, nested": lambda secret: attrs.astuple(TransactionCreate(action="sale", cvv=secret)),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("walk", WALKS.values(), ids=WALKS)
@pytest.mark.parametrize("secret", [Secret(KEY), AccountNumber(CARDS[0])])
def test_object_walk(walk: Callable[[object], object], secret: Secret) -> None:
    """Neither references, nor slots, nor the state that serializers take hold the value, as text or as bytes."""
    value, found = secret.reveal(), walk(secret)
    pending, shown = [found], repr(found)
    while pending:
        each = pending.pop()
        if isinstance(each, list | tuple | dict):
            pending += each.values() if isinstance(each, dict) else each
        if isinstance(each, bytes):
            shown += each.decode("latin-1") + each.hex()
    assert value not in shown
    assert value.encode().hex() not in shown


def test_the_text_is_forgotten_with_the_last_copy_of_a_secret() -> None:
    secret = Secret(KEY)
    copied, place = AccountNumber(secret), id(secret._key)
    del secret
    assert (copied.reveal(), _secrets._texts[place]) == (KEY, KEY)
    del copied
    assert place not in _secrets._texts


def test_finalizer() -> None:
    """The text is still there when an object in a reference cycle with the secret is finalized."""
    found = []

    class Owner:
        def __init__(self) -> None:
            self.secret, self.cycle = Secret(KEY), self

        def __del__(self) -> None:
            found.append(self.secret.reveal())

    Owner()
    gc.collect()
    assert found == [KEY]


def test_exit() -> None:
    """At exit, Python may clear the names of this module before those of another one."""
    code = (
        "import builtins, threading; from gateway_async import _secrets; "
        "threading.kept = _secrets.Secret('x'); builtins.kept = [threading, _secrets]"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stderr == b""  # noqa: S603


@pytest.mark.parametrize("value", [4111111111111111, b"4111111111111111", None, 4.5, ["4111111111111111"]])
def test_wrong_type(value: Any) -> None:
    """Of a number where text belongs only its type is kept, which the error needs."""
    secret = AccountNumber(value)
    assert (secret.reveal(), secret.kind, str(secret), secret == AccountNumber("")) == (
        "",
        type(value),
        "************",
        False,
    )


@pytest.mark.parametrize("form", [str, quote, lambda value: quote(value, safe=""), json.dumps])
def test_escapes(form: Callable[[str], str]) -> None:
    """A secret is masked as it is in a URL, and in JSON."""
    value = 'a/b "c" \\ \u00e9'
    assert mask_text(f"no {form(value)} here", [Secret(value)]).replace('"', "") == "no ************ here"


def test_a_log_record_shows_no_secret_argument(caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("somebody.else").warning("key %s, card %r", Secret(KEY), AccountNumber(CARDS[0]))
    assert "************1111" in caplog.text
    assert KEY not in caplog.text
    assert CARDS[0] not in caplog.text


def test_a_traceback_with_local_variables_shows_no_secret() -> None:
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
def test_the_luhn_check_notices_a_wrong_digit(card: str) -> None:
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
def test_foreign_text(written: str, masked: str) -> None:
    """Card numbers are masked in any grouping, next to other numbers too; all else stays as it is."""
    assert mask_text(written) == masked


@pytest.mark.parametrize(
    ("written", "masked"),
    [
        ("4111+1111+1111+1111", "************1111"),
        ("4111\u20111111\u20111111\u20111111", "************1111"),
        ("4111\u00a01111\u202f1111\u20031111", "************1111"),
        ("41\u200b11 11\u200b\ufeff11 11\u00ad11 1111", "************1111"),
        ("4111.1111/1111_1111", "************1111"),
        ("4111 - 1111 - 1111 - 1111", "************1111"),
        ("4,111,111,111,111,111", "************1111"),
        ("4111%201111%C2%A01111%2D1111", "************1111"),
        (repr("4111\xa01111\u20071111\u200b1111"), "'************1111'"),
        ("\uff14\uff11\uff11\uff11" + 3 * "\uff11\uff11\uff11\uff11", "************\uff11\uff11\uff11\uff11"),
        ("\u0664\u0661\u0661\u0661-1111-1111-1111", "************1111"),
        ("%B4111111111111111^DOE/JO^30121011234567890?", "%B************1111^************?"),
        (";4111111111111111=30121011234567890?", ";************1111=************?"),
    ],
)
def test_separators(written: str, masked: str) -> None:
    """Signs, blanks and dashes of any kind, characters of no width, digits of any script; a track's end goes too."""
    assert mask_text(written) == masked
    assert mask_digits(written) == masked


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-21T10:15:30.123456+00:00",
        "2026-11-21 10:15:30.123456",
        "21.11.2026 10:15, 22.11.2026 11:30",
        ", ".join(map(str, range(100))),
        str([*range(100)]),
        "12.50, 13.75, 1.00, 8.10, 99.99, 23.45",
        "127.0.0.1:8080, 192.168.10.12:443",
        '["1111", "2222", "3333", "4444"]',
        "11ef6e8a5b8fa0c49d3c8a4e 11e95f8ec39de8fbdb0a4f1a",
        "transaction_amount is '19.989999999999998', not '19.99'",
        '{"tax": 0.4000000000000002, "tip": -1234.5600000000004}',
    ],
)
def test_dates_lists_and_ids_are_not_masked(text: str) -> None:
    assert mask_text(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "4111.111111111111",
        "4111111111111.111",
        "41.11111111111111",
        "0.4111111111111111",
        "No.4000000000000002",
        "4000000000.000002",
        "12 4000.000000000002",
        "4000.000000000002 12",
    ],
)
def test_fractions(text: str) -> None:
    """After a dot, only an amount in cents with the error of a float stays: zeros or nines, and one or two digits."""
    assert "*" in mask_text(text)


@given(st.decimals(0, 10**7, places=2))
def test_binary_floats(amount: Decimal) -> None:
    """Leave what a program with floats writes for an amount, the next larger or smaller one."""
    for near in (math.nextafter(float(amount), math.inf), math.nextafter(float(amount), 0)):
        text = f"{near:.17g}"
        assert mask_text(text) == text


@pytest.mark.parametrize("gap", ["\n", ", ", "+", "...", " | ", "\t\t", "\u200b \u200b"])
@pytest.mark.parametrize("size", [1, 2, 4])
def test_unread_text(gap: str, size: int) -> None:
    """Where a text need not be read, every way of parting a number's digits is seen through."""
    card = CARDS[0]
    assert mask_digits(gap.join(card[place : place + size] for place in range(0, len(card), size))) == (
        f"************{card[-4:]}"
    )


def test_overlaps() -> None:
    """Other groups before a number do not take a part of it that passes the check, and leave the rest."""
    before = next(
        f"{a:02} {b:02}" for a in range(100) for b in range(100) if luhn_valid(f"{a:02}{b:02}41111111" + "1111")
    )
    assert mask_text(f"{before} 4111 1111 1111 1111") == "************1111"


@pytest.mark.parametrize("text", ["{0}\r\n{1}", "['{0}', '{1}']", r'"{0}\r\n{1}"', "{0} - - {1}"])
def test_split_number(text: str) -> None:
    """A peer may repeat what was sent as a list or over two lines; a quote of it adds no line to a log."""
    quoted = mask_text(f"no: {text.format('54545454', '54545454')}!", [AccountNumber("5454545454545454")])
    assert "************5454" in quoted
    assert "54545454" not in quoted
    assert quote_text("no\nERROR: 4111 1111\r\n1111 1111") == "no ERROR: ************1111"
    assert quote_text(f"no {KEY}\n{KEY}", [Secret(f"{KEY}\n{KEY}")]) == "no ************"


def test_known_secrets() -> None:
    """They have any form and characters; a CVV inside a longer number or word is chance, and stays."""
    secrets = (AccountNumber("072000326"), Secret("999"), Secret(""))
    assert mask_text("routing 072000326, cvv 999", secrets) == "routing ************0326, cvv ************"
    assert mask_text(r"account 123456\1", [AccountNumber(r"123456\1")]) == r"account ************56\1"
    text = "999 is (999), not 1999 or x999"
    assert mask_text(text, secrets) == "************ is (************), not 1999 or x999"
    assert mask_text(f"{KEY}-more", [Secret(KEY), Secret(f"{KEY}-more")]) == "************"


NO_STARS = st.characters(exclude_characters="*")


@given(st.text(), st.text(NO_STARS, min_size=7), st.text())
def test_secrets_of_any_characters_are_masked(before: str, secret: str, after: str) -> None:
    assert secret not in mask_text(f"{before}{secret}{after}", [Secret(secret)])


@st.composite
def card_numbers(draw: st.DrawFn) -> str:
    """Digits of a card's length with a right check digit."""
    digits = draw(st.text("0123456789", min_size=12, max_size=18))
    return next(digits + check for check in "0123456789" if luhn_valid(digits + check))


@given(
    st.text(st.characters(exclude_categories=["Nd"])), card_numbers(), st.text(st.characters(exclude_categories=["Nd"]))
)
def test_context(before: str, card: str, after: str) -> None:
    """In any context, a card number is masked except its last four digits."""
    masked = mask_text(f"{before}{card}{after}")
    assert card not in masked
    assert sum(character.isdecimal() for character in masked) == 4


@given(card_numbers(), st.sampled_from([" ", "-"]), st.integers(2, 5))
def test_groups_of_any_size_are_recognized(card: str, separator: str, size: int) -> None:
    grouped = separator.join(card[place : place + size] for place in range(0, len(card), size))
    assert mask_text(f"card: {grouped}!") == f"card: ************{card[-4:]}!"


@given(st.text("0123456789 -abc", max_size=80))
def test_masked_text_stays_as_it_is(text: str) -> None:
    assert mask_text(mask_text(text)) == mask_text(text)


@given(st.text(max_size=500), st.text(NO_STARS, min_size=7, max_size=200), st.text(max_size=500), st.integers(1, 400))
def test_quoted_secret(before: str, secret: str, after: str, limit: int) -> None:
    """Wherever a quote ends, it is short, and the end of what was looked at splits no secret that is shown."""
    quoted = quote_text(f"{before}{secret}{after}", [Secret(secret)], limit)
    assert len(quoted) <= max(limit + 1, 0)
    assert secret not in quoted


def test_end_of_quote() -> None:
    """A key or a card number at the end of a quote is masked, or left out."""
    key = "key-0123456789-abcdefghijklmnop"
    for before in ("z" * length for length in range(230, 400)):
        assert "key-" not in quote_text(f"{before}{key}{'z' * 900}", [Secret(key)]), len(before)
        assert "4111" not in quote_text(f"{before} {CARDS[0]} {'z' * 900}"), len(before)


def test_long_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """A quote costs as much as it shows, and not as much as there is."""
    lengths: list[int] = []

    def note_length(text: str, _: object) -> str:
        lengths.append(len(text))
        return text

    monkeypatch.setattr(_secrets, "mask_text", note_length)
    assert len(quote_text("x" * 10_000_000, limit=100)) == 101
    assert max(lengths) < 200


def test_detached_error() -> None:
    """Frames, cause and context go, of the errors in a group too; message and notes stay."""

    def fails() -> None:
        try:
            dict[str, str]()["cause"]
        except KeyError as cause:
            raise ValueError("said") from cause

    with pytest.raises(ValueError, match="said") as raised:
        fails()
    error = raised.value
    error.add_note("a note")
    group = ExceptionGroup("several", [error])
    assert strip_traceback(group) is group
    assert (error.__cause__, error.__context__, error.__traceback__) == (None, None, None)
    assert (str(error), error.__notes__) == ("said", ["a note"])
