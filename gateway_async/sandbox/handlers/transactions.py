"""Reading transactions, their file, and their level 3 data (contract, "Level 3")."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import msgspec
from starlette.responses import Response

from gateway_async.sandbox.handlers.account_vaults import show_bin_info
from gateway_async.sandbox.http.responses import Problems, RefusedFieldsError, empty_response
from gateway_async.sandbox.request.context import RequestContext
from gateway_async.sandbox.request.listing import make_file, read_time
from gateway_async.sandbox.request.records import (
    delete_record,
    find_record,
    read_new,
    respond,
    update_record,
)
from gateway_async.sandbox.request.transaction_relations import find_level3
from gateway_async.sandbox.request.validation import read_fields
from gateway_async.sandbox.runtime.store import ALIVE
from gateway_async.sandbox.schema import LEVEL3_DATA, LINE_ITEM, PRODUCT_TRANSACTION, TRANSACTION, TRANSACTION_LEVEL3
from gateway_async.sandbox.schema.codes import ReasonCode
from gateway_async.sandbox.schema.fields import Row, Table
from gateway_async.sandbox.schema.kinds import show_money
from gateway_async.sandbox.state_machines.transactions import TransactionState

_COLUMNS = (
    *("id", "event", "date", "transaction_api_id", "payment_method", "type_id", "reason_code_id"),
    *("transaction_amount", "last_four", "account_holder_name", "order_num", "description"),
)


async def bin_info(context: RequestContext) -> Response:
    """Handle GET /v2/transactions/{id}/bininfo: issuer data for the card's first six digits."""
    return show_bin_info(find_record(context, TRANSACTION))


async def get_file(context: RequestContext) -> Response:
    """Handle GET /custom/tsvtransactions."""
    since = _read_query(context)
    where = f"location_id = ? AND created_ts >= ? AND {ALIVE} ORDER BY id"
    found = context.gateway.store.select(TRANSACTION, where, (context.user["location_id"], since))
    rows = (row for transaction in found for row in _events(transaction))
    return make_file(_COLUMNS, ([row[name] for name in _COLUMNS] for row in rows), "tsv")


def _read_query(context: RequestContext) -> int:
    """Read the time from which on transactions are wanted."""
    problems, since = Problems(), 0
    if context.query.get("location_id") != context.user["location_id"]:
        problems.add_invalid("location_id")
    try:
        since = read_time(context.query.get("from_date", ""))
    except ValueError:
        problems.add("from_date", "From Date must be a time of the form 2025-12-31 23:59:59.")
    problems.raise_if_any()
    return since


def _events(transaction: Row) -> Iterator[Row]:
    """Yield the row of a payment, then its void or reject."""
    shown = transaction | {"event": "payment", "date": _time(transaction["created_ts"])}
    is_void, is_reject = (
        transaction["status_id"] == state for state in (TransactionState.VOIDED, TransactionState.CHARGED_BACK)
    )
    if not is_void and not is_reject:
        yield shown | {"transaction_amount": show_money(transaction["transaction_amount"])}
        return
    amount = show_money(transaction["auth_amount"] if is_void else transaction["transaction_amount"])
    yield shown | {"transaction_amount": amount, "reason_code_id": ReasonCode.APPROVED.value}
    taken_back = shown | {"transaction_amount": f"-{amount}"}
    if is_void:
        yield taken_back | {"event": "void", "date": transaction["void_date"]}
    else:
        day = f"{transaction['return_date']} 00:00:00"
        yield taken_back | {"id": f"{transaction['id']}cb", "event": "reject", "date": day}


def _time(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}"


async def create_level3(context: RequestContext) -> Response:
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
    return respond(context, TRANSACTION_LEVEL3, row, 201)


async def get_level3(context: RequestContext) -> Response:
    """Handle GET /v2/transactionlevel3s/{id}."""
    return respond(context, TRANSACTION_LEVEL3, _find(context))


async def delete_level3(context: RequestContext) -> Response:
    """Handle DELETE /v2/transactionlevel3s/{id}."""
    row = _find(context)
    transaction = context.gateway.store.find(TRANSACTION, id=row["transaction_id"])
    if transaction and transaction["status_id"] == TransactionState.SETTLED:
        raise RefusedFieldsError({"transaction_id": ["The transaction is settled."]})
    delete_record(context, TRANSACTION_LEVEL3, row)
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
    """Read valid data in the form of responses: each field of the brand, null if it is left out."""
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
    """Read the fields of one object, and add its problems under `path`."""
    if not isinstance(body, dict):
        problems.add(path, "Line item record details missing")
        return {}
    found = Problems()
    values = read_fields(context, table, body, found)
    problems.add_all(path, found.by_field())
    return {field.name: values.get(field.name) for field in table.fields}
