"""The listening socket and its connections, in the event loop of the sandbox.

It installs no signal handlers and writes no log lines or access log. It stops at once, without waiting for open
requests. It bounds what a client can hold without a complete request: the size of a head, and the time for a head or a
body.
"""

import asyncio
import logging
from typing import Any, Self, cast

from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from gateway_async.sandbox.http.responses import error_response

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

_CONNECT_HOSTS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  # the host to connect to when the server listens on all addresses
_BACKLOG = 4096
_KEEP_ALIVE = 75
_BIND_RETRY_SECONDS = 0.05
_ACCEPT_ITERATIONS = 2
"""Iterations of the event loop until an accepted connection has a transport and is registered with uvicorn."""


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


class Listener:
    """Serves an application on one address, in the event loop that opens it. Port 0 picks a free port."""

    def __init__(self, app: ASGIApp, host: str, port: int) -> None:
        self._app = app
        self._config = Config(
            self._serve,
            http=Protocol,
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            proxy_headers=False,
            date_header=False,
            server_header=False,
            timeout_keep_alive=_KEEP_ALIVE,
        )
        self._config.load()
        self._state = ServerState()
        self._requests: dict[asyncio.Task[None], asyncio.Transport] = {}
        self._pages: set[asyncio.Task[None]] = set()
        self.host, self.port = host, port
        self._server: asyncio.Server
        self._resuming: asyncio.Future[None] | None = None

    async def __aenter__(self) -> Self:
        """Bind the port and accept connections.

        Raises:
            OSError: The port is taken.
        """
        await self.bind()
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop serving."""
        await self.close()

    @property
    def url(self) -> str:
        """The address of the server, without a trailing slash."""
        host = _CONNECT_HOSTS.get(self.host, self.host)
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"

    async def bind(self) -> None:
        """Bind the port.

        Raises:
            OSError: The port is taken.
        """
        self._server = await asyncio.get_running_loop().create_server(
            lambda: Protocol(self._config, self._state, {}),
            self.host,
            self.port,
            backlog=_BACKLOG,
            start_serving=False,
        )
        self.port = int(self._server.sockets[0].getsockname()[1])

    async def open(self) -> None:
        """Start to accept connections."""
        await self._server.start_serving()

    async def pause(self) -> None:
        """Refuse new connections and close idle ones."""
        await self._stop_accepting()
        for protocol in list(self._state.connections):
            protocol.shutdown()
        await asyncio.sleep(0)  # the loop closes the sockets

    async def resume(self) -> None:
        """Accept connections again after `pause`, as soon as the port is free."""
        while not self._server.is_serving():
            try:
                await self.bind()
                await self.open()
            except OSError:  # an outgoing connection may use the port for a moment
                await asyncio.sleep(_BIND_RETRY_SECONDS)

    def schedule_resume(self) -> None:
        """Schedule `resume` from code that cannot await."""
        self._resuming = asyncio.ensure_future(self.resume())

    def mark_as_page(self) -> None:
        """Declare that the current request reads a page or a file of one.

        `wait_until_idle` does not wait for it, and a reset does not cancel it.
        """
        self._pages.add(cast("asyncio.Task[None]", asyncio.current_task()))

    async def wait_until_idle(self) -> None:
        """Wait until no request is in progress or unread in a socket."""
        await self._send_probe()
        current_task = asyncio.current_task()
        while tasks := self._requests.keys() - self._pages - {current_task}:
            await asyncio.wait(tasks)

    async def _send_probe(self) -> None:
        """Send one request, so that all earlier input has been read."""
        reader, writer = await asyncio.open_connection(*self._server.sockets[0].getsockname()[:2])
        try:
            writer.write(b"GET /_sandbox HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
            await reader.read()
        finally:  # the wait for the response may time out
            writer.close()

    async def cancel_requests(self, *, with_pages: bool = False) -> None:
        """Cancel every other request than the current one, and abort its connection.

        Requests for pages continue, unless `with_pages` is set.
        """
        others = self._requests.keys() - {asyncio.current_task()} - (set() if with_pages else self._pages)
        requests = {task: self._requests[task] for task in others}
        for transport in requests.values():
            transport.abort()
        await asyncio.sleep(0)  # lets uvicorn notice that the connections are lost
        for task in requests:
            task.cancel()
        await asyncio.gather(*requests, return_exceptions=True)

    async def close(self) -> None:
        """Stop serving at once."""
        await self._stop_accepting()
        await self.cancel_requests(with_pages=True)
        for protocol in list(self._state.connections):
            protocol.transport.abort()

    async def _stop_accepting(self) -> None:
        """Stop accepting, after connections that are just being accepted are registered.

        asyncio would lose these connections otherwise.
        """
        for listening_socket in self._server.sockets:
            asyncio.get_running_loop().remove_reader(listening_socket)
        for _ in range(_ACCEPT_ITERATIONS):
            await asyncio.sleep(0)
        self._server.close()

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        task = cast("asyncio.Task[None]", asyncio.current_task())
        self._requests[task] = scope["extensions"][TRANSPORT]["transport"]
        try:
            await self._app(scope, receive, send)
        except asyncio.CancelledError:
            return  # cancelled by cancel_requests: the client is disconnected, and uvicorn would log an error
        finally:
            del self._requests[task]
            self._pages.discard(task)
