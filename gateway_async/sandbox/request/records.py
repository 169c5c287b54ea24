"""The handlers that all record types share.

They find, show, list, change and delete records.
"""

from collections.abc import Awaitable, Callable
from datetime import datetime

from starlette.responses import Response

from gateway_async.sandbox.http.errors import Problems, RefusedError
from gateway_async.sandbox.http.responses import empty_response, json_response
from gateway_async.sandbox.request.context import RequestContext
from gateway_async.sandbox.request.expands import COMPUTED
from gateway_async.sandbox.request.list_files import make_file
from gateway_async.sandbox.request.listing import read_listing
from gateway_async.sandbox.request.transaction_tags import show_tags
from gateway_async.sandbox.request.validation import check_references, read_fields
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.runtime.visibility import find_visible
from gateway_async.sandbox.schema import ACCOUNT_VAULT, CONTACT, TRANSACTION, USER
from gateway_async.sandbox.schema.fields import Row, Table

__all__ = [
    "RecordCheck",
    "RequestHandler",
    "check_values",
    "find_record",
    "id_column",
    "make_create",
    "make_delete",
    "make_get",
    "make_links",
    "make_list",
    "make_update",
    "read_new",
    "read_update",
    "show_fields",
    "show_record",
    "show_whole",
    "update_record",
]


RequestHandler = Callable[[RequestContext], Awaitable[Response]]
RecordCheck = Callable[[Row, Row, Problems], None]
"""Checks the new values of a stored record, and reports problems."""

_YES, _NO = frozenset({"1", "true"}), frozenset({"0", "false", ""})


def _nothing_to_check(_row: Row, _values: Row, _problems: Problems) -> None:
    """Check nothing beyond the fields themselves."""


def show_fields(gateway: Gateway, table: Table, row: Row) -> Row:
    """Return a stored record in response form; a vault also has its computed field."""
    record = table.show(row)
    if table is ACCOUNT_VAULT:
        record["expiring_in_months"] = _months_until(row["exp_date"], gateway.clock.date())
    return record


def _months_until(expiry: str | None, today: datetime) -> int | None:
    if expiry is None:
        return None
    return max(0, (2000 + int(expiry[2:]) - today.year) * 12 + int(expiry[:2]) - today.month)


def show_record(context: RequestContext, table: Table, row: Row) -> Row:
    """Return a stored record in response form, with its link and expands."""
    record = show_whole(context.gateway, table, row)
    for name, find in context.expands.items():
        record[name] = find(context.gateway, row)
    record["_links"] = make_links(context.gateway, table, row)
    return record


def show_whole(gateway: Gateway, table: Table, row: Row) -> Row:
    """Return a stored record in response form, without links.

    A contact has its header message type under both names, a transaction the tags that it has, and a user null as keys.
    """
    record = show_fields(gateway, table, row)
    if table is CONTACT:
        record["header_message_type"] = row["header_message_type_id"]
    elif table is TRANSACTION and (tags := show_tags(gateway, row)):
        record["tags"] = tags
    elif table is USER:
        record |= {"user_api_key": None, "user_hash_key": None}
    return record | {name: find(gateway, row) for name, find in COMPUTED.get(table.plural, {}).items()}


def make_links(gateway: Gateway, table: Table, row: Row) -> Row:
    """Return the `_links` of a single record."""
    path = table.link.format_map(row) if table.link else f"/v2/{table.plural}/{row['id']}"
    links = {"self": {"href": f"{gateway.base_url}{path}"}}
    if table.subject:
        links["for"] = {"href": f"{gateway.base_url}{table.subject.format_map(row)}"}
    return links


def find_record(context: RequestContext, table: Table) -> Row:
    """Return the record that the path names.

    The path has its system id or its integrator id. An integrator id needs the query `?api_id=1&location_id=…`.

    Raises:
        RefusedError: 404, the record does not exist; 409, it was deleted.
        ValidationError: The query is invalid, or does not name the location of an integrator id.
    """
    column = id_column(context, table)
    row = find_visible(context.gateway.store, table, context.user, column, context.path_id())
    if row is None:
        raise RefusedError(404, "The record cannot be found.")
    if row["deleted_ts"] is not None:
        raise RefusedError(409, "The record has been deleted.")
    return row


