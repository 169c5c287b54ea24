"""The schemas of multipart forms, in which every value is text or a file."""

from gateway_async.sandbox.handlers.invoice_files import MOST_FILES
from gateway_async.sandbox.openapi.values import Schema, describe_accepted
from gateway_async.sandbox.schema.fields import Field, Table
from gateway_async.sandbox.schema.kinds import AMOUNTS, ITEMS, OBJECT, TAGS

__all__ = ["FILE", "describe_form", "make_form"]


FILE: Schema = {"type": "string", "format": "binary"}
"""A part that is a file, with a file name."""

_IN_PARTS = (ITEMS, TAGS, OBJECT, AMOUNTS)
"""The kinds of values that have a part for each item."""


def make_form(properties: dict[str, Schema], *required: str, patterns: dict[str, Schema] | None = None) -> Schema:
    """Return a body that is a multipart form."""
    schema: Schema = {"type": "object", "required": [*required], "properties": properties}
    schema |= {"patternProperties": patterns} if patterns else {}
    return {"multipart/form-data": {"schema": schema | {"additionalProperties": False}}}


def describe_form(table: Table) -> Schema:
    """Return a record with files as a form: `quickinvoice[title]`, `quickinvoice[item_list][Tea]`."""
    name = table.singular
    fields = [field for field in table.fields if "POST" in field.settable and field.kind not in _IN_PARTS]
    texts = {f"{name}[{field.name}]": _describe_text(field) for field in fields}
    files = {f"{name}[files][{number}]": FILE for number in range(MOST_FILES)}
    items = {
        rf"^{name}\[item_list\]\[[^\[\]]+\]$": {"type": "string", "pattern": r"^-?[0-9]{1,8}(\.[0-9]{1,2})?$"},
        rf"^{name}\[tags\]\[[0-9]{{1,4}}\]$": {"type": "string", "pattern": r"\S"},
    }
    required = [f"{name}[{field.name}]" for field in fields if field.required]
    return make_form(texts | files, *required, patterns=items)


def _describe_text(field: Field) -> Schema:
    """Return the forms of a value that are text."""
    schema = describe_accepted(field)
    if "enum" in schema:
        return {"enum": [value for value in schema["enum"] if isinstance(value, str)]}
    if "anyOf" in schema:
        return next(each for each in schema["anyOf"] if each.get("type") == "string")
    return schema | {"type": "string"}
