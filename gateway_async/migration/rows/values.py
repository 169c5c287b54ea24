"""Converts values from people and spreadsheets to the contract's format.

Only unambiguous values are accepted. A value that is ambiguous or has lost digits is rejected with a description of the
accepted formats. No message holds more than the last four digits of anything.
"""

import re
from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal
from typing import Any, Final

__all__ = ["EXPIRY_FORMS", "cell_text", "read_value"]

_INVISIBLE: Final = re.compile("[\u200b-\u200f\u2060\ufeff]")
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_FORMULA: Final = re.compile(r'="([^"]*)"')
_WHOLE: Final = re.compile(r"(\d+)\.0+")
_SCIENTIFIC: Final = re.compile(r"\d+([.,]\d*)?[eE]\+?\d+")
_GROUPING: Final = re.compile(r"[\s\-\u2010-\u2015]")
_PHONE: Final = re.compile(r"[\s\-\u2010-\u2015().]|^\+1")
_MASK: Final = re.compile(r"(?:[*xX#•.][\s\-]*){4,}\d{0,4}")
_EXACT: Final = 2**53
"""Floats above this have lost digits."""

_FLAGS: Final = {
    **dict.fromkeys(("1", "1.0", "y", "yes", "t", "true", "on"), True),
    **dict.fromkeys(("0", "0.0", "n", "no", "f", "false", "off"), False),
}
_METHODS: Final = {
    **dict.fromkeys(("cc", "card", "credit", "credit card", "debit", "debit card"), "cc"),
    **dict.fromkeys(("ach", "bank", "bank account", "check", "echeck", "e-check"), "ach"),
}
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH_NAME: Final = re.compile(
    r"(jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec)[a-z]*\.?[\s\-/]*(\d{4}|\d{2})", re.IGNORECASE
)
EXPIRY_FORMS: Final = "such as 1230, 12/30, 12/2030, 2030-12, 2030-12-31 or Dec 2030"
_EXPIRIES: Final = tuple(
    re.compile(form)
    for form in (
        r"(?P<month>\d{1,2})\s*[/\-. ]\s*(?P<year>\d{2}|\d{4})",
        r"(?P<month>\d{1,2})(?P<year>\d{2})",
        r"(?P<year>20\d{2})\s*[/\-.]\s*(?P<month>\d{1,2})",
        r"(?P<year>20\d{2})[/\-.](?P<month>\d{1,2})[/\-.]\d{1,2}([T ]\d{2}:\d{2}.*)?",
        r"(?P<month>0[1-9]|1[0-2])(?P<year>20\d{2})",
        r"(?P<year>20\d{2})(?P<month>0[1-9]|1[0-2])",
    )
)
_FULL_DATE: Final = re.compile(r"(\d{1,2})[/\-.](\d{1,2})[/\-.](20\d{2})")
_YEAR_END: Final = 12


def cell_text(raw: Any) -> str:
    """Return a cell's value as text without surrounding blanks; "" if it is empty.

    Raises:
        ValueError: the type is not one that a cell can hold.
    """
    match raw:
        case None:
            return ""
        case str():
            return _strip(raw)
        case int():
            return str(raw).lower()
        case float() | Decimal():
            return _number(raw)
        case date():
            return raw.isoformat()
        case bytes():
            return _strip(raw.decode())
        case _:
            raise ValueError(f"must be text, not a {type(raw).__name__}")


def read_value(field: str, text: str) -> Any:
    """Convert a field's text to the contract's format.

    Args:
        field: the contract's name.
        text: the result of `cell_text`, not empty.

    Raises:
        ValueError: it cannot be read; the message says what is accepted.
    """
    if field != "track_data" and _CONTROL.search(text):
        raise ValueError("contains a line break or another control character")
    return _READERS.get(field, str)(text)


def _strip(text: str) -> str:
    bare = _INVISIBLE.sub("", text).strip() if not text.isascii() else text.strip()
    formula = _FORMULA.fullmatch(bare) if bare[:1] == "=" else None
    return formula[1].strip() if formula else bare


def _number(raw: float | Decimal) -> str:
    if raw != raw:  # noqa: PLR0124  only NaN differs from itself; in a table it means an empty cell
        return ""
    exact = raw.is_finite() if isinstance(raw, Decimal) else abs(raw) < _EXACT
    return str(int(raw)) if exact and raw == int(raw) else str(raw)


def _digits(text: str) -> str:
    """Return the digits of a number from a spreadsheet."""
    bare = text.removeprefix("'").strip()
    if _SCIENTIFIC.fullmatch(bare):
        raise ValueError("scientific notation, which has lost digits (expected a column formatted as text)")
    whole = _WHOLE.fullmatch(bare)
    return whole[1] if whole else bare


def _account_number(text: str) -> str:
    if _MASK.fullmatch(text):
        raise ValueError(f"masked, only {text[-4:]} is visible" if text[-4:].isdigit() else "masked")
    return _GROUPING.sub("", _digits(text))


def _phone(text: str) -> str:
    return _PHONE.sub("", _digits(text))


def _flag(text: str) -> bool:
    flag = _FLAGS.get(text.lower())
    if flag is None:
        raise ValueError("must be yes or no, true or false, 1 or 0")
    return flag


def _method(text: str) -> str:
    method = _METHODS.get(text.lower().replace("_", " "))
    if method is None:
        raise ValueError("must be cc or ach")
    return method


def _expiry(text: str) -> str:
    """Return `MMYY` from a text that means one month of this century."""
    bare = _digits(text)
    parts = _named_month(bare) or _numbered_month(bare)
    if parts is None:
        raise ValueError(f"must be a month and a year, {EXPIRY_FORMS}")
    month, year = parts
    if not 1 <= month <= _YEAR_END:
        raise ValueError(f"must be a month and a year, {EXPIRY_FORMS}; month {month} does not exist")
    return f"{month:02}{year}"


def _named_month(text: str) -> tuple[int, str] | None:
    match = _MONTH_NAME.fullmatch(text)
    if match is None or len(match[2]) > 2 and match[2][:2] != "20":  # noqa: RUF021, PLR2004
        return None
    return _MONTHS.index(match[1][:3].lower()) + 1, match[2][-2:]


def _numbered_month(text: str) -> tuple[int, str] | None:
    for form in _EXPIRIES:
        match = form.fullmatch(text)
        if match and match["year"][:-2] in ("", "20"):
            return int(match["month"]), match["year"][-2:]
    full = _FULL_DATE.fullmatch(text)
    return None if full is None else _month_of_date(int(full[1]), int(full[2]), full[3][-2:])


def _month_of_date(first: int, second: int, year: str) -> tuple[int, str]:
    """Return the month of a date of unknown order: 12/31/2030 is clear, 01/12/2030 is ambiguous."""
    months = {part for part in (first, second) if part <= _YEAR_END}
    if len(months) != 1:
        raise ValueError(f"ambiguous, because either part can be the month (expected a form {EXPIRY_FORMS})")
    return months.pop(), year


_READERS: Final[Mapping[str, Callable[[str], Any]]] = {
    "account_number": _account_number,
    "routing": _account_number,
    "exp_date": _expiry,
    "billing_phone": _phone,
    "payment_method": _method,
    "account_type": str.lower,
    "ach_sec_code": str.upper,
    "dl_state": str.upper,
    **dict.fromkeys(("billing_zip", "ssn4", "dob_year"), _digits),
    **dict.fromkeys(("is_company", "terms_agree", "run_avs"), _flag),
}
