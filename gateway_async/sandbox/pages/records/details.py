"""The page of one record: its fields, its JSON, what can happen to it, its controls, and the records around it."""

from typing import Any

import attrs
from starlette.responses import Response

from gateway_async.sandbox.controls.calls import CONTROL_CALLS
from gateway_async.sandbox.http.request_log import LoggedRequest
from gateway_async.sandbox.http.responses import decode_json, encode_json
from gateway_async.sandbox.pages.control_forms import Control, make_forms, run_control
from gateway_async.sandbox.pages.invoices_and_paylinks import INVOICES, PAYLINKS
from gateway_async.sandbox.pages.masking import mask_record
from gateway_async.sandbox.pages.page_request import PageRequest
from gateway_async.sandbox.pages.records.families import Summary, find_table, link_to_list, summarize
from gateway_async.sandbox.pages.records.states import find_transitions
from gateway_async.sandbox.request.records import make_links, show_whole
from gateway_async.sandbox.request.transaction_relations import read_changelogs
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema import (
    BY_PLURAL,
    CHANGELOG,
    LOCATION,
    PRODUCT_TRANSACTION,
    STORED,
    TRANSACTION_BATCH,
    USER,
)
from gateway_async.sandbox.schema.fields import Field, Row, Table, label

_OWNERS = (LOCATION, USER, PRODUCT_TRANSACTION)
"""The records that own others; a list of everything that one owns would be too long."""

_OF_ANY_FAMILY = ("record_id", "resource_id")
"""The columns that refer to a record of the family that `resource` names."""

_MOST = 20
"""How many records of one relation are listed."""


@attrs.frozen
class Relation:
    """The records of one family that refer to a record by one column.

    Attributes:
        records: The newest of them.
        count: The number of all.
        address: The list of all.
    """

    title: str
    column: str
    records: list[Summary]
    count: int
    address: str


async def show_details(request: PageRequest) -> Response:
    """Handle GET /records/{family}/{id}."""
    gateway, table, record_id = request.gateway, find_table(request.parameter("family")), request.parameter("id")
    row = gateway.find_known(table, record_id)
    record = mask_record(table, _to_plain(show_whole(gateway, table, row)))
    return request.render(
        "record.html",
        plural=table.plural,
        title=table.title,
        singular=table.singular,
        payment_page=next(
            (f"{each.path}/{record_id}" for each in (INVOICES, PAYLINKS) if each.page.table is table), ""
        ),
        summary=summarize(gateway, table, row),
        deleted=row["deleted_ts"],
        record=record,
        times={name for name, value in record.items() if name.endswith("_ts") and isinstance(value, int)},
        fields={name: value for name, value in record.items() if value not in (None, "", [], {})},
        empty=[name for name, value in record.items() if value in (None, "", [], {})],
        record_links=_find_links(gateway, table, row),
        json=record | {"_links": make_links(gateway, table, row)},
        transitions=find_transitions(gateway, table, row),
        forms=make_forms(request, _find_controls(table), [record_id]),
        relations=_find_referring(gateway, table, row),
        changelogs=_to_plain(read_changelogs(gateway, row)) if table is TRANSACTION_BATCH else [],
        requests=_find_requests(gateway, row["id"]),
    )


async def change_record(request: PageRequest) -> Response:
    """Handle POST /records/{family}/{id}: run a control of the record."""
    table, record_id = find_table(request.parameter("family")), request.parameter("id")
    await run_control(request, _find_controls(table), [record_id])
    return request.redirect(f"/records/{table.plural}/{record_id}")


def _to_plain(value: Any) -> Any:
    """Return a value with its stored JSON decoded."""
    return decode_json(encode_json(value))


def _find_controls(table: Table) -> list[Control]:
    """Find the controls of one record: those whose calls have its id in the path, but for the keys of terminals."""
    by_path = [calls for path, calls in CONTROL_CALLS.items() if f"/{table.plural}/{{id}}" in path]
    return [calls["POST"].run for calls in by_path if "POST" in calls and not calls["POST"].shows]


def _find_requests(gateway: Gateway, record_id: str) -> list[LoggedRequest]:
    """Find the logged requests about a record, newest first.

    They have its id in the path. Writes may have it in a body instead.
    """
    text = record_id.encode()
    return [
        entry
        for entry in reversed(gateway.requests)
        if record_id in entry.path or (entry.is_write and text in entry.request.body + entry.response.body)
    ]


def _find_links(gateway: Gateway, table: Table, row: Row) -> dict[str, str]:
    """Find the pages of records that a record refers to, by column."""
    targets = {field.name: _find_target(row, field) for field in table.stored if row[field.name]}
    return {
        name: f"/records/{target.plural}/{row[name]}"
        for name, target in targets.items()
        if target and gateway.store.find(target, id=row[name])
    }


def _find_target(row: Row, field: Field) -> Table | None:
    if field.name in _OF_ANY_FAMILY:
        name = row["resource"].lower()
        return next((each for each in STORED if name in (each.singular, each.plural)), None)
    return BY_PLURAL.get(field.target)


def _find_referring(gateway: Gateway, table: Table, row: Row) -> list[Relation]:
    """Find the records that refer to a record, by family and column; the change log is not among them."""
    tables = [each for each in STORED if each.title and each is not CHANGELOG]
    columns = [(each, column) for each in tables for column in _columns_to(each, table)]
    relations = (_find_relation(gateway, each, column, row["id"]) for each, column in columns)
    return [relation for relation in relations if relation.count]


def _columns_to(table: Table, target: Table) -> list[str]:
    is_owner = target in _OWNERS
    return [
        field.name
        for field in table.stored
        if field.name in _OF_ANY_FAMILY or (field.target == target.plural and not is_owner)
    ]


def _find_relation(gateway: Gateway, table: Table, column: str, record_id: str) -> Relation:
    where, values = f"{column} = ?", (record_id,)
    rows = gateway.store.select(table, f"{where} ORDER BY rowid DESC LIMIT {_MOST}", values)
    count = gateway.store.total(table, "count(*)", where, values) if len(rows) == _MOST else len(rows)
    records = [summarize(gateway, table, each) for each in rows]
    return Relation(table.title, label(column), records, count, link_to_list(table, **{column: record_id}))
