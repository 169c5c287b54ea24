"""Find, read, show and change the record of a request.

A user sees the records of its location. It also sees the locations directly below that one, with their users and roles.
"""

from datetime import datetime
from typing import Any

from starlette.responses import Response

from gateway_async.sandbox.http.responses import Problems, RefusedError, json_response
from gateway_async.sandbox.request.context import RequestContext
from gateway_async.sandbox.request.expands import COMPUTED
from gateway_async.sandbox.request.transaction_relations import show_tags
from gateway_async.sandbox.request.validation import check_references, read_fields
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema import ACCOUNT_VAULT, AUTH_ROLE_USER, CONTACT, LOCATION, TRANSACTION, USER
from gateway_async.sandbox.schema.fields import Row, Table

Condition = tuple[str, tuple[Any, ...]]
"""An SQL condition and its values."""

_OF_LOCATIONS_BELOW = frozenset(table.plural for table in (LOCATION, USER, AUTH_ROLE_USER))
_LOCATIONS = "SELECT id FROM locations WHERE id = ? OR parent_id = ?"
_YES, _NO = frozenset({"1", "true"}), frozenset({"0", "false", ""})


def visible(table: Table, user: Row) -> Condition:
    """The condition for the records that a user sees."""
    own = user["location_id"]
    if table.plural not in _OF_LOCATIONS_BELOW:
        return "location_id = ?", (own,)
    return f"{'id' if table is LOCATION else 'location_id'} IN ({_LOCATIONS})", (own, own)


def find_visible(context: RequestContext, table: Table, column: str, value: str) -> Row | None:
    """Find the record with a column value if the user sees it, even if it was deleted."""
    condition, values = visible(table, context.user)
    return context.gateway.store.find_where(table, f"{column} = ? AND {condition}", (value, *values))


def show_fields(gateway: Gateway, table: Table, row: Row) -> Row:
    """Convert a stored record to response form; a vault also gets its computed field."""
    record = table.show(row)
    if table is ACCOUNT_VAULT:
        record["expiring_in_months"] = _months_until(row["exp_date"], gateway.clock.utc_now())
    return record


def _months_until(expiry: str | None, today: datetime) -> int | None:
    if expiry is None:
        return None
    return max(0, (2000 + int(expiry[2:]) - today.year) * 12 + int(expiry[:2]) - today.month)


def show_record(context: RequestContext, table: Table, row: Row) -> Row:
    """Convert a stored record to response form, with its link and expands."""
    record = show_whole(context.gateway, table, row)
    for name, find in context.expands.items():
        record[name] = find(context.gateway, row)
    record["_links"] = make_links(context.gateway, table, row)
    return record


def respond(context: RequestContext, table: Table, row: Row, status: int = 200) -> Response:
    """Create the response with a stored record."""
    return json_response({table.singular: show_record(context, table, row)}, status)


def show_whole(gateway: Gateway, table: Table, row: Row) -> Row:
    """Convert a stored record to response form, with its computed fields and without links."""
    record = show_fields(gateway, table, row)
    if table is CONTACT:
        record["header_message_type"] = row["header_message_type_id"]
    elif table is TRANSACTION and (tags := show_tags(gateway, row)):
        record["tags"] = tags
    elif table is USER:
        record |= {"user_api_key": None, "user_hash_key": None}
    return record | {name: find(gateway, row) for name, find in COMPUTED.get(table.plural, {}).items()}


def make_links(gateway: Gateway, table: Table, row: Row) -> Row:
    """Build the `_links` of a single record."""
    path = table.link.format_map(row) if table.link else f"/v2/{table.plural}/{row['id']}"
    links = {"self": {"href": f"{gateway.base_url}{path}"}}
    if table.subject:
        links["for"] = {"href": f"{gateway.base_url}{table.subject.format_map(row)}"}
    return links


def find_record(context: RequestContext, table: Table) -> Row:
    """Find the record that the path names.

    The path has its system id or its integrator id. An integrator id needs the query `?api_id=1&location_id=…`.

    Raises:
        RefusedError: 404, the record does not exist; 409, it was deleted.
        RefusedFieldsError: The query is invalid, or does not name the location of an integrator id.
    """
    column = _id_column(context, table)
    row = find_visible(context, table, column, context.path_id())
    if row is None:
        raise RefusedError(404, "The record cannot be found.")
    if row["deleted_ts"] is not None:
        raise RefusedError(409, "The record has been deleted.")
    return row


async def read_new(context: RequestContext, table: Table) -> tuple[Row, Problems]:
    """Read the fields of the body of a POST, with their problems.

    Raises:
        RefusedError: 400 or 413; the body has no record or is too large.
    """
    body, problems = await context.read_record(table.singular), Problems()
    return check_values(context, table, body, problems), problems


async def read_update(context: RequestContext, table: Table) -> tuple[Row, Row, Problems]:
    """Read the named record, and the fields of the body.

    Raises:
        RefusedError: As in `read_new` and `find_record`.
        RefusedFieldsError: The query is invalid.
    """
    body = await context.read_record(table.singular)
    row, problems = find_record(context, table), Problems()
    return row, check_values(context, table, body, problems, current=row), problems


def check_values(
    context: RequestContext, table: Table, body: Row, problems: Problems, *, current: Row | None = None
) -> Row:
    """Check the fields of a record, ids included, and convert them to stored form."""
    values = read_fields(context, table, body, problems, current=current)
    check_references(context, table, values, problems, current=current)
    return values


def update_record(context: RequestContext, table: Table, row: Row, values: Row) -> Row:
    """Store changes of a record and their author; return the changed record."""
    changes = values | {"modified_user_id": context.user["id"]}
    return context.gateway.change(table, row, {name: value for name, value in changes.items() if name in row})


def delete_record(context: RequestContext, table: Table, row: Row) -> None:
    """Mark a record as deleted."""
    context.gateway.store.update(table, row["id"], {"deleted_ts": context.gateway.clock.timestamp()})


def _id_column(context: RequestContext, table: Table) -> str:
    """The column of the id in the path: the system id, or the integrator id."""
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
