"""Card numbers, bank accounts, keys and tokens: values that never show themselves.

A secret is masked wherever Python would turn it into text (`repr`, `str`, `format`, `%s`, logs, tracebacks), does not
pickle, and gives its value to `reveal()` only. What others write (a gateway's message that echoes a card number) goes
through `mask_text`.
"""

import hmac
import re
from collections.abc import Iterable
from typing import Any, NoReturn, Self

__all__ = ["AccountNumber", "Secret", "luhn_valid", "mask_text"]

_STARS = "************"


class Secret:
    """A text that is not shown: keys, CVV, track data, tokens.

    Two secrets are equal when their values are; a secret never equals a plain string.
    """

    __slots__ = ("_value",)

    def __init__(self, value: "str | Secret") -> None:
        self._value: str = value.reveal() if isinstance(value, Secret) else value

    def reveal(self) -> str:
        """The value itself."""
        return self._value

    def __str__(self) -> str:
        return _STARS

    def __repr__(self) -> str:
        return f"{type(self).__name__}('{self}')"

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(repr(self._value).encode(), repr(other._value).encode())

    def __hash__(self) -> int:
        return hash((Secret, self._value))

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        msg = f"a {type(self).__name__} does not pickle: pass what reveal() returns, where that is safe"
        raise TypeError(msg)


class AccountNumber(Secret):
    """A card, bank account or routing number; shows its last four digits at most."""

    __slots__ = ()

    def __str__(self) -> str:
        value = self._value
        long_enough = isinstance(value, str) and len(value) >= 8  # noqa: PLR2004  half of it stays hidden
        return _STARS + value[-4:] if long_enough else _STARS

    @property
    def last_four(self) -> str:
        """The last four digits, as the gateway's `last_four` shows them."""
        return self._value[-4:]


_SHORT = 6
_POSSIBLE = re.compile("[0-9 -]{13}")  # most texts have no such run, and need no closer look

# Alone or in groups, as people write them; a group before or after (an order number, an expiry date) does not hide one.
_MAY_BEGIN = re.compile(r"(?<!\d)(?=(?:\d[ -]?){12}\d)")
_CARDS = [re.compile(rf"(?:\d[ -]?){{{length - 1}}}\d(?!\d)") for length in range(19, 12, -1)]


def mask_text(text: str, secrets: Iterable[Secret] = ()) -> str:
    """`text` with all that could be a card number (13–19 digits that pass the Luhn check) masked.

    Args:
        text: what somebody else wrote.
        secrets: masked too, wherever the text repeats them.
    """
    for secret in secrets:
        text = _mask_value(text, secret)
    if not _POSSIBLE.search(text):
        return text
    masked, done = [], 0
    for place in _MAY_BEGIN.finditer(text):
        card = _card_at(text, place.start()) if place.start() >= done else None
        if card:
            masked += [text[done : card.start()], _STARS, _digits(card)[-4:]]
            done = card.end()
    return "".join([*masked, text[done:]])


def _mask_value(text: str, secret: Secret) -> str:
    """`text` without a secret; a short one, such as a CVV, only where it stands alone."""
    value = secret.reveal()
    if len(value) > _SHORT:
        return text.replace(value, str(secret))
    return re.sub(rf"(?<!\w){re.escape(value)}(?!\w)", str(secret), text) if value else text


def _card_at(text: str, start: int) -> re.Match[str] | None:
    candidates = (card.match(text, start) for card in _CARDS)
    return next((found for found in candidates if found and luhn_valid(_digits(found))), None)


def _digits(card: re.Match[str]) -> str:
    return re.sub(r"[ -]", "", card.group())


_DOUBLED = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)
"""A digit, doubled, and the digits of that added up."""


def luhn_valid(digits: str) -> bool:
    """Whether a card number's check digit is right (ISO/IEC 7812)."""
    return (sum(map(int, digits[::-2])) + sum(_DOUBLED[int(digit)] for digit in digits[-2::-2])) % 10 == 0
