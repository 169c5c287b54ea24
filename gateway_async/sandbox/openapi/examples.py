"""The document with minimal valid requests, which name records of this sandbox."""

import json
import re
from datetime import timedelta
from typing import Any

from gateway_async.sandbox.openapi.document import make_document
from gateway_async.sandbox.openapi.schemas import Schema
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.runtime.store import ALIVE
from gateway_async.sandbox.schema import (
    ACCOUNT_VAULT,
    BY_PLURAL,
    HOSTED_PAYMENT_PAGE,
    LOCATION,
    PAYLINK,
    QUICK_INVOICE,
    RECURRING,
    TABLES,
    TRANSACTION,
)
from gateway_async.sandbox.schema.fields import Table
from gateway_async.sandbox.simulators.cards import TEST_CARDS

_JSON = "application/json"
_NO_ID = "none-yet"
_CARD = {"account_number": TEST_CARDS["visa"], "exp_date": "1230"}

_VALUES: dict[str, Any] = {
    "action": "sale",
    "amount_due": "21.00",
    "auth_role_id": 1,
    "interval": 1,
    "interval_type": "m",
    "item_list": {"Tea": "1.50", "Cake": "4.00"},
    "last_name": "Lovelace",
    "level3_data": {},
    "name": "Second shop",
    "payment_method": "cc",
    "product_file_credential_id": "storage",
    "require_signature": "0",
    "resource": "contact",
    "serial_number": "0000000001",
    "signature": "iVBORw0KGgo=",
    "terminal_application_id": "1",
    "terminal_manufacturer_id": "1",
    "title": "Lunch",
    "transaction_amount": "5.50",
    "url": "http://127.0.0.1:8000/postbacks",
}
"""The values of required fields, by name."""

_MORE: dict[str, dict[str, Any]] = {
    "createAccountVault": _CARD,
    "createTransaction": {"payment_method": "cc", "transaction_amount": "5.50"} | _CARD,
    **{operation: fields for table in TABLES.values() for operation, fields in table.examples.items()},
}
"""Further fields that make a body valid or useful, by the id of the operation. The data files have most of them."""

_OTHER_IDS = {
    "createRecurring": {"account_vault_id": "account_vault_id"},
    "createSignature": {"resource_id": "transaction_id"},
}
"""The fields whose ids the required fields do not tell, and where their values are."""

_HOSTED_FORM = {"payment_method": "cc", "action": "sale", "transaction_amount": "5.50"}
_QUERIES = {"skipPaymentsOfRecurring": {"skip_count": "1"}, "deferPaymentsOfRecurring": {"defer_count": "1"}}

_NEWEST: dict[str, Table] = {
    "account_vault_id": ACCOUNT_VAULT,
    "paylink_id": PAYLINK,
    "quick_invoice_id": QUICK_INVOICE,
    "recurring_id": RECURRING,
    "transaction_id": TRANSACTION,
}
_DAYS_UNTIL_DUE = 30


def make_document_with_examples(gateway: Gateway) -> Schema:
    """Add an example of each required parameter and of each JSON body to the document."""
    document, known = make_document(), _known_values(gateway)
    paths = {
        path: {method: _add_examples(gateway, known, path, operation) for method, operation in item.items()}
        for path, item in document["paths"].items()
    }
    return document | {"paths": paths}


def _add_examples(gateway: Gateway, known: dict[str, Any], path: str, operation: Schema) -> Schema:
    values = {"path": _path_values(gateway, path), "query": _query_values(gateway, operation["operationId"])}
    added = {"parameters": [_with_example(each, values[each["in"]]) for each in operation["parameters"]]}
    content = operation.get("requestBody", {}).get("content", {})
    if _JSON in content and "example" not in content[_JSON]:  # a control call has one
        body = content[_JSON] | {"example": _body(known, operation["operationId"], content[_JSON]["schema"])}
        added["requestBody"] = operation["requestBody"] | {"content": content | {_JSON: body}}
    return operation | added


def _with_example(parameter: Schema, values: dict[str, str]) -> Schema:
    value = values.get(parameter["name"])
    return parameter if value is None else parameter | {"example": value}


def _query_values(gateway: Gateway, operation_id: str) -> dict[str, str]:
    """Return the parameters of the query that an operation needs."""
    info = gateway.info
    ids = {"location_id": info.location_id, "product_transaction_id": info.cc_product_transaction_id}
    match operation_id:
        case "showAccountForm":
            return _as_hex({"accountvault": _HOSTED_FORM | ids | {"account_vault_api_id": "ada"}})
        case "showPaymentForm":
            return _as_hex({"transaction": _HOSTED_FORM | ids | {"transaction_api_id": "tea"}})
        case "showHostedPaymentPage":
            return {"id": _newest(gateway, HOSTED_PAYMENT_PAGE)}
        case "getFileOfAllTransactions":
            return {"location_id": info.location_id, "from_date": f"{gateway.clock.today()} 00:00:00"}
        case _:
            return _QUERIES.get(operation_id, {})


def _as_hex(fields: Any) -> dict[str, str]:
    return {"data": json.dumps(fields).encode().hex()}


def _path_values(gateway: Gateway, path: str) -> dict[str, str]:
    """The newest ids for a path, by their names in it."""
    names = re.findall(r"\{(\w+)\}", path)
    tables = {"id": BY_PLURAL.get(path.split("/")[2]), "file_id": BY_PLURAL["files"]} if names else {}
    return {name: _newest(gateway, tables.get(name)) for name in names}


def _body(known: dict[str, Any], operation_id: str, schema: Schema) -> Schema:
    """A minimal valid body, whose record may be in a wrapper."""
    wrapped = {name: _resolve(each) for name, each in schema["properties"].items()}
    if len(wrapped) > 1:
        return _make_record(known, operation_id, schema)
    return {name: _make_record(known, operation_id, fields) for name, fields in wrapped.items()}


def _resolve(schema: Schema) -> Schema:
    reference = schema.get("$ref")
    return schema if reference is None else make_document()["components"]["schemas"][reference.rsplit("/", 1)[1]]


def _make_record(known: dict[str, Any], operation_id: str, schema: Schema) -> dict[str, Any]:
    record = {name: known.get(name, "") for name in schema.get("required", ())} | _MORE.get(operation_id, {})
    for name, value in _OTHER_IDS.get(operation_id, {}).items():
        record[name] = known[value]
    return record


def _known_values(gateway: Gateway) -> dict[str, Any]:
    """The values of required fields, with the ids of this sandbox."""
    info, today = gateway.info, gateway.clock.today()
    return {
        **_VALUES,
        **{name: _newest(gateway, table) for name, table in _NEWEST.items()},
        "contact_id": info.contact_id,
        "resource_id": info.contact_id,
        "domain": info.domain,
        "due_date": (today + timedelta(days=_DAYS_UNTIL_DUE)).isoformat(),
        "location_id": info.location_id,
        "parent_id": info.location_id,
        "password": info.password,
        "start_date": today.isoformat(),
        "terminal_id": info.terminal_id,
        "user_id": info.user_id,
        "username": info.username,
    }


def _newest(gateway: Gateway, table: Table | None) -> str:
    """The id of the newest record in the first location; a placeholder without one."""
    if table is None:
        return ""
    if table is LOCATION:
        return gateway.info.location_id
    where = f"location_id = ? AND {ALIVE} ORDER BY id DESC LIMIT 1"
    rows = gateway.store.select(table, where, (gateway.info.location_id,))
    return str(rows[0]["id"]) if rows else _NO_ID
