"""The request log: one entry for each request that a program sent.

An entry keeps what went over the wire, and nothing is parsed before a page asks for it. The bytes contain secrets: only
`pages/bodies.py` and `pages/requests.py` read them, and mask them.
"""

import re
from collections.abc import Callable
from itertools import count
from time import perf_counter, time

import attrs
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway_async.sandbox.http.responses import parse_json

FAULT = "gateway_async.sandbox.fault"
"""The key of the ASGI scope for the name of the fault that affected a request."""

READING_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_REFUSED = 400
_LONGEST_BODY = 10_000
_TOKEN = re.compile(r"(?<=^/v2/token/).+")
_NUMBER = re.compile(r"(?<=/)[0-9]{9,}(?=/|$)")
"""A segment that could be a card or account number; the ids of the sandbox are hexadecimal."""


@attrs.define
class LoggedMessage:
    """The headers and the body that were sent in one direction.

    Attributes:
        headers: The headers, in order.
        body: The first 10,000 bytes of the body.
        length: The length of the whole body.
    """

    headers: list[tuple[bytes, bytes]] = attrs.field(factory=list)
    body: bytes = b""
    length: int = 0

    def add(self, chunk: bytes) -> None:
        """Add a part of the body."""
        if len(self.body) < _LONGEST_BODY:
            self.body += chunk[: _LONGEST_BODY - len(self.body)]
        self.length += len(chunk)


@attrs.frozen
class LoggedRequest:
    """A request and its response.

    Attributes:
        path: The path, percent-encoded; tokens and what could be a card number are replaced by stars.
        status_code: The HTTP status; None if a fault, a disconnect or a reset left the request without a response.
        seconds: How long it took.
        problem: What the response says is wrong; "" for a success.
        time: When it arrived, in Unix seconds of this machine's clock.
        number: The position in the log, from 1; requests are numbered when they end.
        fault: The name of the planned fault that affected it; "" without one.
        query: The query string, percent-encoded; it may contain secrets, as the next two may.
        request: What the program sent.
        response: What it was sent back.
    """

    method: str
    path: str
    status_code: int | None
    seconds: float
    problem: str = ""
    time: float = attrs.field(factory=time)
    number: int = 0
    fault: str = ""
    query: bytes = attrs.field(default=b"", repr=False)
    request: LoggedMessage = attrs.field(factory=LoggedMessage, repr=False)
    response: LoggedMessage = attrs.field(factory=LoggedMessage, repr=False)

    @property
    def is_write(self) -> bool:
        """Whether the request may have changed something."""
        return self.method not in READING_METHODS

    @property
    def has_failed(self) -> bool:
        """Whether the program got no response, or one with an error status."""
        return self.status_code is None or self.status_code >= _REFUSED


OnRequest = Callable[[LoggedRequest], object]


def with_request_log(app: ASGIApp, on_request: OnRequest) -> ASGIApp:
    """Wrap an application to call `on_request` after each request."""
    numbers = count(1)

    async def run(scope: Scope, receive: Receive, send: Send) -> None:
        request, response = LoggedMessage(scope["headers"]), LoggedMessage()
        status: int | None = None

        async def observe_request() -> Message:
            message = await receive()
            if message["type"] == "http.request":
                request.add(message.get("body", b""))
            return message

        async def observe_response(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status, response.headers = message["status"], message["headers"]
            else:
                response.add(message.get("body", b""))
            await send(message)

        arrived, began = time(), perf_counter()
        try:
            await app(scope, observe_request, observe_response)
        finally:
            on_request(
                LoggedRequest(
                    method=scope["method"],
                    path=_NUMBER.sub("***", _TOKEN.sub("***", scope["raw_path"].decode("ascii"))),
                    status_code=status,
                    seconds=perf_counter() - began,
                    problem=_problem(response.body) if status is not None and status >= _REFUSED else "",
                    time=arrived,
                    number=next(numbers),
                    fault=scope.get(FAULT, ""),
                    query=scope["query_string"],
                    request=request,
                    response=response,
                )
            )

    return run


def _problem(body: bytes) -> str:
    """The messages of an error response."""
    content = parse_json(body)
    if not isinstance(content, dict):
        return ""
    fields = content.get("errors")
    if isinstance(fields, dict):
        return "; ".join(f"{name}: {', '.join(map(str, messages))}" for name, messages in fields.items())
    return str(content.get("message", ""))
