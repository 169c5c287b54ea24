"""Masking of card and bank numbers in rows, and removal of columns that a migration does not read."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from gateway_async._secrets import is_confidential, luhn_valid, mask_digits, mask_text, seal
from gateway_async.migration.rows.builder import CARD_LENGTHS
from gateway_async.migration.rows.columns import ColumnMapping

__all__ = ["mask_row", "mask_unreadable"]

_POSSIBLE_SECRET: Final = re.compile(r"(?:\d\D*){3}", re.DOTALL)
"""At least as many digits as a CVV has, in a text of unknown meaning."""

_HIDDEN: Final = "************"


def mask_row(row: Mapping[str, Any], mapping: ColumnMapping) -> dict[str, Any]:
    """Mask a row's cells. Columns that are neither a field nor the key are left out, as they may hold anything."""
    cells = zip(mapping.fields, row.items(), strict=True)
    return {
        name: _mask_cell(field, value)
        for index, (field, (name, value)) in enumerate(cells)
        if field or index == mapping.key
    }


def mask_unreadable(row: Mapping[str, Any], mapping: ColumnMapping) -> dict[str, Any]:
    """Hide values that may contain a secret: a cell may be missing, so that the others are in wrong columns.

    The key is shown if a card number is where it should be.
    """
    cells = [*row.values()]
    key = mapping.key if _has_card_in_place(cells, mapping) else None
    return {
        name: mask_text(str(value)) if index == key else _hide(value) for index, (name, value) in enumerate(row.items())
    }


def _has_card_in_place(cells: Sequence[Any], mapping: ColumnMapping) -> bool:
    if "account_number" not in mapping.fields:
        return False
    number = re.sub(r"[\s-]", "", str(cells[mapping.fields.index("account_number")]))
    return len(number) in CARD_LENGTHS and number.isascii() and number.isdigit() and luhn_valid(number)


def _hide(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_hide(inner) for inner in value]
    return _HIDDEN if _POSSIBLE_SECRET.search(str(value)) else value


def _mask_cell(field: str | None, value: Any) -> Any:
    if value in (None, ""):
        return value
    if isinstance(value, dict):
        return {name: _mask_cell(field, inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_mask_cell(field, inner) for inner in value]
    if field is not None and is_confidential(field):
        return str(seal({field: str(value)})[field])  # of a number, the last four digits remain
    is_identifier = field is None or field.endswith("_id")  # a changed id would store the account twice
    text = (mask_text if is_identifier else mask_digits)(str(value))
    return value if text == str(value) else text
