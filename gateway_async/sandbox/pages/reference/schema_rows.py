"""Describe a JSON Schema as the rows of a table."""

from collections.abc import Iterator
from typing import Any

import attrs

__all__ = ["SchemaRow", "describe_type", "list_rows"]


_DEEPEST = 2
_LARGEST_SHOWN = 10**9
"""A larger maximum only says how many digits a number may have."""


@attrs.frozen
class SchemaRow:
    """One property of an object.

    Attributes:
        name: The path of names, such as `contact.last_name`.
        type: What its values are, in words.
    """

    name: str
    type: str
    required: bool
    description: str


def list_rows(schema: dict[str, Any], prefix: str = "", depth: int = 1) -> Iterator[SchemaRow]:
    """Yield the properties of an object, and those inside them."""
    for name, each in _properties(schema).items():
        path = f"{prefix}{name}"
        yield SchemaRow(path, describe_type(each), name in schema.get("required", ()), each.get("description", ""))
        inner = each.get("items", each) if each.get("type") == "array" else each
        if depth < _DEEPEST and inner.get("properties"):
            yield from list_rows(inner, f"{path}{'[]' if inner is not each else ''}.", depth + 1)


def _properties(schema: dict[str, Any]) -> dict[str, Any]:
    merged: dict[str, Any] = dict(schema.get("properties", {}))
    for alternative in schema.get("anyOf", ()):
        merged |= alternative.get("properties", {})
    return merged


def describe_type(schema: dict[str, Any]) -> str:
    """Return what the values of a schema are: "text of 1 to 64 characters", "one of c, d"."""
    if "title" in schema:
        return str(schema["title"])
    if "enum" in schema:
        return "one of " + ", ".join(str(value) for value in schema["enum"] if value is not None)
    if "const" in schema:
        return f"always {schema['const']}"
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(describe_type(each) for each in schema["anyOf"] if each.get("type") != "null"))
    types = schema.get("type", "any value")
    names = [types] if isinstance(types, str) else [name for name in types if name != "null"]
    return " or ".join(_describe_plain(name, schema) for name in names) or "null"


def _describe_plain(name: str, schema: dict[str, Any]) -> str:
    match name:
        case "string":
            return schema.get("format") or f"text{_describe_length(schema)}"
        case "array":
            return f"list: {describe_type(schema['items'])}" if "items" in schema else "list"
        case "integer" | "number" if "minimum" in schema or "maximum" in schema:
            return f"{name}{_describe_bounds(schema)}"
        case _:
            return name


def _describe_length(schema: dict[str, Any]) -> str:
    low, high = schema.get("minLength", 0), schema.get("maxLength")
    if high is None:
        return ""
    if low == high:
        return f" of {high} characters" if high > 1 else " of 1 character"
    return f" of {low} to {high} characters" if low else f" of at most {high} characters"


def _describe_bounds(schema: dict[str, Any]) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    parts = [
        f"from {low}" if low is not None else "",
        f"to {high}" if high is not None and high < _LARGEST_SHOWN else "",
    ]
    return " " + " ".join(filter(None, parts))
