"""The effect of each fault on the connection and the response.

`reset_before_commit`, `error_before_commit`, `rate_limit` and `unavailable` prevent the execution of the request. All
other faults, such as `silence` and `delay`, execute the request first: the record exists, and only the response is
affected. `refuse` closes the port.
"""

import asyncio
import os
import socket
import struct
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, cast

import attrs
import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway_async.sandbox.http.request_log import FAULT
from gateway_async.sandbox.http.responses import error_response, parse_json
from gateway_async.sandbox.http.server import TRANSPORT
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema import API_IDS
from gateway_async.sandbox.simulators.faults import PlannedFault

_RESET_ON_CLOSE = struct.pack("hh" if os.name == "nt" else "ii", 1, 0)
_NOT_JSON = b'\x00\xff{"transaction": \xfe\xfe'
_HTML = b"<html><body><h1>502 Bad Gateway</h1></body></html>"
_UNANNOUNCED_BYTES = 10
_OTHER_RECORD = {"id": "ffffffffffffffffffffffff", "last_four": "0026", "transaction_amount": "9999.99"}
_OTHER_API_ID = "another-customers"


@attrs.define
class _CapturedResponse:
    """A complete response, which a fault can send or damage."""

    status_code: int
    headers: dict[bytes, bytes]
    body: bytes


@attrs.define
class _FaultContext:
    """One request that a fault affects."""

    plan: PlannedFault
    gateway: Gateway
    app: ASGIApp
    scope: Scope
    receive: Receive
    send: Send

    @property
    def transport(self) -> asyncio.Transport:
        """The connection of the request."""
        return cast("asyncio.Transport", self.scope["extensions"][TRANSPORT]["transport"])

    async def execute(self) -> _CapturedResponse:
        """Execute the request and return its response without sending it."""
        response = _CapturedResponse(500, {}, b"")

        async def capture(message: Message) -> None:
            if message["type"] == "http.response.start":
                response.status_code, response.headers = message["status"], dict(message["headers"])
            else:
                response.body += message["body"]

        await self.app(self.scope, self.receive, capture)
        return response

    async def start_response(self, response: _CapturedResponse, length: int | None = None) -> None:
        """Send the status and headers. `length` replaces the true `content-length` of the body."""
        headers = response.headers | {b"content-length": b"%d" % (len(response.body) if length is None else length)}
        await self.send({"type": "http.response.start", "status": response.status_code, "headers": [*headers.items()]})

    async def send_body(self, body: bytes, *, more: bool = False) -> None:
        """Send a part of the body, by default the last one."""
        await self.send({"type": "http.response.body", "body": body, "more_body": more})

    async def send_response(self, response: _CapturedResponse) -> None:
        """Send a whole response."""
        await self.start_response(response)
        await self.send_body(response.body)

    async def wait_for_disconnect(self) -> None:
        """Wait until the connection is closed."""
        while (await self.receive())["type"] != "http.disconnect":
            pass

    async def reset(self) -> None:
        """Reset the connection."""
        connection = cast("socket.socket", self.transport.get_extra_info("socket"))
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        self.transport.abort()
        await self.wait_for_disconnect()

    async def close(self) -> None:
        """Close the connection normally, after the data sent so far."""
        self.transport.close()
        await self.wait_for_disconnect()


_FaultEffect = Callable[[_FaultContext], Awaitable[None]]
"""Applies a fault to one request."""


def _after_commit(effect: _FaultEffect) -> _FaultEffect:
    async def run(context: _FaultContext) -> None:
        await context.execute()
        await effect(context)

    return run


async def _send_error(context: _FaultContext, status: int) -> None:
    refusal = error_response(status, "This is a planned fault of the sandbox.")
    headers = {b"content-type": b"application/json"}
    if status != 500 and context.plan.retry_after is not None:  # noqa: PLR2004  # the only status without a Retry-After header
        headers[b"retry-after"] = f"{context.plan.retry_after:g}".encode()
    await context.send_response(_CapturedResponse(status, headers, bytes(refusal.body)))


