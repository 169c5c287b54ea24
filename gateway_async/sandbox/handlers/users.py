"""Users (contract, "Users"): user accounts of the gateway, their passwords and their roles.

A caller sees the users of its location and of those directly below it. A user has no rights before it gets a role. Any
role gives every right, because the rights of a role are not documented.

A password has letters and digits, and differs from the last four. A user that changes its own password also sends the
old one. A password that another user has set works for one login.
"""

import hmac
import json
import secrets

from starlette.responses import Response

from gateway_async.sandbox.http.responses import Problems, RefusedFieldsError, empty_response, json_response
from gateway_async.sandbox.request.context import RequestContext
from gateway_async.sandbox.request.records import (
    find_record,
    find_visible,
    read_new,
    read_update,
    respond,
    update_record,
)
from gateway_async.sandbox.request.standard_handlers import make_delete
from gateway_async.sandbox.schema import AUTH_ROLE_USER, LOCATION, USER
from gateway_async.sandbox.schema.fields import Row, Table

_REMEMBERED_PASSWORDS = 4


async def get_self(context: RequestContext) -> Response:
    """Handle GET /v2/users/me: the caller."""
    return respond(context, USER, context.user)


async def create(context: RequestContext) -> Response:
    """Handle POST /v2/users. The user belongs to its primary location, by default the caller's."""
    values, problems = await read_new(context, USER)
    values["primary_location_id"] = values.get("primary_location_id") or context.user["location_id"]
    _find_named(context, LOCATION, "primary_location_id", values, problems)
    _check_username(context, {}, values, problems)
    _check_password(context.user, {}, values, problems)
    problems.raise_if_any()
    owner = {"id": context.user["id"], "location_id": values["primary_location_id"]}
    values |= {"domain": context.user["domain"]} | _password_changes(context.user, {}, values)
    return respond(context, USER, context.gateway.create(USER, owner, values), 201)


async def update(context: RequestContext) -> Response:
    """Handle PUT /v2/users/{id}."""
    row, values, problems = await read_update(context, USER)
    _check_username(context, row, values, problems)
    _check_password(context.user, row, values, problems)
    problems.raise_if_any()
    changed = update_record(context, USER, row, values | _password_changes(context.user, row, values))
    context.gateway.refresh_info()
    return respond(context, USER, changed)


def _refuse_self(context: RequestContext, row: Row) -> None:
    if row["id"] == context.user["id"]:
        raise RefusedFieldsError({"id": ["A user cannot delete itself."]})


delete = make_delete(USER, _refuse_self)


async def generate_key(context: RequestContext) -> Response:
    """Handle POST /v2/users/{id}/generateuserapikey, the only response that shows a key. The old key ends at once."""
    row, key = find_record(context, USER), secrets.token_hex(16)
    update_record(context, USER, row, {"user_api_key": key})
    context.gateway.refresh_info()
    return json_response({"user": {"user_api_key": key}})


async def create_role(context: RequestContext) -> Response:
    """Handle POST /v2/authroleusers."""
    values, problems = await read_new(context, AUTH_ROLE_USER)
    if values.get("auth_role_id") == 0:
        problems.add("auth_role_id", "Auth Role Id must be 1 or more.")
    user = _find_named(context, USER, "user_id", values, problems)
    owner = context.user | {"location_id": problems.require(user)["location_id"]}
    return respond(context, AUTH_ROLE_USER, context.gateway.create(AUTH_ROLE_USER, owner, values), 201)


async def delete_role(context: RequestContext) -> Response:
    """Handle DELETE /v2/authroleusers/{id}. The role is unknown afterwards."""
    context.gateway.store.delete(AUTH_ROLE_USER, find_record(context, AUTH_ROLE_USER)["id"])
    return empty_response()


def _find_named(context: RequestContext, table: Table, field: str, values: Row, problems: Problems) -> Row | None:
    """Find the record whose id a field holds, if the caller sees it."""
    if values.get(field) is None:
        return None
    row = find_visible(context, table, "id", values[field])
    if row is None or row["deleted_ts"] is not None:
        problems.add_invalid(field)
        return None
    return row


def _check_username(context: RequestContext, row: Row, values: Row, problems: Problems) -> None:
    """Check that no other user of the domain has the user name, and that no user loses its name."""
    name = values.get("username")
    if name is None:
        if "username" in values and row.get("username"):
            problems.add_blank("username")
        return
    found = context.gateway.store.find_alive(USER, username=name, domain=row.get("domain", context.user["domain"]))
    if found and found["id"] != row.get("id"):
        problems.add("username", "username already exists")


def _check_password(caller: Row, row: Row, values: Row, problems: Problems) -> None:
    """Check the new password of a user, whose row is empty before its creation."""
    password, old = values.get("password"), values.get("old_password")
    if "password" not in values or "password" in problems:
        return
    if password is None:
        problems.add_blank("password")
    elif not (any(map(str.isalpha, password)) and any(map(str.isdigit, password))):
        problems.add("password", "Password must contain letters and digits.")
    elif row and password in _previous_passwords(row):
        problems.add("password", f"Password must differ from the last {_REMEMBERED_PASSWORDS}.")
    if _is_own(caller, row) and not _matches(row["password"], old) and "old_password" not in problems:
        problems.add("old_password", "Old Password is not correct.")


def _password_changes(caller: Row, row: Row, values: Row) -> Row:
    """What a new password changes in a user besides itself."""
    if values.get("password") is None:
        return {}
    previous = [values["password"], *_previous_passwords(row)][:_REMEMBERED_PASSWORDS]
    return {
        "previous_passwords": json.dumps(previous),
        "requires_new_password": int(not _is_own(caller, row)),
        "password_used": 0,
    }


def _is_own(caller: Row, row: Row) -> bool:
    return bool(row) and bool(row["id"] == caller["id"])


def _previous_passwords(row: Row) -> list[str]:
    """The last passwords, newest first. The list of a user that the sandbox made lacks its first one."""
    previous: list[str] = json.loads(row.get("previous_passwords") or "[]")
    current = row.get("password")
    return previous if current is None or current in previous else [current, *previous]


def _matches(password: str | None, given: str | None) -> bool:
    return password is not None and given is not None and hmac.compare_digest(given.encode(), password.encode())
