"""Authentication (contract, "Authentication"): a table of schemes.

There is one scheme for each kind of credentials. If a request has several kinds, the first scheme in the table
applies. Every scheme also needs a developer id. The contract does not show how to obtain a bearer token; the sandbox
accepts a token of `POST /v2/token`.
"""

import base64
import hmac
import re
from collections.abc import Callable, Mapping
from hashlib import sha256

import attrs

from gateway_async.sandbox.http.responses import RefusedError
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema import AUTH_ROLE_USER, TOKEN, USER
from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.state_machines.tokens import TokenTrigger, allows

CredentialValues = Mapping[str, str]
Find = Callable[[Gateway, CredentialValues], "Caller | None"]
PARAMETERS = frozenset({"developer-id", "user-id", "user-api-key", "access-token", "timestamp", "hash-key"})
"""The names of credentials in a query string; they are never filters and never appear in links."""

FOR_ANYONE = "GET /hostedpaymentpage"
"""The operation that may even omit the developer id."""
WITHOUT_CREDENTIALS = frozenset({"POST /v2/token", FOR_ANYONE})
"""The operations that need at most a developer id."""
_WITHOUT_RIGHTS = frozenset({"DELETE /v2/token/{token}"})
"""The operations that a user without a role may perform."""

_HASH_KEY_SECONDS = 15 * 60
_TIMESTAMP = re.compile("[1-9][0-9]{9}")
"""With another length, or with a leading zero, a digit of the signed text could belong to the user id."""


@attrs.frozen
class Caller:
    """The user who sent a request, and the token, if any."""

    user: Row
    token: Row | None = None


@attrs.frozen
class Scheme:
    """One kind of credentials.

    Attributes:
        find: Returns the caller from headers or query; None if they have no such credentials.
        parts: The parts of a request that may hold them.
        path_segments: The path segments that accept them; empty for all.
    """

    find: Find
    parts: tuple[str, ...] = ("headers", "query")
    path_segments: frozenset[str] = frozenset()


def authenticate(gateway: Gateway, operation: str, headers: CredentialValues, query: CredentialValues) -> Caller:
    """The user who sent a request, such as `GET /v2/contacts/{id}`.

    The user is empty for operations that need only a developer id.

    Raises:
        RefusedError: 401, the credentials are missing or invalid; 403, the operation does not accept them, or the user
            has no role.
    """
    developer_id = headers.get("developer-id") or query.get("developer-id", "")
    if not _equal(developer_id, gateway.info.developer_id) and (developer_id or operation != FOR_ANYONE):
        raise RefusedError(401, "developer-id is missing or unknown.")
    if operation in WITHOUT_CREDENTIALS:
        return Caller({})
    caller = _find_caller(gateway, operation, {"headers": headers, "query": query})
    if operation not in _WITHOUT_RIGHTS and gateway.store.find(AUTH_ROLE_USER, user_id=caller.user["id"]) is None:
        raise RefusedError(403, "The user has no rights before it has a role.")
    return caller


def _find_caller(gateway: Gateway, operation: str, sources: Mapping[str, CredentialValues]) -> Caller:
    for scheme in SCHEMES:
        for part in scheme.parts:
            if caller := scheme.find(gateway, sources[part]):
                if scheme.path_segments and operation.split("/")[2] not in scheme.path_segments:
                    raise RefusedError(403, "These credentials are not accepted at this endpoint.")
                return caller
    raise RefusedError(401, "Your request was made without credentials.")


def _find_by_key(gateway: Gateway, source: CredentialValues) -> Caller | None:
    return _check_key(gateway, source.get("user-id"), source.get("user-api-key"))


def _find_by_basic(gateway: Gateway, headers: CredentialValues) -> Caller | None:
    scheme, _, encoded = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        user_id, colon, key = base64.b64decode(encoded, validate=True).decode().partition(":")
    except ValueError:  # raised by base64, and for text that is not ASCII or UTF-8
        raise RefusedError(401, "The Authorization header cannot be read.") from None
    return _check_key(gateway, user_id, key if colon else None)


def _find_by_access_token(gateway: Gateway, source: CredentialValues) -> Caller | None:
    return _check_token(gateway, "access-token", source.get("access-token"))


def _find_by_bearer_token(gateway: Gateway, headers: CredentialValues) -> Caller | None:
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return _check_token(gateway, "The bearer token", token.strip()) if scheme.lower() == "bearer" else None


def _find_by_hash_key(gateway: Gateway, source: CredentialValues) -> Caller | None:
    if (hash_key := source.get("hash-key")) is None:
        return None
    user_id, timestamp = source.get("user-id", ""), source.get("timestamp", "")
    user = _find_user(gateway, user_id)
    if user and user["user_hash_key"] and _is_recent(gateway, timestamp):
        expected = hash_key_for(user["user_hash_key"], user_id, timestamp)
        if _equal(hash_key, expected):
            return Caller(user)
    raise RefusedError(401, "Hash key is invalid")


def hash_key_for(user_hash_key: str, user_id: str, timestamp: str) -> str:
    """Compute the `hash-key` of a user at a time: HMAC-SHA-256 in hex."""
    return hmac.new(user_hash_key.encode(), f"{user_id}{timestamp}".encode(), "sha256").hexdigest()


def _is_recent(gateway: Gateway, timestamp: str) -> bool:
    is_number = _TIMESTAMP.fullmatch(timestamp) is not None
    return is_number and abs(gateway.clock.now() - int(timestamp)) <= _HASH_KEY_SECONDS


SCHEMES: tuple[Scheme, ...] = (
    Scheme(_find_by_key),
    Scheme(_find_by_access_token),
    Scheme(
        _find_by_hash_key,
        path_segments=frozenset({"accountform", "accountvaults", "payform", "routeraccountvaults", "transactions"}),
    ),
    Scheme(_find_by_basic, parts=("headers",)),
    Scheme(_find_by_bearer_token, parts=("headers",)),
)
"""Every kind of credentials, in order of priority.

A hash-key is also valid for salestax, which the sandbox does not have.
"""


def _check_key(gateway: Gateway, user_id: str | None, key: str | None) -> Caller | None:
    if user_id is None or key is None:
        return None
    user = _find_user(gateway, user_id)
    if user is None or user["user_api_key"] is None or not _equal(key, user["user_api_key"]):
        raise RefusedError(401, "user-id or user-api-key is not valid.")
    return Caller(user)


def _check_token(gateway: Gateway, name: str, text: str | None) -> Caller | None:
    if text is None:
        return None
    token = find_token(gateway, text, TokenTrigger.USE)
    user = token and _find_user(gateway, token["user_id"])
    if user is None:
        raise RefusedError(401, f"{name} is not valid, or has expired.")
    return Caller(user, token)


def _find_user(gateway: Gateway, user_id: str) -> Row | None:
    return gateway.store.find_alive(USER, id=user_id)


def _equal(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode(), expected.encode())


def find_token(gateway: Gateway, token: str, trigger: TokenTrigger) -> Row | None:
    """Find the stored token if its state allows the trigger."""
    row = gateway.store.find(TOKEN, id=token_digest(token))
    return row if row and allows(trigger, row, gateway.clock.now()) else None


def extend_token(gateway: Gateway, row: Row) -> None:
    """Restart the lifetime of a token after a successful request."""
    gateway.store.update(TOKEN, row["id"], {"used_ts": gateway.clock.timestamp()})


def token_digest(token: str) -> str:
    """The id of a stored token."""
    return sha256(token.encode()).hexdigest()
