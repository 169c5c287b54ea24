"""What every family of records has in common: find one, show one, list, change and delete them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway_async.sandbox.http.answers import answer, no_body
from gateway_async.sandbox.http.errors import Problems, RefusedError
from gateway_async.sandbox.requests.listing import read_listing
from gateway_async.sandbox.requests.references import check_references
from gateway_async.sandbox.requests.validation import read_fields

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.responses import Response

    from gateway_async.sandbox.instance.gateway import Gateway
    from gateway_async.sandbox.requests.calls import Call
    from gateway_async.sandbox.tables.fields import Row, Table

    Handler = Callable[[Call], Awaitable[Response]]
    Derive = Callable[[Gateway, Row], Row]
    """From a stored record to the fields that are worked out when it is shown."""
    Check = Callable[[Row, Row, Problems], None]
    """Looks at a stored record and the values that shall change it, and notes problems."""

_YES, _NO = frozenset({"1", "true"}), frozenset({"0", "false", ""})


def _nothing_to_check(_row: Row, _values: Row, _problems: Problems) -> None:
    """For families whose changes are right when their fields are."""


def nothing_derived(_gateway: Gateway, _row: Row) -> Row:
    """For families whose records show what is stored."""
    return {}


def show(call: Call, table: Table, row: Row, derive: Derive = nothing_derived) -> Row:
    """A stored record as answers carry it, with its link and what `expand` asks for."""
    record = table.show(row)
    record.update(derive(call.gateway, row))
    for name, find in call.expands.items():
        record[name] = find(call.gateway, row)
    record["_links"] = links(call.gateway, table, row)
    return record


def links(gateway: Gateway, table: Table, row: Row) -> Row:
    """The `_links` of a record that stands alone."""
    path = table.link.format_map(row) if table.link else f"/v2/{table.plural}/{row['id']}"
    return {"self": {"href": f"{gateway.base_url}{path}"}}


def locate(call: Call, table: Table) -> Row:
    """The record that the path names, by system id or by the integrator's own (`?api_id=1&location_id=…`).

    Raises:
        RefusedError: 404 there is none, 409 it was deleted.
        InvalidError: The query does not say which location an integrator id belongs to.
    """
    column = _id_column(call, table)
    where = {"location_id": call.user["location_id"], column: call.path_id()}
    row = call.gateway.store.find(table, **where)
    if row is None:
        raise RefusedError(404, "The record cannot be found.")
    if row["deleted_ts"] is not None:
        raise RefusedError(409, "The record has been deleted.")
    return row


def reader(table: Table, derive: Derive = nothing_derived) -> Handler:
    """The handler of GET on a record."""

    async def get(call: Call) -> Response:
        row = locate(call, table)
        return answer({table.singular: show(call, table, row, derive)})

    return get


def lister(table: Table, derive: Derive = nothing_derived) -> Handler:
    """The handler of GET on the family."""

    async def get_list(call: Call) -> Response:
        gateway = call.gateway
        listing = read_listing(table, call.user, call.query, gateway.clock.date())
        rows, total = listing.fetch(gateway.store)
        records = [show(call, table, row, derive) for row in rows]
        url = f"{gateway.base_url}/v2/{table.plural}"
        return answer({table.plural: records, "meta": listing.meta(url, total)})

    return get_list


def changer(table: Table, check: Check = _nothing_to_check, derive: Derive = nothing_derived) -> Handler:
    """The handler of PUT on a record; `check` knows what only the family knows."""

    async def put(call: Call) -> Response:
        body = await call.record(table.singular)
        row, problems = locate(call, table), Problems()
        values = read_fields(table, body, problems, current=row)
        check_references(call.gateway, call.user, table, values, problems, current=row)
        check(row, values, problems)
        problems.done()
        return answer({table.singular: show(call, table, change(call, table, row, values), derive)})

    return put


def deleter(table: Table) -> Handler:
    """The handler of DELETE on a record."""

    async def delete(call: Call) -> Response:
        row = locate(call, table)
        call.gateway.store.update(table, row["id"], {"deleted_ts": call.gateway.clock.timestamp()})
        return no_body()

    return delete


def change(call: Call, table: Table, row: Row, values: Row) -> Row:
    """Store changes of a record and return it as it is now."""
    kept = {name: value for name, value in values.items() if name in row}
    kept["modified_ts"] = call.gateway.clock.timestamp()
    call.gateway.store.update(table, row["id"], kept)
    return row | kept


def _id_column(call: Call, table: Table) -> str:
    flag = call.query.get("api_id", "").lower()
    problems = Problems()
    if flag not in _YES | _NO:
        problems.add("api_id", "Api Id must be 1 or true.")
    elif flag in _YES and not table.api_id:
        problems.add("api_id", "These records have no id of an integrator's own.")
    elif flag in _YES and "location_id" not in call.query:
        problems.add("location_id", "Location Id cannot be blank.")
    elif flag in _YES and call.query["location_id"] != call.user["location_id"]:
        problems.add("location_id", "location_id provided is not valid")
    problems.done()
    return table.api_id if flag in _YES else "id"
