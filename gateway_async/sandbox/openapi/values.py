"""The JSON Schemas of values: what a request may contain, and what responses contain."""

from typing import Any

from gateway_async.sandbox.schema import kinds
from gateway_async.sandbox.schema.fields import Field
from gateway_async.sandbox.schema.kinds import Kind

__all__ = ["FLAG_SCHEMA", "Schema", "describe_accepted", "describe_shown"]


Schema = dict[str, Any]

FLAG_SCHEMA: Schema = {"title": "flag", "enum": [True, False, 1, 0, "1", "0", "true", "false"]}
"""A flag in a request, in every form that is accepted."""

_MOST_DIGITS = 15
_SHOWN_MONEY = {"type": ["string", "null"], "pattern": r"^[0-9]+\.[0-9]{2}$"}
_DATE = {"type": "string", "format": "date"}
_NOT_BLANK = {"type": "string", "pattern": r"\S"}
_ANY_JSON = {"type": ["object", "array", "null"]}


def _amount(whole_digits: int, *, signed: bool = False) -> Schema:
    largest = 10**whole_digits - 0.01
    return {
        "title": f"amount of at most {whole_digits} digits and 2 decimals",
        "anyOf": [
            {"type": "string", "pattern": rf"^{'-?' if signed else ''}[0-9]{{1,{whole_digits}}}(\.[0-9]{{1,2}})?$"},
            {"type": "number", "minimum": -largest if signed else 0, "maximum": largest},
        ],
    }


_MONEY, _BALANCE = _amount(8), _amount(9)
_TYPED_AMOUNT = {
    "type": "object",
    "required": ["type", "amount"],
    "properties": {"type": {"type": "string", "minLength": 2, "maxLength": 2}, "amount": _BALANCE},
    "additionalProperties": False,
}
_TITLED = {"type": "object", "required": ["title"], "properties": {"title": _NOT_BLANK}}

_ACCEPTED: dict[Kind, Schema] = {
    kinds.FLAG: FLAG_SCHEMA,
    kinds.BIT: FLAG_SCHEMA,
    kinds.RAW_FLAG: FLAG_SCHEMA,
    kinds.MONEY: _MONEY,
    kinds.BALANCE: _BALANCE,
    kinds.DATE: _DATE,
    kinds.DATE_OR_ZEROS: {"title": f"date, or {kinds.NO_DATE}", "anyOf": [_DATE, {"const": kinds.NO_DATE}]},
    kinds.OBJECT: {"type": "object"},
    kinds.ITEMS: {
        "title": "names and amounts",
        "description": "An amount may be negative, the sum may not.",
        "type": "object",
        "minProperties": 1,
        "propertyNames": _NOT_BLANK,
        "additionalProperties": _amount(8, signed=True),
    },
    kinds.TAGS: {"title": "texts", "type": "array", "items": _NOT_BLANK},
    kinds.TEXT_OR_TAGS: {
        "title": "text with commas, or a list of texts or tags",
        "anyOf": [{"type": "string"}, {"type": "array", "items": {"anyOf": [_NOT_BLANK, _TITLED]}}],
    },
    kinds.AMOUNTS: {"title": "list of types and amounts", "type": "array", "items": _TYPED_AMOUNT},
}
"""The kinds whose values are not plain text or numbers."""

_NUMBERS = (kinds.INTEGER, kinds.TIMESTAMP)

_SHOWN: dict[Kind, Schema] = {
    kinds.TEXT: {"type": ["string", "null"]},
    kinds.CODE: {"type": ["string", "null"]},
    kinds.HIDDEN_CODE: {"type": "null"},
    kinds.INTEGER: {"type": ["integer", "null"]},
    kinds.TIMESTAMP: {"type": ["integer", "null"], "description": "Unix seconds."},
    kinds.FLAG: {"type": ["boolean", "null"]},
    kinds.BIT: {"enum": [1, 0, None]},
    kinds.RAW_FLAG: {"description": "As it was sent.", "enum": [*FLAG_SCHEMA["enum"], None]},
    kinds.MONEY: _SHOWN_MONEY,
    kinds.BALANCE: _SHOWN_MONEY,
    kinds.DATE: {"type": ["string", "null"], "format": "date"},
    kinds.DATE_OR_ZEROS: {"anyOf": [_DATE, {"enum": [kinds.NO_DATE, None]}]},
    kinds.OBJECT: _ANY_JSON,
    kinds.ITEMS: _ANY_JSON,
    kinds.TAGS: {"type": ["array", "null"], "items": {"type": "string"}},
    kinds.TEXT_OR_TAGS: {"type": ["array", "null"], "items": {"type": "string"}},
    kinds.AMOUNTS: {"type": ["array", "null"], "items": _TYPED_AMOUNT},
}


def describe_accepted(field: Field) -> Schema:
    """Return the schema of a field in a request. Null clears it, unless it is required."""
    schema = _describe_value(field)
    if field.references:
        schema = schema | {"description": f"The id of one of the {field.references}."}
    return schema if field.required else _or_null(schema)


def describe_shown(field: Field) -> Schema:
    """Return the schema of a field in a response; kinds of a single table are text."""
    return _SHOWN.get(field.kind, _SHOWN[kinds.TEXT])


def _describe_value(field: Field) -> Schema:
    if field.choices:
        return {"type": "string", "enum": [*field.choices]}
    if field.kind in _NUMBERS:
        return _describe_number(field.max_length or _MOST_DIGITS)
    return _ACCEPTED.get(field.kind) or _describe_text(field)


def _describe_number(digits: int) -> Schema:
    text = {"type": "string", "pattern": rf"^0*[0-9]{{1,{digits}}}$", "maxLength": _MOST_DIGITS}
    title = f"integer of at most {digits} digit{'s' if digits > 1 else ''}"
    return {"title": title, "anyOf": [{"type": "integer", "minimum": 0, "maximum": 10**digits - 1}, text]}


def _describe_text(field: Field) -> Schema:
    limits: Schema = {}
    if shortest := max(field.min_length, int(field.required)):
        limits["minLength"] = shortest
    if field.max_length is not None:
        limits["maxLength"] = field.max_length
    return {"type": "string"} | limits


def _or_null(schema: Schema) -> Schema:
    if "enum" in schema:
        kinds_of_value = {"type": [schema["type"], "null"]} if "type" in schema else {}
        return schema | kinds_of_value | {"enum": [*schema["enum"], None]}
    if "anyOf" in schema:
        return schema | {"anyOf": [*schema["anyOf"], {"type": "null"}]}
    return schema | {"type": [schema["type"], "null"]}
