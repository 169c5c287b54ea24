"""Cells of a row without anything in them that could be a card number."""

import re
from typing import Any, Final

from gateway_async._secrets import AccountNumber, luhn_valid, mask_text

__all__ = ["cell", "guarded"]

_SECRET: Final = frozenset({"account_number", "routing", "track_data", "ticket", "cvv"})
_UNSURE: Final = re.compile(r"(?:\d\D*){9}", re.DOTALL)
"""As many digits as a bank account may have, in a cell of which nobody knows what it is."""

_PARTED: Final = re.compile(r"(?<!\d)(?:\d[\s._/\\:-]{0,2}){12,18}\d(?!\d)")
"""A card's number as people part it, in ways that are none of the usual ones, too."""

_HIDDEN: Final = "************"


def cell(field: str | None, value: Any) -> Any:
    """A cell of which it is known what it is."""
    if field in _SECRET and value not in (None, ""):
        return str(AccountNumber(str(value)))
    return _masked(value)


def guarded(value: Any) -> Any:
    """A cell of a row that could not be told into its columns: any of them may be anything."""
    if isinstance(value, list):
        return [guarded(inner) for inner in value]
    return _HIDDEN if _UNSURE.search(str(value)) else _masked(value)


def _masked(value: Any) -> Any:
    """A value without anything in it that could be a card number."""
    if isinstance(value, dict):
        return {name: _masked(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_masked(inner) for inner in value]
    text = _PARTED.sub(_without_card, mask_text(str(value)))
    return value if text == str(value) else text


def _without_card(parted: re.Match[str]) -> str:
    digits = re.sub(r"\D", "", parted[0])
    return f"{_HIDDEN}{digits[-4:]}" if luhn_valid(digits) else parted[0]
