"""The JSON Schemas of values, records and forms."""

from typing import Any

from gateway_async.sandbox.handlers.quick_invoices import MOST_FILES
from gateway_async.sandbox.request.expands import COMPUTED, EXPANDS
from gateway_async.sandbox.schema import (
    ACCOUNT_VAULT,
    CONTACT,
    QUICK_INVOICE,
    ROUTER_ACCOUNT_VAULT,
    ROUTER_TRANSACTION,
    TABLES,
    TRANSACTION,
    USER,
    kinds,
)
from gateway_async.sandbox.schema.fields import Field, Table
from gateway_async.sandbox.schema.kinds import AMOUNTS, ITEMS, OBJECT, TAGS, Kind

NAMES = {table.plural: table.name for table in TABLES.values() if table.name}
Schema = dict[str, Any]
FLAG_SCHEMA: Schema = {"title": "flag", "enum": [True, False, 1, 0, "1", "0", "true", "false"]}
"""A flag in a request, in every form that is accepted."""

_MOST_DIGITS = 15
_SHOWN_MONEY = {"type": ["string", "null"], "pattern": r"^[0-9]+\.[0-9]{2}$"}
_DATE = {"type": "string", "format": "date"}
_NOT_BLANK = {"type": "string", "pattern": r"\S"}
_ANY_JSON = {"type": ["object", "array", "null"]}
_TITLED = {"type": "object", "required": ["title"], "properties": {"title": _NOT_BLANK}}
_NUMBERS = (kinds.INTEGER, kinds.TIMESTAMP)
_LINK: Schema = {"type": "object", "required": ["href"], "properties": {"href": {"type": "string"}}}
_LINKS: Schema = {"type": "object", "required": ["self"], "additionalProperties": _LINK}
_TAGS: Schema = {"type": "array", "items": {"type": "object", "required": ["id", "title"]}}

_ADDED: dict[Table, dict[str, Schema]] = {
    CONTACT: {"header_message_type": {"type": ["integer", "null"]}},
    ACCOUNT_VAULT: {"expiring_in_months": {"type": ["integer", "null"], "minimum": 0}},
    USER: {name: {"type": "null"} for name in ("user_api_key", "user_hash_key")},
}
"""The fields that are computed for each response, besides relations."""

_SOMETIMES: dict[Table, dict[str, Schema]] = {TRANSACTION: {"tags": _TAGS}}
"""The fields that only some records have."""

FILE: Schema = {"type": "string", "format": "binary"}
"""A part that is a file, with a file name."""

_IN_PARTS = (ITEMS, TAGS, OBJECT, AMOUNTS)
"""The kinds of values that have a part for each item."""


def segment_of(path: str) -> str:
    """The segment of a path that names the record type."""
    return path.removeprefix("/v2").split("/")[1]


def schema_name(plural: str) -> str:
    """The name of the schema of a record type: `accountvaults` is "AccountVault"."""
    return NAMES[plural].title().replace(" ", "")


def with_article(plural: str) -> str:
    """The name of one record: "a contact", "an account vault"."""
    name = NAMES[plural]
    return f"{'an' if name[0] in 'aeio' else 'a'} {name}"


def plural_name(plural: str) -> str:
    """The name of several records: "contacts", "transaction batches"."""
    name = NAMES[plural]
    if name == "file storage":
        return name
    return f"{name}{'es' if name.endswith('ch') else 's'}"


def operation_id(summary: str) -> str:
    """The id of an operation: "Create a contact" is `createContact`."""
    first, *others = [word for word in summary.split() if word not in ("a", "an", "the")]
    return first.lower() + "".join(word[0].upper() + word[1:] for word in others)


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


def _describe_accepted(field: Field) -> Schema:
    """Describe the schema of a field in a request. Null clears it, unless it is required."""
    schema = _describe_value(field)
    if field.references:
        schema = schema | {"description": f"The id of one of the {field.references}."}
    return schema if field.required else _or_null(schema)


def _describe_shown(field: Field) -> Schema:
    """Describe the schema of a field in a response; kinds of a single table are text."""
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


