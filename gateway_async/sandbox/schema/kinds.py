"""The kinds of field values.

Each kind defines how values are read from JSON, stored in SQLite, shown and searched. Reading accepts every known
form of a value: a flag may be 1, "1" or true, and an amount a number or a string. It refuses other types, such as
a list as an amount or a number as a title. Money becomes integer cents and is never a float in between.
"""

import base64
import json
import re
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from enum import Enum, auto
from typing import Any, Literal

import attrs
import msgspec

Stored = str | int | None

_AMOUNT = re.compile(r"([0-9]{1,8})(?:\.([0-9]{1,2}))?")
_BALANCE = re.compile(r"([0-9]{1,9})(?:\.([0-9]{1,2}))?")
_LARGEST_AMOUNT = 10**10 - 1
_TYPE_CHARACTERS = 2
_DIGITS = re.compile(r"[0-9]{1,15}")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
DEFAULT_CURRENCY = "USD"
_CURRENCIES = frozenset(
    """
    AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CNY COP CRC CUP
    CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES KGS
    KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD
    PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP
    TRY TTD TWD TZS UAH USD UYU UZS VED VES WST XCD YER ZAR ZMW ZWG
    """.split()  # noqa: SIM905  # a hundred and forty lines would say no more
)
"""The currencies of ISO 4217 with two decimals, which is what the amounts of the contract have."""

NO_DATE = "0000-00-00"
"""The text that some records show for no date."""

_NUMBER = re.compile(r"[0-9]+(\.[0-9]{1,4})?")
_WORDS = re.compile(r"[A-Za-z0-9 ]*")
_SHORT_DATE = re.compile(r"[0-9]{6}")
_PNG = b"\x89PNG\r\n\x1a\n"
_FLAGS = {"1": 1, "true": 1, "0": 0, "false": 0}
_JSON = msgspec.json.Encoder(decimal_format="number")


class Search(Enum):
    """How a list filter on a field matches."""

    SUBSTRING = auto()
    ANY_OF = auto()
    AMOUNT = auto()
    TIMESTAMP = auto()


@attrs.frozen
class Kind:
    """One kind of value.

    Attributes:
        column: Its SQLite type.
        read: Converts JSON (or the text of a filter) to the stored value. Raises ValueError with the
            predicate of a sentence: "must be a string."
        show: Converts the stored value to JSON; None when they are the same.
        search: How a filter on it matches.
        to_text: Converts the stored value to the text whose length is limited.
    """

    column: Literal["TEXT", "INTEGER", "BLOB"]
    read: Callable[[Any], str | int]
    show: Callable[[Any], Any] | None = None
    search: Search = Search.ANY_OF
    to_text: Callable[[Any], str] = str


def _read_text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("must be a string.")  # the same error type for every invalid value
    if "\0" in value:
        raise ValueError("must not contain NUL characters.")
    return value


def _read_integer(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | str) or not _DIGITS.fullmatch(str(value)):
        raise ValueError("must be an integer.")
    return int(value)


def _read_flag(value: Any) -> int:
    if not isinstance(value, int | str) or str(value).lower() not in _FLAGS:
        raise ValueError('must be either "1" or "0".')
    return _FLAGS[str(value).lower()]


def _read_raw_flag(value: Any) -> str:
    _read_flag(value)
    return _JSON.encode(value).decode()


def is_set(raw: str) -> bool:
    """Whether a flag that is stored as sent is true."""
    return bool(_read_flag(json.loads(raw)))


def _read_money(value: Any) -> int:
    return _read_cents(value, _AMOUNT, "must be an amount of at most 8 digits and 2 decimals.")


def _read_balance(value: Any) -> int:
    return _read_cents(value, _BALANCE, "must be an amount of at most 9 digits and 2 decimals.")


