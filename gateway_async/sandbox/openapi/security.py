"""The credentials as security schemes."""

from typing import Any

from gateway_async.sandbox.openapi.names import segment_of
from gateway_async.sandbox.request.credentials import FOR_ANYONE, SCHEMES, WITHOUT_CREDENTIALS

__all__ = ["SECURITY_SCHEMES", "describe_security"]


def _header(name: str, description: str = "") -> dict[str, Any]:
    scheme = {"type": "apiKey", "in": "header", "name": name}
    return scheme | ({"description": description} if description else {})


SECURITY_SCHEMES: dict[str, dict[str, Any]] = {
    "developerId": _header("developer-id", "Every header of credentials may be a parameter of the query instead."),
    "userId": _header("user-id"),
    "userApiKey": _header("user-api-key"),
    "accessToken": _header("access-token", "A token of `POST /v2/token`."),
    "timestamp": _header("timestamp", "Unix seconds, at most 15 minutes away from the sandbox's clock."),
    "hashKey": _header("hash-key", "HMAC-SHA-256 of user id and timestamp with the user's hash key, in hex."),
    "basic": {"type": "http", "scheme": "basic", "description": "The user id and the user API key."},
    "bearer": {"type": "http", "scheme": "bearer", "description": "A token of `POST /v2/token`."},
}
"""The security schemes by name."""

_BY_KEY = ("developerId", "userId", "userApiKey")
_BY_HASH_KEY = ("developerId", "userId", "timestamp", "hashKey")
_EVERYWHERE = (_BY_KEY, ("developerId", "accessToken"), ("developerId", "basic"), ("developerId", "bearer"))
_HASH_KEY_SEGMENTS = frozenset[str]().union(*(scheme.path_segments for scheme in SCHEMES))
_HOSTED_FORMS = frozenset({"accountform", "payform"})


def describe_security(operation: str) -> list[dict[str, list[str]]]:
    """Return the combinations of credentials that an operation accepts."""
    segment = segment_of(operation.split()[1])
    if operation == FOR_ANYONE:
        return _requirements((), ("developerId",))
    if operation in WITHOUT_CREDENTIALS:
        return _requirements(("developerId",))
    if segment in _HOSTED_FORMS:
        return _requirements(_BY_HASH_KEY)
    return _requirements(*_EVERYWHERE, *([_BY_HASH_KEY] if segment in _HASH_KEY_SEGMENTS else []))


def _requirements(*combinations: tuple[str, ...]) -> list[dict[str, list[str]]]:
    return [{name: [] for name in combination} for combination in combinations]