async def read_new(context: RequestContext, table: Table) -> tuple[Row, Problems]:
    """Return the fields of the body of a POST, with their problems.

    Raises:
        RefusedError: 400 or 413; the body has no record or is too large.
    """
    body, problems = await context.read_record(table.singular), Problems()
    return check_values(context, table, body, problems), problems


async def read_update(context: RequestContext, table: Table) -> tuple[Row, Row, Problems]:
    """Return the named record, and the fields of the body.

    Raises:
        RefusedError: As in `read_new` and `find_record`.
        ValidationError: The query is invalid.
    """
    body = await context.read_record(table.singular)
    row, problems = find_record(context, table), Problems()
    return row, check_values(context, table, body, problems, current=row), problems


def check_values(
    context: RequestContext, table: Table, body: Row, problems: Problems, *, current: Row | None = None
) -> Row:
    """Return the fields of a record in stored form, ids checked."""
    values = read_fields(table, body, problems, current=current, strict=context.gateway.strict)
    check_references(context.gateway, context.user, table, values, problems, current=current)
    return values


def make_create(table: Table, check: RecordCheck = _nothing_to_check) -> RequestHandler:
    """Create the handler of POST; `check` applies the rules of the record type."""

    async def create(context: RequestContext) -> Response:
        values, problems = await read_new(context, table)
        check({}, values, problems)
        problems.raise_if_any()
        row = context.gateway.create(table, context.user, values)
        return json_response({table.singular: show_record(context, table, row)}, 201)

    return create


def make_get(table: Table) -> RequestHandler:
    """Create the handler of GET on a record."""

    async def get(context: RequestContext) -> Response:
        row = find_record(context, table)
        return json_response({table.singular: show_record(context, table, row)})

    return get


def make_list(table: Table) -> RequestHandler:
    """Create the handler of GET on a list."""

    async def get_list(context: RequestContext) -> Response:
        gateway = context.gateway
        listing = read_listing(table, context.user, context.query, gateway.clock.date())
        rows, total = listing.fetch(gateway.store)
        if name := context.query.get("_format"):
            return make_file(table.shown, (table.show(row).values() for row in rows), name)
        records = [show_record(context, table, row) for row in rows]
        url = f"{gateway.base_url}/v2/{table.plural}"
        return json_response({table.plural: records, "meta": listing.meta(url, total)})

    return get_list


def make_update(table: Table, check: RecordCheck = _nothing_to_check) -> RequestHandler:
    """Create the handler of PUT; `check` applies the rules of the record type."""

    async def put(context: RequestContext) -> Response:
        row, values, problems = await read_update(context, table)
        check(row, values, problems)
        problems.raise_if_any()
        return json_response({table.singular: show_record(context, table, update_record(context, table, row, values))})

    return put


def make_delete(table: Table) -> RequestHandler:
    """Create the handler of DELETE on a record."""

    async def delete(context: RequestContext) -> Response:
        row = find_record(context, table)
        context.gateway.store.update(table, row["id"], {"deleted_ts": context.gateway.clock.timestamp()})
        return empty_response()

    return delete


def update_record(context: RequestContext, table: Table, row: Row, values: Row) -> Row:
    """Store changes of a record and their author; return the changed record."""
    modifier = {"modified_ts": context.gateway.clock.timestamp(), "modified_user_id": context.user["id"]}
    stored = {name: value for name, value in (values | modifier).items() if name in row}
    context.gateway.store.update(table, row["id"], stored)
    return row | stored


def id_column(context: RequestContext, table: Table) -> str:
    """Return the column of the id in the path: the system id, or the integrator id.

    Raises:
        ValidationError: The query is invalid, or does not name the location of an integrator id.
    """
    flag = context.query.get("api_id", "").lower()
    problems = Problems()
    if flag not in _YES | _NO:
        problems.add("api_id", "Api Id must be 1 or true.")
    elif flag in _YES and not table.api_id:
        problems.add("api_id", "These records have no integrator id.")
    elif flag in _YES and "location_id" not in context.query:
        problems.add("location_id", "Location Id cannot be blank.")
    elif flag in _YES and context.query["location_id"] != context.user["location_id"]:
        problems.add("location_id", "location_id provided is not valid")
    problems.raise_if_any()
    return table.api_id if flag in _YES else "id"