def _read_cents(value: Any, form: re.Pattern[str], problem: str) -> int:
    plain = isinstance(value, int | str | Decimal) and not isinstance(value, bool)
    amount = form.fullmatch(str(value)) if plain else None
    if amount is None:
        raise ValueError(problem)
    whole, decimals = amount.groups(default="")
    return int(whole) * 100 + int(decimals.ljust(2, "0"))


def show_money(cents: int) -> str:
    """Format an amount as responses show it, with two decimals."""
    sign, cents = ("-", -cents) if cents < 0 else ("", cents)
    return f"{sign}{cents // 100}.{cents % 100:02}"


def check_currency(code: str) -> str:
    """Check the code of a currency.

    Raises:
        ValueError: It is not one of ISO 4217, or its amounts do not have two decimals.
    """
    if not isinstance(code, str) or code not in _CURRENCIES:
        raise ValueError(f"currency: {code!r} is unknown (expected an ISO 4217 code with two decimals, such as EUR).")
    return code


def _read_date(value: Any) -> str:
    try:
        written = value if isinstance(value, str) and _DATE.fullmatch(value) else ""
        return date.fromisoformat(written).isoformat()
    except ValueError:
        raise ValueError("must be a date of the form 2025-12-31.") from None


def _read_date_or_zeros(value: Any) -> str:
    return NO_DATE if value == NO_DATE else _read_date(value)


def _read_object(value: Any) -> str:
    if not isinstance(value, dict):
        raise ValueError("must be an object.")  # the same error type for every invalid value
    try:
        return _JSON.encode(value).decode()
    except RecursionError:
        raise ValueError("is nested too deeply.") from None


def _read_items(value: Any) -> str:
    for name, amount in value.items() if isinstance(value, dict) else ():
        if not name.strip():
            raise ValueError("must have a name for each item.")
        try:
            _read_item(amount)
        except ValueError as reason:
            raise ValueError(f"has an item {name[:64]!r} that {reason}") from None
    text = _read_object(value)
    if not 0 <= total(text) <= _LARGEST_AMOUNT:
        raise ValueError(f"must come to 0.00 at least and {show_money(_LARGEST_AMOUNT)} at most, in all.")
    return text


def _read_item(value: Any) -> int:
    """Read the amount of an item; a discount is negative."""
    text = str(value)
    return -_read_money(text[1:]) if text.startswith("-") else _read_money(value)


def cents_by_item(items: str) -> dict[str, int]:
    """The names and the cents of a stored item list."""
    return {name: _read_item(amount) for name, amount in json.loads(items, parse_float=Decimal).items()}


def total(items: str) -> int:
    """The sum of a stored item list, in cents."""
    return sum(cents_by_item(items).values())


def _read_tags(value: Any) -> str:
    if not isinstance(value, list) or not all(isinstance(tag, str) and tag.strip() for tag in value):
        raise ValueError("must be an array of strings that are not blank.")
    return _JSON.encode(value).decode()


def _read_titles(value: Any) -> str:
    """Read titles: text with commas, an array, or tags from a response."""
    if isinstance(value, str):
        value = [title.strip() for title in value.split(",") if title.strip()]
    if isinstance(value, list):
        value = [tag.get("title") if isinstance(tag, dict) else tag for tag in value]
    return _read_tags(value)


def _read_amounts(value: Any) -> str:
    if not isinstance(value, list):
        raise ValueError("must be an array of objects with type and amount.")
    return _JSON.encode([_read_typed_amount(entry) for entry in value]).decode()


def _read_typed_amount(entry: Any) -> dict[str, str]:
    if not isinstance(entry, dict) or entry.keys() != {"type", "amount"}:
        raise ValueError("must be an array of objects with type and amount.")
    if not isinstance(entry["type"], str) or len(entry["type"]) != _TYPE_CHARACTERS:
        raise ValueError(f"has a type that must have {_TYPE_CHARACTERS} characters.")
    return {"type": entry["type"], "amount": show_money(_read_balance(entry["amount"]))}


