"""Level 3 data (contract, "Level 3"): the lines of a card payment.

A transaction has level 3 data if its merchant account allows it and its card has a brand that takes it. A POST replaces
earlier data. The data is sent with the batch, so that it cannot be deleted after that.
"""

import json
from decimal import Decimal
from typing import Any

import msgspec
from starlette.responses import Response

from gateway_async.sandbox.http.errors import Problems, RefusedFieldsError
from gateway_async.sandbox.http.responses import empty_response, json_response
from gateway_async.sandbox.request.context import RequestContext
from gateway_async.sandbox.request.records import find_record, read_new, show_record, update_record
from gateway_async.sandbox.request.transaction_expands import find_level3
from gateway_async.sandbox.request.validation import read_fields
from gateway_async.sandbox.schema import LEVEL3_DATA, LINE_ITEM, PRODUCT_TRANSACTION, TRANSACTION, TRANSACTION_LEVEL3
from gateway_async.sandbox.schema.fields import Row, Table
from gateway_async.sandbox.state_machines.transactions import TransactionState

__all__ = ["create", "delete", "get"]


async def create(context: RequestContext) -> Response:
    """Handle POST /v2/transactionlevel3s."""
    values, problems = await read_new(context, TRANSACTION_LEVEL3)
    problems.raise_if_any()
    transaction = context.gateway.store.find(TRANSACTION, id=values["transaction_id"])
    brand = _brand(context, problems.require(transaction))
    data = _read_data(context, json.loads(values["level3_data"], parse_float=Decimal), brand)
    values["level3_data"] = msgspec.json.encode(data).decode()
    current = find_level3(context.gateway, values["transaction_id"])
    if current:
        row = update_record(context, TRANSACTION_LEVEL3, current, values)
    else:
        row = context.gateway.create(TRANSACTION_LEVEL3, context.user, values)
    return json_response({"transactionlevel3": show_record(context, TRANSACTION_LEVEL3, row)}, 201)


async def get(context: RequestContext) -> Response:
    """Handle GET /v2/transactionlevel3s/{id}."""
    return json_response({"transactionlevel3": show_record(context, TRANSACTION_LEVEL3, _find(context))})


async def delete(context: RequestContext) -> Response:
    """Handle DELETE /v2/transactionlevel3s/{id}."""
    row = _find(context)
    transaction = context.gateway.store.find(TRANSACTION, id=row["transaction_id"])
    if transaction and transaction["status_id"] == TransactionState.SETTLED:
        raise RefusedFieldsError({"transaction_id": ["The transaction is settled."]})
    context.gateway.store.update(TRANSACTION_LEVEL3, row["id"], {"deleted_ts": context.gateway.clock.timestamp()})
    return empty_response()


def _find(context: RequestContext) -> Row:
    """Find the data by its own or its transaction's id."""
    row = find_level3(context.gateway, context.path_id())
    if row and row["location_id"] == context.user["location_id"]:
        return row
    return find_record(context, TRANSACTION_LEVEL3)


def _brand(context: RequestContext, transaction: Row) -> str:
    product = context.gateway.store.find(PRODUCT_TRANSACTION, id=transaction["product_transaction_id"])
    brand = str(transaction["account_type"])
    if not (product and product["level3_allow"] and brand in LEVEL3_DATA):
        raise RefusedFieldsError({"transaction_id": ["The transaction takes no level 3 data."]})
    return brand


def _read_data(context: RequestContext, body: Row, brand: str) -> Row:
    """Return valid data in the form of responses: each field of the brand, null if it is left out.

    Raises:
        ValidationError: The data is invalid.
    """
    problems = Problems()
    lines = body.pop("line_items", None)
    data = _read_part(context, LEVEL3_DATA[brand], body, "level3_data", problems)
    if not isinstance(lines, list) or not lines:
        problems.add("level3_data.line_items", "Line item record details missing")
        lines = []
    data["line_items"] = [
        _read_part(context, LINE_ITEM[brand], line, f"level3_data.line_items[{index}]", problems)
        for index, line in enumerate(lines)
    ]
    problems.raise_if_any()
    return data


def _read_part(context: RequestContext, table: Table, body: Any, path: str, problems: Problems) -> Row:
    """Return the fields of one object, and add its problems under `path`."""
    if not isinstance(body, dict):
        problems.add(path, "Line item record details missing")
        return {}
    found = Problems()
    values = read_fields(table, body, found, strict=context.gateway.strict)
    problems.add_all(path, found.by_field())
    return {field.name: values.get(field.name) for field in table.fields}
