"""The pages that list records: the families, one family, and what a search found."""

from collections.abc import Mapping
from math import ceil
from typing import Any
from urllib.parse import urlencode

import attrs
from starlette.responses import Response

from gateway_async.sandbox.http.responses import UnknownRecordError
from gateway_async.sandbox.pages.masking import mask_shown_text
from gateway_async.sandbox.pages.page_request import PageRequest
from gateway_async.sandbox.pages.records.states import Status, find_status
from gateway_async.sandbox.request.transaction_relations import amount_charged
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema import BY_PLURAL, STORED
from gateway_async.sandbox.schema.fields import Row, Table
from gateway_async.sandbox.state_machines.transactions import TransactionState

_PAGE_SIZE = 50
_SHOWN = [table for table in STORED if table.title]

_NAMES = ("title", "name", "username", "description", "subject", "note", "resource", "model")
"""The fields that can say what a record is about; the first one with a value does."""
_LONGEST_NAME = 60
_MOST_CHOICES = 99


@attrs.frozen
class Family:
    """One family, with the numbers of its records.

    Attributes:
        plural: Its name in paths.
        count: The number of records that exist.
        deleted: The number of deleted records.
    """

    plural: str
    title: str
    count: int
    deleted: int


@attrs.frozen
class Summary:
    """One record, as lists show it.

    Attributes:
        name: What it is about; "" if no field says so.
        amount: Its amount in cents; None without one. A voided payment has the amount that it had before.
        created: When it was created, in Unix seconds, if that is known.
        status: Its state; None if records of the family have no states and this one is not deleted.
    """

    plural: str
    id: str
    api_id: str
    name: str
    amount: int | None
    created: int | None
    status: Status | None


def find_table(plural: str) -> Table:
    """Find the table of a family.

    Raises:
        UnknownRecordError: The family is unknown.
    """
    table = BY_PLURAL.get(plural)
    if table is None or not table.title:
        raise UnknownRecordError("family", plural)
    return table


async def show_families(request: PageRequest) -> Response:
    """Handle GET /records; `?q=` searches all families for an id."""
    gateway, text = request.gateway, request.query("q").strip()
    found = [summarize(gateway, table, row) for table in _SHOWN for row in _find_exactly(gateway, table, text)]
    families = [_count(gateway, table) for table in _SHOWN]
    return request.render("records.html", families=families, text=text, found=found)


async def show_family(request: PageRequest) -> Response:
    """Handle GET /records/{family}, with `?q=`, `?page=` and fields such as `?status_id=101,102`."""
    table, text, page = find_table(request.parameter("family")), request.query("q").strip(), request.page_number()
    shown = {field.name for field in table.stored if not field.secret}
    filters = {name: value for name, value in request.http_request.query_params.items() if name in shown}
    where, values = _make_condition(table, text, filters)
    order = f"{where} ORDER BY rowid DESC LIMIT {_PAGE_SIZE} OFFSET {(page - 1) * _PAGE_SIZE}"
    total = request.gateway.store.total(table, "count(*)", where, values)
    return request.render(
        "record_list.html",
        plural=table.plural,
        title=table.title,
        has_api_id=bool(table.api_id),
        records=[summarize(request.gateway, table, row) for row in request.gateway.store.select(table, order, values)],
        total=total,
        text=text,
        filters=filters,
        page=page,
        page_count=max(1, ceil(total / _PAGE_SIZE)),
        address=f"/records/{table.plural}?{urlencode(filters | {'q': text, 'page': ''})}",
    )


def link_to_list(table: Table, **filters: Any) -> str:
    """The address of a list: the records that have one of the values in each field."""
    texts = {name: ",".join(map(str, value)) if isinstance(value, list) else value for name, value in filters.items()}
    return f"/records/{table.plural}?{urlencode(texts, safe=',')}"


def summarize(gateway: Gateway, table: Table, row: Row) -> Summary:
    """What a list shows of a record."""
    return Summary(
        plural=table.plural,
        id=row["id"],
        api_id=(row[table.api_id] or "") if table.api_id else "",
        name=mask_shown_text(_find_name(row)),
        amount=_find_amount(row),
        created=row.get("created_ts"),
        status=find_status(gateway, table, row),
    )


def _find_amount(row: Row) -> int | None:
    if "auth_amount" not in row:
        return row.get("transaction_amount", row.get("amount_due"))
    if row["status_id"] == TransactionState.VOIDED:
        return int(row["auth_amount"] or 0)  # a void sets the amount to zero
    return amount_charged(row)


def _find_name(row: Row) -> str:
    people = " ".join(filter(None, (row.get("first_name"), row.get("last_name"))))
    found: Any = people or next((row[name] for name in _NAMES if row.get(name)), "")
    return f"{found[:_LONGEST_NAME]}…" if len(found) > _LONGEST_NAME else str(found)


def _count(gateway: Gateway, table: Table) -> Family:
    ((every, deleted),) = gateway.store.query(table, ("count(*)", "count(deleted_ts)"))
    return Family(table.plural, table.title, every - deleted, deleted)


def _find_exactly(gateway: Gateway, table: Table, text: str) -> list[Row]:
    columns = _id_columns(table)
    where = " OR ".join(f"{column} = ?" for column in columns)
    return gateway.store.select(table, f"{where} LIMIT {_PAGE_SIZE}", (text,) * len(columns)) if text else []


def _make_condition(table: Table, text: str, filters: Mapping[str, str]) -> tuple[str, list[str]]:
    """Return the SQL condition, with its values, of the records with a text in their ids and values in fields."""
    conditions, values = ["1"], []
    if text:
        columns = _id_columns(table)
        conditions.append(f"({' OR '.join(f'instr({column}, ?)' for column in columns)})")
        values += [text] * len(columns)
    for name, value in filters.items():
        choices = value.split(",", _MOST_CHOICES)
        conditions.append(f"{name} IN ({', '.join('?' * len(choices))})")
        values += choices
    return " AND ".join(conditions), values


def _id_columns(table: Table) -> list[str]:
    return ["id", *([table.api_id] if table.api_id else [])]
