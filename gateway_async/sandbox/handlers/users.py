"""Users (contract, "Users"): user accounts of the gateway.

A caller sees the users of its location and of those directly below it. A user has no rights before it gets a role.
"""

import secrets

from starlette.responses import Response

from gateway_async.sandbox.handlers.passwords import check_password, password_changes
from gateway_async.sandbox.http.errors import Problems, RefusedFieldsError
from gateway_async.sandbox.http.responses import empty_response, json_response
from gateway_async.sandbox.request.context import RequestContext
from gateway_async.sandbox.request.records import (
    find_record,
    make_get,
    make_list,
    read_new,
    read_update,
    show_record,
    update_record,
)
from gateway_async.sandbox.runtime.visibility import find_visible
from gateway_async.sandbox.schema import LOCATION, USER
from gateway_async.sandbox.schema.fields import Row

__all__ = ["create", "delete", "generate_key", "get", "get_list", "get_self", "update"]


async def get_self(context: RequestContext) -> Response:
    """Handle GET /v2/users/me: the caller."""
    return json_response({"user": show_record(context, USER, context.user)})


async def create(context: RequestContext) -> Response:
    """Handle POST /v2/users. The user belongs to its primary location, by default that of the caller."""
    values, problems = await read_new(context, USER)
    location_id = values.get("primary_location_id") or context.user["location_id"]
    location = find_visible(context.gateway.store, LOCATION, context.user, "id", location_id)
    if location is None or location["deleted_ts"] is not None:
        problems.add("primary_location_id", "primary_location_id provided is not valid")
    _check_username(context, {}, values, problems)
    check_password(context.user, {}, values, problems)
    problems.raise_if_any()
    owner = {"id": context.user["id"], "location_id": location_id}
    values |= {"domain": context.user["domain"], "primary_location_id": location_id}
    values |= password_changes(context.user, {}, values)
    row = context.gateway.create(USER, owner, values)
    return json_response({"user": show_record(context, USER, row)}, 201)


async def update(context: RequestContext) -> Response:
    """Handle PUT /v2/users/{id}."""
    row, values, problems = await read_update(context, USER)
    _check_username(context, row, values, problems)
    check_password(context.user, row, values, problems)
    problems.raise_if_any()
    changed = update_record(context, USER, row, values | password_changes(context.user, row, values))
    context.gateway.refresh_info()
    return json_response({"user": show_record(context, USER, changed)})


async def delete(context: RequestContext) -> Response:
    """Handle DELETE /v2/users/{id}. A user cannot delete itself."""
    row = find_record(context, USER)
    if row["id"] == context.user["id"]:
        raise RefusedFieldsError({"id": ["A user cannot delete itself."]})
    context.gateway.store.update(USER, row["id"], {"deleted_ts": context.gateway.clock.timestamp()})
    return empty_response()


async def generate_key(context: RequestContext) -> Response:
    """Handle POST /v2/users/{id}/generateuserapikey, the only response that shows a key. The old key ends at once."""
    row, key = find_record(context, USER), secrets.token_hex(16)
    update_record(context, USER, row, {"user_api_key": key})
    context.gateway.refresh_info()
    return json_response({"user": {"user_api_key": key}})


def _check_username(context: RequestContext, row: Row, values: Row, problems: Problems) -> None:
    """Check that no other user of the domain has the user name.

    A user that has a name keeps one.
    """
    name = values.get("username")
    if name is None:
        if "username" in values and row.get("username") and "username" not in problems:
            problems.add("username", "Username cannot be blank.")
        return
    found = context.gateway.store.find(USER, username=name, domain=row.get("domain", context.user["domain"]))
    if found and found["deleted_ts"] is None and found["id"] != row.get("id"):
        problems.add("username", "username already exists")


get = make_get(USER)
get_list = make_list(USER)
