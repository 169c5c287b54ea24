"""Validates a request body against a field table.

It reports every problem at once. An unknown field, or one that the caller may not set, is a problem. There are two
exceptions: a field that has the stored value already (null for a new record), and a field that is computed for each
response. Therefore a client can read a record, change it and send it back whole. Null clears a field or restores its
default.
"""

from typing import Any

import msgspec

from gateway_async.sandbox.http.errors import Problems
from gateway_async.sandbox.schema.fields import Field, Row, Table, label

__all__ = ["read_fields"]


def read_fields(table: Table, body: Row, problems: Problems, *, current: Row | None = None) -> Row:
    """Return the valid fields of a body in stored form.

    `current` is the stored record that a PUT changes; None for a POST.
    """
    method = "POST" if current is None else "PUT"
    values: Row = {}
    for name, value in body.items():
        field = table.by_name.get(name)
        if field and method in field.settable:
            _read_field(field, value, values, problems)
        elif not _is_unchanged(table, field, name, value, current):
            problems.add(name, f"{label(name)} {'cannot be set.' if field else 'is not a known field.'}")
    for field in table.fields:
        if field.required and _is_blank(field, values, problems, current):
            problems.add(field.name, f"{field.label} cannot be blank.")
    return values


def _read_field(field: Field, value: Any, values: Row, problems: Problems) -> None:
    try:
        values[field.name] = field.default if value is None else field.read(value)
    except ValueError as problem:
        problems.add(field.name, str(problem))


def _is_unchanged(table: Table, field: Field | None, name: str, value: Any, current: Row | None) -> bool:
    """Return whether a field that cannot be set is harmless.

    It has the stored value, or is computed for each response.
    """
    if current is None:
        return field is not None and value is None
    if name == "_links":
        return True
    if field is None or not field.stored:
        return field is not None and not field.settable
    return (value is None and current[name] is None) or _equals_shown(field, value, table.show(current).get(name))


def _equals_shown(field: Field, value: Any, shown: Any) -> bool:
    if isinstance(shown, msgspec.Raw):
        return bool(value == msgspec.json.decode(bytes(shown)))
    try:
        return value == shown or field.kind.read(value) == field.kind.read(shown)
    except ValueError:
        return False


def _is_blank(field: Field, values: Row, problems: Problems, current: Row | None) -> bool:
    left_out = field.name not in values and current is None
    emptied = field.name in values and values[field.name] in {None, ""}
    return (left_out or emptied) and field.name not in problems
