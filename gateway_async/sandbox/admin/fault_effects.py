"""The effect of each fault on the connection and the response.

Faults named "before", `rate_limit` and `unavailable` prevent the execution of the request. All other faults, such as
`silence` and `delay`, execute the request first: the record exists, and only the response is affected.
"""

from __future__ import annotations

import os
import socket
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import msgspec

from gateway_async.sandbox.http.responses import refusal
from gateway_async.sandbox.http.server import TRANSPORT

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from gateway_async.sandbox.runtime.gateway import Gateway
    from gateway_async.sandbox.simulators.faults import Plan

_NO_LINGER = struct.pack("hh" if os.name == "nt" else "ii", 1, 0)
_GARBAGE = b'\x00\xff{"transaction": \xfe\xfe'
_HTML = b"<html><body><h1>502 Bad Gateway</h1></body></html>"
_CUT_LENGTH = 10
_OWN_IDS = ("transaction_api_id", "account_vault_api_id", "quick_invoice_api_id", "paylink_api_id", "contact_api_id")
_STRANGER = {
    **dict.fromkeys(_OWN_IDS, "somebody-elses"),
    "id": "ffffffffffffffffffffffff",
    "last_four": "0026",
    "transaction_amount": "9999.99",
}


@dataclass(slots=True)
class Reply:
    """A complete response, which a fault can send or damage."""

    status: int
    headers: dict[bytes, bytes]
    body: bytes


@dataclass(slots=True)
class Occasion:
    """One request that a fault affects."""

    plan: Plan
    gateway: Gateway
    app: ASGIApp
    scope: Scope
    receive: Receive
    send: Send

    @property
    def transport(self) -> asyncio.Transport:
        """The connection of the request."""
        return cast("asyncio.Transport", self.scope["extensions"][TRANSPORT]["transport"])

    async def execute(self) -> Reply:
        """Execute the request and return its response without sending it."""
        reply = Reply(500, {}, b"")

        async def keep(message: Message) -> None:
            if message["type"] == "http.response.start":
                reply.status, reply.headers = message["status"], dict(message["headers"])
            else:
                reply.body += message["body"]

        await self.app(self.scope, self.receive, keep)
        return reply

    async def begin(self, reply: Reply, length: int | None = None) -> None:
        """Send the status and headers.

        `length` replaces the true `content-length` of the body.
        """
        headers = reply.headers | {b"content-length": b"%d" % (len(reply.body) if length is None else length)}
        await self.send({"type": "http.response.start", "status": reply.status, "headers": [*headers.items()]})

    async def write(self, body: bytes, *, more: bool = False) -> None:
        """Send a part of the body, by default the last one."""
        await self.send({"type": "http.response.body", "body": body, "more_body": more})

    async def answer(self, reply: Reply) -> None:
        """Send a whole response."""
        await self.begin(reply)
        await self.write(reply.body)

    async def gone(self) -> None:
        """Wait until the connection is closed."""
        while (await self.receive())["type"] != "http.disconnect":
            pass

    async def reset(self) -> None:
        """Reset the connection."""
        connection = cast("socket.socket", self.transport.get_extra_info("socket"))
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        self.transport.abort()
        await self.gone()

    async def close(self) -> None:
        """Close the connection normally, after the data sent so far."""
        self.transport.close()
        await self.gone()


async def _reset_before_commit(occasion: Occasion) -> None:
    await occasion.reset()


async def _reset_after_commit(occasion: Occasion) -> None:
    await occasion.execute()
    await occasion.reset()


async def _close_after_commit(occasion: Occasion) -> None:
    await occasion.execute()
    await occasion.close()


async def _error_before_commit(occasion: Occasion) -> None:
    await _refuse(occasion, 500)


async def _error_after_commit(occasion: Occasion) -> None:
    await occasion.execute()
    await _refuse(occasion, 500)


async def _rate_limit(occasion: Occasion) -> None:
    await _refuse(occasion, 429)


async def _unavailable(occasion: Occasion) -> None:
    await _refuse(occasion, 503)


async def _refuse(occasion: Occasion, status: int) -> None:
    response = refusal(status, "This is a planned fault of the sandbox.")
    headers = {b"content-type": b"application/json"}
    if status != 500 and occasion.plan.retry_after is not None:  # noqa: PLR2004  # the only status without a Retry-After header
        headers[b"retry-after"] = f"{occasion.plan.retry_after:g}".encode()
    await occasion.answer(Reply(status, headers, bytes(response.body)))


