"""Converts values from people and spreadsheets to the contract's format.

Only unambiguous values are accepted. A value that is ambiguous or has lost digits is rejected with a description of the
accepted formats. No message holds more than the last four digits of anything.
"""

import re
from calendar import monthrange
from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal
from typing import Any, Final

_INVISIBLE: Final = re.compile("[\u200b-\u200f\u2060\ufeff]")
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_FORMULA: Final = re.compile(r'="([^"]*)"')
_WHOLE: Final = re.compile(r"(\d+)\.0+")
_WHOLE_FLOAT: Final = re.compile(r"(-?(?:0|[1-9][0-9]*))\.0+")
"""A whole number that a program has kept as a float. No float begins with a zero, so `007.0` is text."""

_ROUNDED: Final = re.compile(r"-?[0-9](?:[.,][0-9]+)?[eE]\+[0-9]+")
"""A number as spreadsheets shorten it. An id such as `12E5` or `7e10` has no plus sign."""

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
EXPIRY_FORMS: Final = "such as 1230, 12/30, 12/2030, 2030-12 or Dec 2030"
AMBIGUOUS_DATE: Final = "is a full date"
"""The beginning of the problem of an expiry that a spreadsheet may have made of another one."""

_EXPIRIES: Final = tuple(
    re.compile(form)
    for form in (
        r"(?P<month>\d{1,2})\s*[/\-. ]\s*(?P<year>\d{2}|\d{4})",
        r"(?P<month>\d{1,2})(?P<year>\d{2})",
        r"(?P<year>20\d{2})\s*[/\-.]\s*(?P<month>\d{1,2})",
        r"(?P<month>0[1-9]|1[0-2])(?P<year>20\d{2})",
        r"(?P<year>20\d{2})(?P<month>0[1-9]|1[0-2])",
    )
)
_TIME: Final = r"(?:[T ]+(?P<time>\d{1,2}:\d{2}).*)?"
_YEAR_FIRST: Final = re.compile(rf"(?P<year>\d{{4}})[/\-.](?P<month>\d{{1,2}})[/\-.](?P<day>\d{{1,2}}){_TIME}")
_YEAR_LAST: Final = re.compile(rf"(?P<first>\d{{1,2}})[/\-.](?P<second>\d{{1,2}})[/\-.](?P<year>\d{{4}}|\d\d){_TIME}")
_SERIAL_DATE: Final = re.compile(r"[2-7]\d{4}")
"""A spreadsheet's number of a day: the days since 1900, for the years 1955 to 2118."""

_ZIP_WITHOUT_ZERO: Final = re.compile(r"[0-9]{4}(?:[ -]?[0-9]{4})?|[0-9]{3}[ -]?[0-9]{4}")
_US_STATE: Final = re.compile(
    "A[AEKLPRSZ]|C[AOT]|D[CE]|FL|G[AU]|HI|I[ADLN]|K[SY]|LA|M[ADEINOPST]|N[CDEHJMVY]|O[HKR]|P[AR]|RI|S[CD]|T[NX]|UT|"
    "V[AIT]|W[AIVY]|CONNECTICUT|MAINE|MASSACHUSETTS|NEW HAMPSHIRE|NEW JERSEY|NEW YORK|PUERTO RICO|RHODE ISLAND|VERMONT|"
    "VIRGIN ISLANDS",
    re.IGNORECASE,
)
"""The states and territories by their codes, and by name those with zip codes that begin with a zero."""

_YEAR_END: Final = 12
_NOON: Final = 12
_LAST_MINUTE: Final = "23:59"


def cell_text(raw: Any) -> str:
    """Convert a cell's value to text without surrounding blanks; "" if it is empty.

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


def key_text(raw: Any) -> str:
    """Convert a key or id to text: the number 1001.0 becomes 1001, and 007 stays 007.

    Raises:
        ValueError: it is a number that has lost digits.
    """
    text = cell_text(raw)
    whole = _WHOLE_FLOAT.fullmatch(text)
    if _ROUNDED.fullmatch(text) or (whole and abs(int(whole[1])) >= _EXACT):
        raise ValueError("a rounded number, which has lost digits (expected a column formatted as text)")
    return str(int(whole[1])) if whole else text


def read_value(field: str, text: str) -> Any:
    """Convert the text of `cell_text`, not empty, to the contract's format.

    Raises:
        ValueError: it cannot be read; the message says what is accepted.
    """
    if field != "track_data" and _CONTROL.search(text):
        raise ValueError("contains a line break or another control character")
    reader = _READERS.get(field) or (key_text if field.endswith("_id") else str)
    return reader(text)


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


def lacks_zero(zip_code: str) -> bool:
    """Whether a zip code seems to have lost its leading zero."""
    return _ZIP_WITHOUT_ZERO.fullmatch(zip_code) is not None


def is_us_state(state: str) -> bool:
    """Whether a text is a US state."""
    return _US_STATE.fullmatch(state.strip()) is not None


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
    parts = _named_month(bare) or _numbered_month(bare) or _month_of_date(bare)
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
    return None


def is_full_date(text: str) -> bool:
    """Whether an expiry has a day, so that a spreadsheet may have changed it."""
    bare = text.removeprefix("'").strip()
    return bool(_YEAR_FIRST.fullmatch(bare) or _YEAR_LAST.fullmatch(bare))


def _month_of_date(text: str) -> tuple[int, str] | None:
    """Return the month that a full date begins or ends.

    Spreadsheets take 09/27 for a day of this year, 2026-09-27. The first or last day of a month is probably meant as an
    expiry. Any other day is not.
    """
    if _SERIAL_DATE.fullmatch(text):
        raise _ambiguous("a spreadsheet's serial number", "of a day")
    if match := _YEAR_FIRST.fullmatch(text):
        form, year, month, day = "year, month, day", match["year"], int(match["month"]), int(match["day"])
    elif match := _YEAR_LAST.fullmatch(text):
        year = match["year"]
        form = f"two numbers and a year of {len(year)} digits"
        month, day = _month_and_day(int(match["first"]), int(match["second"]), form)
    else:
        return None
    if year[:-2] != "20":
        raise _ambiguous(form, "of another century, or of none")
    if not (1 <= month <= _YEAR_END and 1 <= day <= (last := monthrange(int(year), month)[1])):
        return None
    if day not in (1, last):
        raise _ambiguous(form, "whose day is neither the first nor the last of its month")
    if day == last and match["time"] and int(match["time"].split(":")[0]) >= _NOON and match["time"] != _LAST_MINUTE:
        raise _ambiguous(form, "that may be the next day in another time zone")
    return month, year[-2:]


def _month_and_day(first: int, second: int, form: str) -> tuple[int, int]:
    """Return the month and the day of a date of unknown order: 12/31/2030 is clear, 01/12/2030 is ambiguous."""
    months = {part for part in (first, second) if part <= _YEAR_END}
    if len(months) > 1:
        raise _ambiguous(form, "of which either number can be the month")
    month = next(iter(months), 0)
    return month, second if first == month else first


def _ambiguous(form: str, problem: str) -> ValueError:
    """Return the error of a full date. It names the form of the cell, not its value."""
    return ValueError(
        f"{AMBIGUOUS_DATE} ({form}) {problem}; a spreadsheet may have changed the whole column (expected months and "
        f"years as text, {EXPIRY_FORMS})"
    )


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
