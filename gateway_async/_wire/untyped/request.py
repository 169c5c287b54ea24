"""Single calls to any path of the gateway."""

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import unquote

from gateway_async._wire.call import Call, HttpRequest, Kind
from gateway_async._wire.json_text import encode
from gateway_async._wire.query import free_params, secrets_in_params
from gateway_async._wire.reply import Reply
from gateway_async._wire.request import prepare
from gateway_async.errors import InvalidRequestError

_METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")
_PATH: Final = re.compile(r"/(v2|custom)/(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/]|%[0-9A-Fa-f]{2})+")
_KINDS: Final = (None, "read", "write")
_TERMINAL_PATHS: Final = ("/v2/router", "/v2/deviceterms")


def free_request(method: str, path: str, params: Mapping[str, Any], body: Any, kind: str | None) -> Call[Reply]:
    """Build a call of any path that returns the response.

    Args:
        method: the HTTP method. A GET is a read, every other method a write that cannot be looked up.
        path: the percent-encoded path, from `/v2/` or `/custom/`.
        params: sealed query parameters.
        body: sealed content, with its wrapper; None for no body.
        kind: "read" or "write", if the method does not tell.

    Raises:
        InvalidRequestError: an argument cannot be sent; `.problems` names every one.
    """
    problems = [*_path_problems(path)]
    if method not in _METHODS:
        problems.append(f"method: must be one of {', '.join(_METHODS)}")
    if kind not in _KINDS:
        problems.append('kind: must be "read" or "write"')
    if problems:
        raise InvalidRequestError(problems)
    prepared = None if body is None else prepare(body)
    query = free_params(params)
    is_read = (kind or ("read" if method == "GET" else "write")) == "read"
    terminal_id = None if prepared is None or is_read else _terminal_id(path, prepared.content)
    return Call(
        request=HttpRequest(
            method=method,
            path=path,
            params=query,
            body=encode(prepared.content) if prepared else None,
            secrets=(*secrets_in_params(query), *(prepared.secrets if prepared else ())),
        ),
        read=lambda content: content,
        returns_reply=True,
        kind=Kind.READ if is_read else Kind.TERMINAL if terminal_id else Kind.UNNAMED,
        sent=prepared.masked if prepared else {},
        terminal_id=terminal_id,
    )


def _path_problems(path: Any) -> tuple[str, ...]:
    if not isinstance(path, str) or not _PATH.fullmatch(path):
        return ("path: must be a percent-encoded path that starts with /v2/ or /custom/, without host and query",)
    parts = unquote(path).split("/")
    if ".." in parts or "." in parts or "" in parts[1:-1]:
        return ("path: must not contain empty or relative parts",)
    if parts[2] == "token":
        return ("path: tokens are secret (use gateway.tokens)",)
    return ()


def _terminal_id(path: str, content: Mapping[str, Any]) -> str | None:
    """Return the terminal at which a call waits."""
    if not path.startswith(_TERMINAL_PATHS):
        return None
    values = [part.get("terminal_id") for part in content.values() if isinstance(part, dict)]
    return next((value for value in values if isinstance(value, str)), None)
