"""`Protocol`: HTTP/1.1 on one connection, based on uvicorn's protocol class.

It bounds what a client can hold without a complete request: the size of a head, and the time for a head or a body.
"""

import asyncio
import logging
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from gateway_async.sandbox.http.responses import error_response

__all__ = ["BODY_SECONDS", "HEAD_LIMIT", "HEAD_SECONDS", "TRANSPORT", "Protocol"]


TRANSPORT = "gateway_async.sandbox.transport"
"""The ASGI extension through which faults reach the connection."""

HEAD_LIMIT = 64 * 1024
"""The size of a head that arrives in several reads, in bytes; what arrives at once may exceed it."""

HEAD_SECONDS = 30.0
BODY_SECONDS = 60.0
"""How long a head or a body may take to arrive, in seconds of real time."""

_REASONS = {400: "Bad Request", 408: "Request Timeout", 431: "Request Header Fields Too Large"}

_logger = logging.getLogger("gateway_async.sandbox")
_logger.setLevel(logging.ERROR)  # callers that send invalid HTTP get a response, not a log line


class Protocol(HttpToolsProtocol):
    """An HTTP protocol that shares its transport with the application and sends refusals as JSON."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.logger = _logger
        self.access_log = False
        self._is_in_head = self._is_in_body = False
        self._head_size = 0
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in the base class
        """Close the connection if no request begins."""
        super().connection_made(transport)
        self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the request in progress."""
        self._cancel_deadline()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what has arrived, and limit what is still missing."""
        was_in_head = self._is_in_head
        super().data_received(data)
        if was_in_head and self._is_in_head:
            self._head_size += len(data)
        if self.transport.is_closing():
            return
        if self._head_size > HEAD_LIMIT:
            self._refuse(431, f"The head of the request is larger than {HEAD_LIMIT} bytes.")
        elif self._deadline is None:
            self._set_deadline()

    def on_message_begin(self) -> None:
        """Begin a request, and show the application its transport."""
        super().on_message_begin()
        self.scope["extensions"] = {TRANSPORT: {"transport": self.transport}}
        self._is_in_head, self._head_size = True, 0
        self._cancel_deadline()

    def on_headers_complete(self) -> None:
        """End a head and begin a body, which may be empty."""
        self._is_in_head, self._is_in_body, self._head_size = False, True, 0
        self._cancel_deadline()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """End a request."""
        self._is_in_body = False
        self._cancel_deadline()
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP."""
        self._refuse(400, msg)

    def _set_deadline(self) -> None:
        """Limit the time for the rest of an incomplete request. Complete requests need no timer."""
        if self._is_in_head or self._is_in_body:
            seconds = HEAD_SECONDS if self._is_in_head else BODY_SECONDS
            self._deadline = self.loop.call_later(seconds, self._end_slow_request)

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _end_slow_request(self) -> None:
        self._deadline = None
        is_responding = self.cycle is not None and not self.cycle.response_complete
        if self.flow.read_paused or (self._is_in_head and is_responding):
            self._set_deadline()  # the client waits for the application, not the other way round
        elif self._is_in_body and self.cycle.response_started:
            self.transport.close()
        else:
            self._refuse(408, "The request did not arrive in time.")

    def _refuse(self, status: int, message: str) -> None:
        body = bytes(error_response(status, message).body)
        head = f"HTTP/1.1 {status} {_REASONS[status]}\r\ncontent-type: application/json\r\n"
        self.transport.write(f"{head}content-length: {len(body)}\r\nconnection: close\r\n\r\n".encode() + body)
        self.transport.close()
