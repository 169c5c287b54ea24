"""The JSON Schemas of records: the bodies of requests, and the records in responses."""

from gateway_async.sandbox.openapi.names import schema_name
from gateway_async.sandbox.openapi.values import Schema, describe_accepted, describe_shown
from gateway_async.sandbox.request.expands import COMPUTED, EXPANDS
from gateway_async.sandbox.schema import (
    ACCOUNT_VAULT,
    CONTACT,
    QUICK_INVOICE,
    ROUTER_ACCOUNT_VAULT,
    ROUTER_TRANSACTION,
    TRANSACTION,
    USER,
)
from gateway_async.sandbox.schema.fields import Table

__all__ = ["close", "describe_body", "describe_record", "describe_variants", "refer", "wrap"]


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


def close(properties: dict[str, Schema], *optional: str) -> Schema:
    """Return the schema of an object without further properties."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "required": required, "properties": properties, "additionalProperties": False}


def wrap(name: str, schema: Schema) -> Schema:
    """Return the schema of an object with a single property."""
    return close({name: schema})


def refer(name: str) -> Schema:
    """Return a reference to a schema of the document."""
    return {"$ref": f"#/components/schemas/{name}"}


def describe_body(table: Table, method: str) -> Schema:
    """Return the schema of the record in the body of a request.

    Further fields are ignored, so the schema does not forbid them.
    """
    fields = [field for field in table.fields if method in field.settable]
    schema: Schema = {"type": "object", "properties": {field.name: describe_accepted(field) for field in fields}}
    required = [field.name for field in fields if field.required and method == "POST"]
    return schema | ({"required": required} if required else {})


def describe_record(table: Table) -> Schema:
    """Return the schema of a record in a response."""
    fields = {name: describe_shown(field) for name, field in table.shown.items()}
    computed: dict[str, Schema] = {name: {} for name in COMPUTED.get(table.plural, {})}
    always = fields | _ADDED.get(table, {}) | computed
    sometimes = _SOMETIMES.get(table, {})
    relations: dict[str, Schema] = {
        name: {"description": "Only with `expand`."} for name in EXPANDS.get(table.plural, {}) if name not in always
    }
    return close(always | {"_links": _LINKS} | relations | sometimes, *relations, *sometimes)


def describe_variants() -> dict[str, Schema]:
    """Return the schemas of records that differ from their table."""
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