async def _cut_body(occasion: Occasion) -> None:
    reply = await occasion.execute()
    await occasion.begin(reply)
    await occasion.write(reply.body[: len(reply.body) // 2], more=True)
    await occasion.close()


async def _double_answer(occasion: Occasion) -> None:
    reply = await occasion.execute()
    head = b"".join(b"%s: %s\r\n" % pair for pair in reply.headers.items())
    occasion.transport.write(b"HTTP/1.1 %d Again\r\n%s\r\n%s" % (reply.status, head, reply.body))
    await occasion.answer(reply)


async def _swap_answer(occasion: Occasion) -> None:
    reply = await occasion.execute()
    if reply.body:
        reply.body = _as_of_a_stranger(reply.body)
    await occasion.answer(reply)


def _as_of_a_stranger(answer: bytes) -> bytes:
    body = msgspec.json.decode(answer)
    for record in _records(body):
        record.update({name: value for name, value in _STRANGER.items() if name in record})
    return msgspec.json.encode(body)


def _records(body: dict[str, Any]) -> list[dict[str, Any]]:
    values = [item for value in body.values() for item in (value if isinstance(value, list) else [value])]
    return [value for value in values if isinstance(value, dict)]


async def _wrong_length(occasion: Occasion) -> None:
    reply = await occasion.execute()
    cut = max(0, len(reply.body) - _CUT_LENGTH)
    await occasion.begin(reply, cut)
    await occasion.write(reply.body[:cut])
    occasion.transport.write(reply.body[cut:])


async def _drip(occasion: Occasion) -> None:
    reply = await occasion.execute()
    await occasion.begin(reply)
    for start in range(len(reply.body)):
        await occasion.write(reply.body[start : start + 1], more=True)
        await occasion.gateway.clock.sleep(occasion.plan.seconds)
    await occasion.write(b"")


async def _silence(occasion: Occasion) -> None:
    await occasion.execute()
    await occasion.gone()


async def _delay(occasion: Occasion) -> None:
    reply = await occasion.execute()
    await occasion.gateway.clock.sleep(occasion.plan.seconds)
    await occasion.answer(reply)


async def _garbage(occasion: Occasion) -> None:
    await _disguise(occasion, b"application/json", _GARBAGE)


async def _html(occasion: Occasion) -> None:
    await _disguise(occasion, b"text/html", _HTML)


async def _empty(occasion: Occasion) -> None:
    await _disguise(occasion, b"application/json", b"")


async def _disguise(occasion: Occasion, content_type: bytes, body: bytes) -> None:
    reply = await occasion.execute()
    await occasion.answer(Reply(reply.status, {b"content-type": content_type}, body))


MISHAPS: dict[str, Callable[[Occasion], Awaitable[None]]] = {
    "reset_before_commit": _reset_before_commit,
    "reset_after_commit": _reset_after_commit,
    "close_after_commit": _close_after_commit,
    "error_before_commit": _error_before_commit,
    "error_after_commit": _error_after_commit,
    "rate_limit": _rate_limit,
    "unavailable": _unavailable,
    "cut_body": _cut_body,
    "double_answer": _double_answer,
    "swap_answer": _swap_answer,
    "wrong_length": _wrong_length,
    "drip": _drip,
    "silence": _silence,
    "delay": _delay,
    "garbage": _garbage,
    "html": _html,
    "empty": _empty,
}
"""Every fault except `refuse`, which applies before a request arrives."""


async def refuse(gateway: Gateway, seconds: float) -> None:
    """Close the port for some seconds.

    Requests that have already arrived still get a response.
    """
    await gateway.listener.shut()
    gateway.clock.call_at(gateway.clock.now() + seconds, gateway.listener.reopen_soon)


def with_faults(app: ASGIApp, gateway: Gateway) -> ASGIApp:
    """Wrap an application so that its requests fail as planned.

    Of several plans for a request, the oldest one applies.
    """

    async def run(scope: Scope, receive: Receive, send: Send) -> None:
        plans = gateway.faults.strike(scope["method"], scope["path"])
        if not plans:
            await app(scope, receive, send)
            return
        struck_id, receive = await _id_of(scope, receive)
        refusals = [plan for plan in plans if plan.fault == "refuse"]
        other_faults = [plan for plan in plans if plan.fault != "refuse"][:1]
        for plan in (*refusals, *other_faults):
            plan.struck_ids.append(struck_id)
        for plan in refusals:
            await refuse(gateway, plan.seconds)
        for plan in other_faults:
            await MISHAPS[plan.fault](Occasion(plan, gateway, app, scope, receive, send))
        if not other_faults:
            await app(scope, receive, send)

    return run


async def _id_of(scope: Scope, receive: Receive) -> tuple[str, Receive]:
    """Return the id of a request, and a `receive` that replays the body.

    The id is the integrator id in the body, or else the last part of the path.
    """
    first: list[Message] = [await receive()]
    written = _written_id(first[0].get("body", b""))

    async def receive_again() -> Message:
        return first.pop() if first else await receive()

    return written or scope["path"].rpartition("/")[2], receive_again


def _written_id(body: bytes) -> str | None:
    try:
        records = _records(msgspec.json.decode(body))
    except (msgspec.DecodeError, RecursionError, AttributeError):
        return None  # not JSON, incomplete, or without a record
    return next((str(record[name]) for record in records for name in _OWN_IDS if record.get(name)), None)
