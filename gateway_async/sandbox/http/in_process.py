"""Send a request to an application in the same process."""

import asyncio

import attrs
from starlette.types import ASGIApp, Message, Scope

__all__ = ["InProcessResponse", "send_in_process"]


@attrs.define
class InProcessResponse:
    """The response of an application.

    Attributes:
        headers: Names in lower case, in the order of the response.
    """

    status_code: int = 500
    headers: dict[str, str] = attrs.field(factory=dict)
    body: bytes = b""


async def send_in_process(
    app: ASGIApp, method: str, target: str, headers: dict[str, str], body: bytes = b""
) -> InProcessResponse:
    """Send a request to an application, and return its response.

    Args:
        app: The application.
        method: The HTTP method.
        target: The path and the query, percent-encoded.
        headers: Names in lower case.
        body: The whole body.
    """
    reply = InProcessResponse()
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        return messages.pop() if messages else await asyncio.Future()  # the sender never disconnects

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            reply.status_code = message["status"]
            reply.headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in message["headers"]}
        else:
            reply.body += message.get("body", b"")

    await app(_make_scope(method, target, headers), receive, send)
    return reply


def _make_scope(method: str, target: str, headers: dict[str, str]) -> Scope:
    path, _, query = target.partition("?")
    return {
        "type": "http",
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode("ascii"),
        "query_string": query.encode("ascii"),
        "root_path": "",
        "headers": [(name.encode("ascii"), value.encode("latin-1")) for name, value in headers.items()],
        "client": None,
        "server": None,
    }
