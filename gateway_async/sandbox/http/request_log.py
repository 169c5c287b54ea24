"""The request log: one entry for each request, without credentials, bodies and query strings."""

import re
from collections.abc import Callable
from time import perf_counter, time
from typing import Any

import attrs
import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["LoggedRequest", "OnRequest", "with_request_log"]

_REFUSED = 400
_LONGEST_BODY = 10_000
_TOKEN = re.compile(r"(?<=^/v2/token/).+")
_NUMBER = re.compile(r"(?<=/)[0-9]{9,}(?=/|$)")
"""A segment that could be a card or account number; the ids of the sandbox are hexadecimal."""


@attrs.frozen
class LoggedRequest:
    """A request and its response.

    Attributes:
        path: The path, percent-encoded; tokens and what could be a card number are replaced by stars.
        status: The HTTP status; None if a fault, a disconnect or a reset left the request without a response.
        seconds: How long it took.
        problem: What the response says is wrong; "" for a success.
        time: When it arrived, in Unix seconds of this machine's clock.
    """

    method: str
    path: str
    status: int | None
    seconds: float
    problem: str = ""
    time: float = attrs.field(factory=time)


OnRequest = Callable[[LoggedRequest], object]


def with_request_log(app: ASGIApp, on_request: OnRequest) -> ASGIApp:
    """Wrap an application so that `on_request` is called after each request."""

    async def run(scope: Scope, receive: Receive, send: Send) -> None:
        status: int | None = None
        body = b""

        async def observe(message: Message) -> None:
            nonlocal status, body
            if message["type"] == "http.response.start":
                status = message["status"]
            elif status is not None and status >= _REFUSED and len(body) < _LONGEST_BODY:
                body += message.get("body", b"")
            await send(message)

        arrived, began = time(), perf_counter()
        try:
            await app(scope, receive, observe)
        finally:
            path = _NUMBER.sub("***", _TOKEN.sub("***", scope["raw_path"].decode("ascii")))
            seconds = perf_counter() - began
            on_request(LoggedRequest(scope["method"], path, status, seconds, _problem(body), arrived))

    return run


def _problem(body: bytes) -> str:
    """Return the messages of an error response."""
    try:
        content: Any = msgspec.json.decode(body) if body else {}
    except msgspec.DecodeError:
        return ""
    if not isinstance(content, dict):
        return ""
    fields = content.get("errors")
    if isinstance(fields, dict):
        return "; ".join(f"{name}: {', '.join(map(str, messages))}" for name, messages in fields.items())
    return str(content.get("message", ""))