def _read_picture(value: Any) -> str:
    try:
        picture = base64.b64decode(value, validate=True) if isinstance(value, str) else b""
    except ValueError:
        picture = b""
    if not picture.startswith(_PNG):
        raise ValueError("must be a PNG in base64.")
    return str(value)


def _read_number(value: Any) -> str:
    plain = isinstance(value, int | str | Decimal) and not isinstance(value, bool)
    if not plain or not _NUMBER.fullmatch(str(value)):
        raise ValueError("must be a number of at most 4 decimals.")
    return str(value)


def _read_words(value: Any) -> str:
    if not isinstance(value, str) or not _WORDS.fullmatch(value):
        raise ValueError("must consist of letters, digits and spaces.")
    return value


def _read_short_date(value: Any) -> str:
    try:
        written = value if isinstance(value, str) and _SHORT_DATE.fullmatch(value) else ""
        return f"{datetime.strptime(written, '%y%m%d'):%y%m%d}"  # noqa: DTZ007  # only a date
    except ValueError:
        raise ValueError("must be a date of the form YYMMDD.") from None


def _read_bytes(_value: Any) -> str:
    raise ValueError("must be sent as a file.")


def _show_json(text: str) -> msgspec.Raw:
    return msgspec.Raw(text.encode())


TEXT = Kind("TEXT", _read_text, search=Search.SUBSTRING)
CODE = Kind("TEXT", _read_text)
HIDDEN_CODE = Kind("TEXT", _read_text, show=lambda _: None)
INTEGER = Kind("INTEGER", _read_integer)
FLAG = Kind("INTEGER", _read_flag, show=bool)
BIT = Kind("INTEGER", _read_flag)
RAW_FLAG = Kind("TEXT", _read_raw_flag, show=_show_json)
MONEY = Kind("INTEGER", _read_money, show=show_money, search=Search.AMOUNT, to_text=show_money)
BALANCE = Kind("INTEGER", _read_balance, show=show_money, search=Search.AMOUNT, to_text=show_money)
DATE = Kind("TEXT", _read_date)
DATE_OR_ZEROS = Kind("TEXT", _read_date_or_zeros)
TIMESTAMP = Kind("INTEGER", _read_integer, search=Search.TIMESTAMP)
OBJECT = Kind("TEXT", _read_object, show=_show_json, search=Search.SUBSTRING)
ITEMS = Kind("TEXT", _read_items, show=_show_json, search=Search.SUBSTRING)
TAGS = Kind("TEXT", _read_tags, show=_show_json, search=Search.SUBSTRING)
TEXT_OR_TAGS = Kind("TEXT", _read_titles, show=_show_json, search=Search.SUBSTRING)
AMOUNTS = Kind("TEXT", _read_amounts, show=_show_json, search=Search.SUBSTRING)
BYTES = Kind("BLOB", _read_bytes)

KINDS_BY_NAME = {
    "alias": TEXT,
    "amounts": AMOUNTS,
    "balance": BALANCE,
    "bit": BIT,
    "bytes": BYTES,
    "code": CODE,
    "date": DATE,
    "date-and-time": TEXT,
    "date-or-zeros": DATE_OR_ZEROS,
    "digits": CODE,
    "files": OBJECT,
    "flag": FLAG,
    "id": CODE,
    "integer": INTEGER,
    "items": ITEMS,
    "list": OBJECT,
    "money": MONEY,
    "number": Kind("TEXT", _read_number),
    "object": OBJECT,
    "own-id": TEXT,
    "picture": Kind("TEXT", _read_picture),
    "raw-flag": RAW_FLAG,
    "short-date": Kind("TEXT", _read_short_date),
    "surcharge": FLAG,
    "tags": TEXT_OR_TAGS,
    "text": TEXT,
    "texts": TAGS,
    "timestamp": TIMESTAMP,
    "url": TEXT,
    "words": Kind("TEXT", _read_words),
}
"""The kinds by their names in the data files. Some names differ only for readers and for the client."""
