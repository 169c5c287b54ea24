"""Amounts of money, read, added and compared exactly.

The program's own decimal context may keep a few digits, or make inexact results an error. It changes no result here.
Other modules never add, subtract or round a `Decimal` themselves.
"""

import decimal
import re
from decimal import Decimal
from functools import reduce
from typing import Final

LARGEST_EXPONENT: Final = 30
"""The maximum exponent of a number. No amount, code or time is larger, and `1e999999999` takes hours to compute."""

_EXACT: Final = decimal.Context(  # omitted options would be those that the program has set as defaults
    prec=2 * LARGEST_EXPONENT,
    rounding=decimal.ROUND_HALF_EVEN,
    Emin=decimal.MIN_EMIN,
    Emax=decimal.MAX_EMAX,
    capitals=1,
    clamp=0,
    flags=[],
    traps=[],
)
_PLAIN_NUMBER: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_CENT: Final = Decimal("0.01")
_NO_AMOUNT: Final = Decimal("0.00")


def exact(value: Decimal | int | str, problem: str) -> Decimal:
    """A finite number of limited size.

    Raises:
        ValueError: `value` is not such a number; `problem` is the message.
    """
    try:
        number = Decimal(value)
    except decimal.InvalidOperation:
        raise ValueError(problem) from None
    if not number.is_finite() or number.adjusted() > LARGEST_EXPONENT:
        raise ValueError(problem)
    return number


def add(*amounts: Decimal) -> Decimal:
    return reduce(_EXACT.add, amounts, _NO_AMOUNT)


def subtract(amount: Decimal, part: Decimal) -> Decimal:
    return _EXACT.subtract(amount, part)


def to_cents(amount: Decimal) -> Decimal:
    """Round an amount to two decimals, half to even.

    Some gateways compute with binary floats, and then write 19.989999999999998 for 19.99. An absurdly large number is
    returned unchanged.
    """
    return amount if amount.adjusted() > LARGEST_EXPONENT else amount.quantize(_CENT, context=_EXACT)


def is_same(sent: Decimal, got: Decimal) -> bool:
    """Whether the gateway shows the sent number, exactly or in cents."""
    return got == sent or to_cents(got) == sent


def money(amount: Decimal | int | str) -> str:
    """An amount in the gateway's notation: `"12.50"`.

    Raises:
        ValueError: the amount is not a finite number, or has more than two decimals.
    """
    if isinstance(amount, bool | float):
        raise ValueError("must be a Decimal, an int or a str, never a float")
    if isinstance(amount, str) and not _PLAIN_NUMBER.fullmatch(amount):
        raise ValueError("is not an amount")  # Python accepts "1e3" and "1_000", but in a file they are mistakes
    number = exact(amount, "is not an amount")
    cents = to_cents(number)
    if cents != number:
        raise ValueError("has more than two decimals")
    return f"{cents:f}"


def as_number(amount: Decimal | int | str) -> Decimal:
    """Write an amount as a JSON number with the same digits, without an exponent.

    Raises:
        ValueError: as for `money`.
    """
    money(amount)
    return Decimal(f"{Decimal(amount):f}")
