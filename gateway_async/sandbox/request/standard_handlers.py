"""The handlers of records that need no code of their own: list, create, get, change and delete."""

from collections.abc import Awaitable, Callable

from starlette.responses import Response

from gateway_async.sandbox.http.responses import Problems, empty_response, json_response
from gateway_async.sandbox.request.context import RequestContext
from gateway_async.sandbox.request.listing import make_file, read_listing
from gateway_async.sandbox.request.records import (
    delete_record,
    find_record,
    read_new,
    read_update,
    respond,
    show_record,
    update_record,
)
from gateway_async.sandbox.schema.fields import Row, Table

RequestHandler = Callable[[RequestContext], Awaitable[Response]]
RecordCheck = Callable[[RequestContext, Row, Row, Problems], None]
"""Checks the new values of a stored record, empty for a new one, and may complete them."""


def make_routes(table: Table, **handlers: RequestHandler | None) -> dict[str, dict[str, RequestHandler]]:
    """Build the handlers of a record type, by path and method.

    `get_list`, `create`, `get`, `update` and `delete` take the place of a standard handler; None leaves it out.
    """
    standard = {
        "get_list": make_list(table),
        "create": make_create(table),
        "get": make_get(table),
        "update": make_update(table),
        "delete": make_delete(table),
    }
    chosen = standard | handlers
    paths = {
        f"/v2/{table.plural}": {"GET": chosen["get_list"], "POST": chosen["create"]},
        f"/v2/{table.plural}/{{id}}": {"GET": chosen["get"], "PUT": chosen["update"], "DELETE": chosen["delete"]},
    }
    return {
        path: {method: handler for method, handler in methods.items() if handler} for path, methods in paths.items()
    }


def _check_nothing(_context: RequestContext, _row: Row, _values: Row, _problems: Problems) -> None:
    """Check nothing beyond the fields themselves."""


def make_create(table: Table, check: RecordCheck = _check_nothing) -> RequestHandler:
    """Make the handler of POST; `check` applies the rules of the record type."""

    async def create(context: RequestContext) -> Response:
        values, problems = await read_new(context, table)
        check(context, {}, values, problems)
        problems.raise_if_any()
        return respond(context, table, context.gateway.create(table, context.user, values), 201)

    return create


def make_get(table: Table) -> RequestHandler:
    """Make the handler of GET on a record."""

    async def get(context: RequestContext) -> Response:
        return respond(context, table, find_record(context, table))

    return get


def make_list(table: Table) -> RequestHandler:
    """Make the handler of GET on a list."""

    async def get_list(context: RequestContext) -> Response:
        gateway = context.gateway
        listing = read_listing(context, table)
        rows, total = listing.fetch(gateway.store)
        if name := context.query.get("_format"):
            return make_file(table.shown, (table.show(row).values() for row in rows), name)
        records = [show_record(context, table, row) for row in rows]
        url = f"{gateway.base_url}/v2/{table.plural}"
        return json_response({table.plural: records, "meta": listing.meta(url, total)})

    return get_list


def make_update(table: Table, check: RecordCheck = _check_nothing) -> RequestHandler:
    """Make the handler of PUT; `check` applies the rules of the record type."""

    async def update(context: RequestContext) -> Response:
        row, values, problems = await read_update(context, table)
        check(context, row, values, problems)
        problems.raise_if_any()
        return respond(context, table, update_record(context, table, row, values))

    return update


def make_delete(table: Table, refuse: Callable[[RequestContext, Row], None] | None = None) -> RequestHandler:
    """Make the handler of DELETE; `refuse` raises an error for a record that must stay."""

    async def delete(context: RequestContext) -> Response:
        row = find_record(context, table)
        if refuse:
            refuse(context, row)
        delete_record(context, table, row)
        return empty_response()

    return delete
