"""Masking of card and bank numbers in rows, and removal of columns that a migration does not read."""

import re
from collections.abc import Mapping
from typing import Any, Final

from gateway_async._secrets import is_confidential, mask_digits, mask_text, seal
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


def mask_unreadable(row: Mapping[str, Any]) -> dict[str, Any]:
    """Hide values that may contain a card number."""
    return {name: _HIDDEN if _POSSIBLE_SECRET.search(str(value)) else value for name, value in row.items()}


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
