"""Access tokens (contract, "Token"), which are issued for a user name, a password and a domain."""

import hmac
import secrets

from starlette.responses import Response

from gateway_async.sandbox.http.responses import Problems, RefusedError, empty_response, json_response
from gateway_async.sandbox.request.context import RequestContext, read_json
from gateway_async.sandbox.request.credentials import find_token, token_digest
from gateway_async.sandbox.request.records import delete_record
from gateway_async.sandbox.request.validation import read_fields
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema import LOCATION, LOGIN, TABLES, TOKEN, USER
from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.state_machines.tokens import IDLE_SECONDS, TokenTrigger

_PASSWORD_LIFETIME = 365 * 24 * 60 * 60


async def create(context: RequestContext) -> Response:
    """Handle POST /v2/token."""
    gateway, token = context.gateway, secrets.token_hex(16)
    user, now = _log_in(gateway, await _read_login(context)), gateway.clock.timestamp()
    row = gateway.new_row(TOKEN, user, {"user_id": user["id"], "used_ts": now})
    gateway.store.insert(TOKEN, row | {"id": token_digest(token)})
    return json_response({"token": _show(gateway, user, token, now)}, 201)


async def delete(context: RequestContext) -> Response:
    """Handle DELETE /v2/token/{token}; a user can revoke only its own tokens."""
    row = find_token(context.gateway, context.path_id("token"), TokenTrigger.REVOKE)
    if row is None or row["user_id"] != context.user["id"]:
        raise RefusedError(404, "The token cannot be found.")
    delete_record(context, TOKEN, row)
    return empty_response()


async def _read_login(context: RequestContext) -> Row:
    body = await read_json(context.request)
    if not isinstance(body, dict):
        raise RefusedError(400, "The body must be an object.")
    problems = Problems()
    values = read_fields(context, LOGIN, body, problems)
    problems.raise_if_any()
    return values


def _log_in(gateway: Gateway, login: Row) -> Row:
    user = gateway.store.find_alive(USER, username=login["username"], domain=login["domain"])
    if user is None:
        raise RefusedError(401, "invalid user")
    if not hmac.compare_digest(login["password"].encode(), (user["password"] or "").encode()):
        raise RefusedError(401, "invalid password")
    if user["requires_new_password"]:
        _use_once(gateway, user)
    return user


def _use_once(gateway: Gateway, user: Row) -> None:
    """Accept a password that another user has set, for one login."""
    if user["password_used"]:
        raise RefusedError(401, "The password was valid for one login, and must be replaced.")
    gateway.store.update(USER, user["id"], {"password_used": 1})


def _show(gateway: Gateway, user: Row, token: str, now: int) -> Row:
    location = gateway.store.find(LOCATION, id=user["location_id"])
    values = user | {
        "expire": IDLE_SECONDS // 60,
        "password_expire_ts": now + _PASSWORD_LIFETIME,
        "time": now,
        "token": token,
        "primary_location_id": user["location_id"],
        "timezone": location and location["tz"],
    }
    return {name: values[name] for name in TABLES["tokens.response"].by_name}
