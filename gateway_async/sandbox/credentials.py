"""Who is calling: the contract's "Authentication" as a table of schemes, each for one kind of credentials.

The first scheme that finds something decides. A developer id is needed with every one of them.
"""

from __future__ import annotations

import base64
import binascii
import hmac
from typing import TYPE_CHECKING

from gateway_async.sandbox.errors import RefusedError
from gateway_async.sandbox.tables import USER

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gateway_async.sandbox.fields import Row
    from gateway_async.sandbox.gateway import Gateway

    Source = Mapping[str, str]
    Scheme = Callable[[Gateway, Source, Source], Row | None]

PARAMETERS = frozenset({"developer-id", "user-id", "user-api-key", "access-token", "timestamp", "hash-key"})
"""The names of credentials in a query string; never filters, and never repeated in links."""


def authenticate(gateway: Gateway, headers: Source, query: Source) -> Row:
    """The user who sent a request.

    Raises:
        RefusedError: 401, there are no credentials that anybody here has.
    """
    developer_id = headers.get("developer-id") or query.get("developer-id", "")
    if not _equal(developer_id, gateway.facts.developer_id):
        raise RefusedError(401, "developer-id is missing or unknown.")
    for scheme in SCHEMES:
        if user := scheme(gateway, headers, query):
            return user
    raise RefusedError(401, "Your request was made without credentials.")


def _key_in_headers(gateway: Gateway, headers: Source, _query: Source) -> Row | None:
    return _by_key(gateway, headers.get("user-id"), headers.get("user-api-key"))


def _key_in_query(gateway: Gateway, _headers: Source, query: Source) -> Row | None:
    return _by_key(gateway, query.get("user-id"), query.get("user-api-key"))


def _key_as_basic(gateway: Gateway, headers: Source, _query: Source) -> Row | None:
    scheme, _, encoded = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        user_id, colon, key = base64.b64decode(encoded, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        raise RefusedError(401, "The Authorization header cannot be read.") from None
    return _by_key(gateway, user_id, key if colon else None)


SCHEMES: tuple[Scheme, ...] = (_key_in_headers, _key_in_query, _key_as_basic)


def _by_key(gateway: Gateway, user_id: str | None, key: str | None) -> Row | None:
    if user_id is None or key is None:
        return None
    user = gateway.store.find(USER, id=user_id)
    if user is None or not _equal(key, user["user_api_key"]):
        raise RefusedError(401, "user-id or user-api-key is not valid.")
    return user


def _equal(given: str, known: str) -> bool:
    return hmac.compare_digest(given.encode(), known.encode())
