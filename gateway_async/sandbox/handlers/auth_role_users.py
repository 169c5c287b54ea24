"""Roles of users (contract, "Users").

Any role gives a user every right, because the rights of a role are not documented.
"""

from starlette.responses import Response

from gateway_async.sandbox.http.errors import Problems
from gateway_async.sandbox.http.responses import empty_response, json_response
from gateway_async.sandbox.request.context import RequestContext
from gateway_async.sandbox.request.records import find_record, make_get, make_list, read_new, show_record
from gateway_async.sandbox.runtime.visibility import find_visible
from gateway_async.sandbox.schema import AUTH_ROLE_USER, USER
from gateway_async.sandbox.schema.fields import Row

__all__ = ["create", "delete", "get", "get_list"]


async def create(context: RequestContext) -> Response:
    """Handle POST /v2/authroleusers."""
    values, problems = await read_new(context, AUTH_ROLE_USER)
    if values.get("auth_role_id") == 0:
        problems.add("auth_role_id", "Auth Role Id must be 1 or more.")
    user = _find_user(context, values, problems)
    owner = context.user | {"location_id": problems.require(user)["location_id"]}
    row = context.gateway.create(AUTH_ROLE_USER, owner, values)
    return json_response({"authroleuser": show_record(context, AUTH_ROLE_USER, row)}, 201)


async def delete(context: RequestContext) -> Response:
    """Handle DELETE /v2/authroleusers/{id}. The role is unknown afterwards."""
    context.gateway.store.delete(AUTH_ROLE_USER, find_record(context, AUTH_ROLE_USER)["id"])
    return empty_response()


def _find_user(context: RequestContext, values: Row, problems: Problems) -> Row | None:
    if values.get("user_id") is None:
        return None
    user = find_visible(context.gateway.store, USER, context.user, "id", values["user_id"])
    if user is None or user["deleted_ts"] is not None:
        problems.add("user_id", "user_id provided is not valid")
        return None
    return user


get = make_get(AUTH_ROLE_USER)
get_list = make_list(AUTH_ROLE_USER)