def close(properties: dict[str, Schema], *optional: str) -> Schema:
    """The schema of an object without further properties."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "required": required, "properties": properties, "additionalProperties": False}


def wrap(name: str, schema: Schema) -> Schema:
    """The schema of an object with a single property."""
    return close({name: schema})


def refer(name: str) -> Schema:
    """A reference to a schema of the document."""
    return {"$ref": f"#/components/schemas/{name}"}


def describe_body(table: Table, method: str) -> Schema:
    """Describe the schema of the record in the body of a request.

    Further fields are ignored, so the schema does not forbid them.
    """
    fields = [field for field in table.fields if method in field.settable]
    schema: Schema = {"type": "object", "properties": {field.name: _describe_accepted(field) for field in fields}}
    required = [field.name for field in fields if field.required and method == "POST"]
    return schema | ({"required": required} if required else {})


def describe_fields(table: Table) -> Schema:
    """Describe the schema of an object with the fields of a table alone."""
    return close({name: _describe_shown(field) for name, field in table.shown.items()})


def describe_record(table: Table) -> Schema:
    """Describe the schema of a record in a response."""
    fields = {name: _describe_shown(field) for name, field in table.shown.items()}
    computed: dict[str, Schema] = {name: {} for name in COMPUTED.get(table.plural, {})}
    always = fields | _ADDED.get(table, {}) | computed
    sometimes = _SOMETIMES.get(table, {})
    relations: dict[str, Schema] = {
        name: {"description": "Only with `expand`."} for name in EXPANDS.get(table.plural, {}) if name not in always
    }
    return close(always | {"_links": _LINKS} | relations | sometimes, *relations, *sometimes)


def describe_variants() -> dict[str, Schema]:
    """Describe the schemas of records that differ from their table."""
    invoice, payment = describe_record(QUICK_INVOICE), describe_record(TRANSACTION)
    invoice["properties"]["active"] = invoice["properties"].pop("is_active")
    invoice["properties"]["transactions"] = {"type": "array", "items": refer(schema_name(TRANSACTION.plural))}
    invoice["required"] = [name for name in invoice["required"] if name != "is_active"] + ["active", "transactions"]
    payment["properties"]["exp_date"] = {"type": ["string", "null"], "description": "Of a card that was stored."}
    vault = describe_record(ACCOUNT_VAULT)
    vault["properties"]["active"] = {"const": "1"}
    return {
        "QuickInvoiceWithTransactions": invoice,
        schema_name(ROUTER_TRANSACTION.plural): payment,
        schema_name(ROUTER_ACCOUNT_VAULT.plural): vault,
    }


def make_form(properties: dict[str, Schema], *required: str, patterns: dict[str, Schema] | None = None) -> Schema:
    """A body that is a multipart form."""
    schema: Schema = {"type": "object", "required": [*required], "properties": properties}
    schema |= {"patternProperties": patterns} if patterns else {}
    return {"multipart/form-data": {"schema": schema | {"additionalProperties": False}}}


def describe_form(table: Table) -> Schema:
    """Describe a record with files as a form: `quickinvoice[title]`, `quickinvoice[item_list][Tea]`."""
    name = table.singular
    fields = [field for field in table.fields if "POST" in field.settable and field.kind not in _IN_PARTS]
    texts = {f"{name}[{field.name}]": _describe_form_text(field) for field in fields}
    files = {f"{name}[files][{number}]": FILE for number in range(MOST_FILES)}
    items = {
        rf"^{name}\[item_list\]\[[^\[\]]+\]$": {"type": "string", "pattern": r"^-?[0-9]{1,8}(\.[0-9]{1,2})?$"},
        rf"^{name}\[tags\]\[[0-9]{{1,4}}\]$": {"type": "string", "pattern": r"\S"},
    }
    required = [f"{name}[{field.name}]" for field in fields if field.required]
    return make_form(texts | files, *required, patterns=items)


def _describe_form_text(field: Field) -> Schema:
    """Describe the forms of a value that are text."""
    schema = _describe_accepted(field)
    if "enum" in schema:
        return {"enum": [value for value in schema["enum"] if isinstance(value, str)]}
    if "anyOf" in schema:
        return next(each for each in schema["anyOf"] if each.get("type") == "string")
    return schema | {"type": "string"}
