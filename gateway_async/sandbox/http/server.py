"""The listening socket and its connections: uvicorn's protocol without uvicorn's process.

No signal handlers, no log lines, no access log; it stops at once, whatever still waits.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, cast

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from gateway_async.sandbox.http.answers import refusal

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

TRANSPORT = "gateway_async.sandbox.transport"
"""The ASGI extension through which faults reach the connection."""

_REACHABLE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  # where to knock when every address is listened on
_BACKLOG = 4096
_KEEP_ALIVE = 75
_PATIENCE = 0.05
_STEPS_TO_COME_IN = 2
"""Turns of the loop until somebody whom it has accepted has a transport, and uvicorn knows of it."""


_logger = logging.getLogger("gateway_async.sandbox")
_logger.setLevel(logging.ERROR)  # callers who send bytes that are no HTTP are answered, not logged


class _Protocol(HttpToolsProtocol):
    """HTTP that lends its transport to the application, and says 400 in JSON."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.logger = _logger
        self.access_log = False

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["extensions"] = {TRANSPORT: {"transport": self.transport}}

    def send_400_response(self, msg: str) -> None:
        body = bytes(refusal(400, msg).body)
        head = f"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
        self.transport.write(head.encode() + b"connection: close\r\n\r\n" + body)
        self.transport.close()


class Listener:
    """Serves an application on one address, from the loop that opens it.

    Args:
        app: What answers the requests.
        host: The address to listen on.
        port: The port; 0 picks a free one.
    """

    def __init__(self, app: ASGIApp, host: str, port: int) -> None:
        self._app = app
        self._config = Config(
            self._serve,
            http=_Protocol,
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
        self.host, self.port = host, port

    @property
    def url(self) -> str:
        """Where it can be reached, without a trailing slash."""
        host = _REACHABLE.get(self.host, self.host)
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"

    async def bind(self) -> None:
        """Take the port.

        Raises:
            OSError: It is taken.
        """
        self._server = await asyncio.get_running_loop().create_server(
            lambda: _Protocol(self._config, self._state, {}),
            self.host,
            self.port,
            backlog=_BACKLOG,
            start_serving=False,
        )
        self.port = int(self._server.sockets[0].getsockname()[1])

    async def open(self) -> None:
        """Begin to accept connections."""
        await self._server.start_serving()

    async def shut(self) -> None:
        """Refuse new connections and close those that are idle."""
        await self._stop_accepting()
        for protocol in list(self._state.connections):
            protocol.shutdown()
        await asyncio.sleep(0)  # the loop closes the sockets

    async def reopen(self) -> None:
        """Accept connections again, if they were refused, as soon as the port is free."""
        while not self._server.is_serving():
            try:
                await self.bind()
                await self.open()
            except OSError:  # meanwhile the port may serve somebody's outgoing connection
                await asyncio.sleep(_PATIENCE)

    def reopen_soon(self) -> None:
        """Reopen from where nothing can be awaited."""
        self._reopening = asyncio.ensure_future(self.reopen())

    async def idle(self) -> None:
        """Return when no request is under way, those that are still in the sockets included."""
        await self._knock()
        asking = asyncio.current_task()
        while tasks := self._requests.keys() - {asking}:
            await asyncio.wait(tasks)

    async def _knock(self) -> None:
        """Be answered: whatever came before has been read then."""
        reader, writer = await asyncio.open_connection(*self._server.sockets[0].getsockname()[:2])
        writer.write(b"GET /_sandbox HTTP/1.1\r\nhost: knock\r\nconnection: close\r\n\r\n")
        await reader.read()
        writer.close()

    async def cut_off(self) -> None:
        """End every request, with its connection, but for the one that asks for it."""
        asking = asyncio.current_task()
        requests = {task: transport for task, transport in self._requests.items() if task is not asking}
        for transport in requests.values():
            transport.abort()
        await asyncio.sleep(0)  # uvicorn hears that the connections are lost
        for task in requests:
            task.cancel()
        await asyncio.gather(*requests, return_exceptions=True)

    async def close(self) -> None:
        """Stop serving at once."""
        await self._stop_accepting()
        await self.cut_off()
        for protocol in list(self._state.connections):
            protocol.transport.abort()

    async def _stop_accepting(self) -> None:
        """Let who is at the door come in before it closes: asyncio loses those whom it accepts just then."""
        for door in self._server.sockets:
            asyncio.get_running_loop().remove_reader(door)
        for _ in range(_STEPS_TO_COME_IN):
            await asyncio.sleep(0)
        self._server.close()

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        task = cast("asyncio.Task[None]", asyncio.current_task())
        self._requests[task] = scope["extensions"][TRANSPORT]["transport"]
        try:
            await self._app(scope, receive, send)
        except asyncio.CancelledError:
            return  # cut off: nobody is there to be answered, and uvicorn would call it an error
        finally:
            del self._requests[task]
