"""The fields of level 3 data (contract, "Level 3"): the lines of a payment, for the owner of a purchasing card.

The fields of the data and of its lines depend on the brand of the card. Numbers are texts of at most four decimals.
"""

import re
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Any

from gateway_async.sandbox.schema.fields import NEVER, ONCE, Field, Table, read_only
from gateway_async.sandbox.schema.kinds import BIT, CODE, OBJECT, TIMESTAMP, Kind

__all__ = ["LEVEL3_DATA", "LINE_ITEM", "TAX_TYPES", "TRANSACTION_LEVEL3"]


_NUMBER = re.compile(r"[0-9]+(\.[0-9]{1,4})?")
_WORDS = re.compile(r"[A-Za-z0-9 ]*")
_SHORT_DATE = re.compile(r"[0-9]{6}")

TAX_TYPES = ("00", "01", "02", "03", "04", "05", "06", "10", "11", "12", "13", "14", "20", "21", "22")
"""The values of `tax_type_id`, from unknown (00) to energy (22)."""


def _read_number(value: Any) -> str:
    plain = isinstance(value, int | str | Decimal) and not isinstance(value, bool)
    if not plain or not _NUMBER.fullmatch(str(value)):
        raise ValueError("must be a number of at most 4 decimals.")
    return str(value)


def _read_words(value: Any) -> str:
    if not isinstance(value, str) or not _WORDS.fullmatch(value):
        raise ValueError("must consist of letters, digits and blanks.")
    return value


def _read_short_date(value: Any) -> str:
    try:
        written = value if isinstance(value, str) and _SHORT_DATE.fullmatch(value) else ""
        return f"{datetime.strptime(written, '%y%m%d'):%y%m%d}"  # noqa: DTZ007  # only a date
    except ValueError:
        raise ValueError("must be a date of the form YYMMDD.") from None


_AMOUNT = Kind("TEXT", _read_number)
_TEXT = Kind("TEXT", _read_words)
_DATE = Kind("TEXT", _read_short_date)

_DATA = (
    *(Field(name, _AMOUNT, 0, 10) for name in ("sales_tax", "national_tax")),
    *(Field(name, _AMOUNT, 0, 12) for name in ("freight_amount", "duty_amount")),
    Field("tax_amount", _AMOUNT, 0, 9),
    Field("tax_exempt", BIT),
    *(Field(name, _TEXT, 0, 10) for name in ("shipto_zip_code", "shipfrom_zip_code")),
    Field("destination_country_code", CODE, 3, 3),
    Field("transaction_discount_amount", _AMOUNT, 0, 12),
)
_VISA_DATA = (
    Field("tax_rate", _AMOUNT, 0, 4, required=True),
    Field("order_date", _DATE),
    Field("summary_commodity_code", CODE, 0, 4),
    Field("unique_vat_ref_number", CODE, 0, 15),
    Field("merchant_vat_registration", CODE, 0, 20),
    Field("customer_vat_registration", CODE, 0, 13),
)
_LINE = (
    Field("description", _TEXT, 1, 26, required=True),
    Field("product_code", CODE, 1, 12, required=True),
    Field("quantity", _AMOUNT, 1, 4, required=True),
    Field("unit_code", CODE, 1, 3, required=True),
    Field("unit_cost", _AMOUNT, 1, 12, required=True),
    Field("tax_amount", _AMOUNT, 1, 9, required=True),
    Field("tax_rate", _AMOUNT, 1, 2, required=True),
    Field("discount_amount", _AMOUNT, 0, 12),
)
_VISA_LINE = (
    Field("commodity_code", CODE, 1, 12, required=True),
    Field("other_tax_amount", _AMOUNT, 0, 12),
)
_MASTERCARD_LINE = (
    Field("alternate_tax_id", CODE, 0, 15),
    Field("debit_credit", CODE, choices=("D", "C")),
    Field("discount_rate", _AMOUNT, 0, 5),
    Field("tax_type_applied", CODE, 0, 4),
    Field("tax_type_id", CODE, 2, 2, choices=TAX_TYPES),
)


def _by_brand(singular: str, plural: str, **fields: tuple[Field, ...]) -> Mapping[str, Table]:
    return MappingProxyType({brand: Table(singular, plural, own) for brand, own in fields.items()})


LEVEL3_DATA = _by_brand("level3_data", "level3_data", visa=_DATA + _VISA_DATA, mc=_DATA)
"""The fields of `level3_data`, but for its lines, by the brand of the card."""

LINE_ITEM = _by_brand("line_item", "line_items", visa=_LINE + _VISA_LINE, mc=_LINE + _MASTERCARD_LINE)
"""The fields of a line, by the brand of the card."""

TRANSACTION_LEVEL3 = Table(
    "transactionlevel3",
    "transactionlevel3s",
    (
        Field("id", CODE, settable=NEVER),
        Field("transaction_id", CODE, 1, 36, settable=ONCE, required=True, references="transactions"),
        Field("level3_data", OBJECT, settable=ONCE, required=True),
        *read_only(created_ts=TIMESTAMP, modified_ts=TIMESTAMP),
        Field("location_id", CODE, settable=NEVER, shown=False),
    ),
)
