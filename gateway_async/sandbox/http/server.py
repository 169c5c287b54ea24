"""The listening socket and its connections, in the event loop of the sandbox.

It installs no signal handlers and writes no log lines or access log. It stops at once, without waiting for open
requests.
"""

import asyncio
from typing import cast

from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.config import Config
from uvicorn.server import ServerState

from gateway_async.sandbox.http.protocol import TRANSPORT, Protocol

__all__ = ["Listener"]


_CONNECT_HOSTS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  # the host to connect to when the server listens on all addresses
_BACKLOG = 4096
_KEEP_ALIVE = 75
_BIND_RETRY_SECONDS = 0.05
_ACCEPT_ITERATIONS = 2
"""Iterations of the event loop until an accepted connection has a transport and is registered with uvicorn."""


class Listener:
    """Serves an application on one address, in the event loop that opens it.

    Port 0 picks a free port.
    """

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
        """Declare that the current request reads a page.

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