async def _cut_body(context: _FaultContext) -> None:
    response = await context.execute()
    await context.start_response(response)
    await context.send_body(response.body[: len(response.body) // 2], more=True)
    await context.close()


async def _duplicate_response(context: _FaultContext) -> None:
    response = await context.execute()
    head = b"".join(b"%s: %s\r\n" % pair for pair in response.headers.items())
    context.transport.write(b"HTTP/1.1 %d Again\r\n%s\r\n%s" % (response.status_code, head, response.body))
    await context.send_response(response)


async def _wrong_response(context: _FaultContext) -> None:
    response = await context.execute()
    if response.body:
        response.body = _replace_identity(response.body)
    await context.send_response(response)


def _replace_identity(body: bytes) -> bytes:
    content = msgspec.json.decode(body)
    for record in _records(content):
        record.update({name: value for name, value in _OTHER_RECORD.items() if name in record})
        record.update({name: _OTHER_API_ID for name in record if name.endswith("_api_id")})
    return msgspec.json.encode(content)


def _records(content: dict[str, Any]) -> list[dict[str, Any]]:
    values = [item for value in content.values() for item in (value if isinstance(value, list) else [value])]
    return [value for value in values if isinstance(value, dict)]


async def _wrong_length(context: _FaultContext) -> None:
    response = await context.execute()
    cut = max(0, len(response.body) - _UNANNOUNCED_BYTES)
    await context.start_response(response, cut)
    await context.send_body(response.body[:cut])
    context.transport.write(response.body[cut:])


async def _drip(context: _FaultContext) -> None:
    response = await context.execute()
    await context.start_response(response)
    for start in range(len(response.body)):
        await context.send_body(response.body[start : start + 1], more=True)
        await context.gateway.clock.sleep(context.plan.seconds)
    await context.send_body(b"")


async def _delay(context: _FaultContext) -> None:
    response = await context.execute()
    await context.gateway.clock.sleep(context.plan.seconds)
    await context.send_response(response)


async def _replace_body(context: _FaultContext, content_type: bytes, body: bytes) -> None:
    response = await context.execute()
    await context.send_response(_CapturedResponse(response.status_code, {b"content-type": content_type}, body))


_send_500 = partial(_send_error, status=500)

_FAULT_EFFECTS: dict[str, _FaultEffect] = {
    "reset_before_commit": _FaultContext.reset,
    "reset_after_commit": _after_commit(_FaultContext.reset),
    "close_after_commit": _after_commit(_FaultContext.close),
    "error_before_commit": _send_500,
    "error_after_commit": _after_commit(_send_500),
    "rate_limit": partial(_send_error, status=429),
    "unavailable": partial(_send_error, status=503),
    "cut_body": _cut_body,
    "duplicate_response": _duplicate_response,
    "wrong_response": _wrong_response,
    "wrong_length": _wrong_length,
    "drip": _drip,
    "silence": _after_commit(_FaultContext.wait_for_disconnect),
    "delay": _delay,
    "garbage": partial(_replace_body, content_type=b"application/json", body=_NOT_JSON),
    "html": partial(_replace_body, content_type=b"text/html", body=_HTML),
    "empty": partial(_replace_body, content_type=b"application/json", body=b""),
}
"""Every fault except `refuse`, which applies before a request arrives."""


async def close_port(gateway: Gateway, seconds: float) -> None:
    """Close the port for some seconds. Requests that have already arrived still get a response."""
    await gateway.listener.pause()
    gateway.clock.call_at(gateway.clock.now() + seconds, gateway.listener.schedule_resume)


def with_faults(app: ASGIApp, gateway: Gateway) -> ASGIApp:
    """Wrap an application to let its requests fail as planned.

    Every matching plan counts a request. Of several plans that affect it, the oldest one applies.
    """

    async def run(scope: Scope, receive: Receive, send: Send) -> None:
        matching = [plan for plan in gateway.faults if plan.matches(scope["method"], scope["path"])]
        plans = [plan for plan in matching if plan.count_request()]
        if not plans:
            await app(scope, receive, send)
            return
        request_id, receive = await _read_request_id(scope, receive)
        refusals = [plan for plan in plans if plan.fault == "refuse"]
        other_faults = [plan for plan in plans if plan.fault != "refuse"][:1]
        for plan in (*refusals, *other_faults):
            plan.affected_ids.append(request_id)
        for plan in refusals:
            await close_port(gateway, plan.seconds)
        for plan in other_faults:
            scope[FAULT] = plan.fault
            await _FAULT_EFFECTS[plan.fault](_FaultContext(plan, gateway, app, scope, receive, send))
        if not other_faults:
            await app(scope, receive, send)

    return run


async def _read_request_id(scope: Scope, receive: Receive) -> tuple[str, Receive]:
    """Read the id of a request, and a `receive` with its body.

    The id is the integrator id of the record in the body, or else the last part of the path.
    """
    first: list[Message] = [await receive()]
    body_id = _find_body_id(first[0].get("body", b""))

    async def receive_again() -> Message:
        return first.pop() if first else await receive()

    return body_id or scope["path"].rpartition("/")[2], receive_again


def _find_body_id(body: bytes) -> str | None:
    content = parse_json(body)
    wrapped = content.items() if isinstance(content, dict) else ()
    ids = (record.get(API_IDS.get(wrapper)) for wrapper, record in wrapped if isinstance(record, dict))
    return next((str(each) for each in ids if each), None)
