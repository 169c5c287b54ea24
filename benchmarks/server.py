"""A server that costs as little as possible, so that a comparison measures clients.

It answers what each client expects:

- a read of a contact: always the same one
- a stored account vault, or a payment at a terminal: what was sent, with an id
- everything else: a small object

Payments at terminals wait. `GET /waiting/100` is answered when 100 of them wait, and `GET /go` answers them all.
"""

import asyncio
import contextlib
import json
import resource
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, Final, cast

from cores import on_server_core

from gateway_async import AsyncGateway, UserApiKey

CONTACT: Final[dict[str, Any]] = {
    "id": "11e95f8ec39de8fbdb0a4f1a",
    "location_id": "11e95f8ec39de8fbdb0a4f1b",
    "first_name": "Ada",
    "last_name": "Lovelace",
    "email": "ada@example.com",
    "created_ts": 1_600_000_000,
    "active": 1,
}
NEW_ID: Final = "11e95f8ec39de8fbdb0a4f1c"
HEADERS: Final = {"developer-id": "developer", "user-id": "u" * 24, "user-api-key": "k" * 40}
READ: Final = f"/v2/contacts/{CONTACT['id']}"
CREATE: Final = "/v2/accountvaults"
SECONDS: Final = 300
"""Long enough for every client to finish: its time-out is not what is measured."""

STOP_WITHIN: Final = 10


def response(status: bytes, content: dict[str, Any]) -> bytes:
    """Make a JSON response."""
    body = json.dumps(content).encode()
    head = b"HTTP/1.1 %b\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    return head % (status, len(body)) + body


CONTACT_FOUND: Final = response(b"200 OK", {"contact": CONTACT})
OTHER: Final = response(b"200 OK", {"id": NEW_ID, "object": "object"})


def created(body: bytes) -> bytes:
    """Return the response to a write: the fields that were sent, and an id."""
    [(name, fields)] = json.loads(body).items()
    if "account_number" in fields:
        fields["last_four"] = fields.pop("account_number")[-4:]
    return response(b"201 Created", {name: {**fields, "id": NEW_ID}})


class Waiting:
    """The payments that wait at their terminals."""

    def __init__(self) -> None:
        self._calls: list[tuple[asyncio.Transport, bytes]] = []
        self._counter: tuple[int, asyncio.Transport] | None = None

    def add(self, transport: asyncio.Transport, body: bytes) -> None:
        """Store a payment."""
        self._calls.append((transport, body))
        self._report()

    def count(self, number: int, transport: asyncio.Transport) -> None:
        """Answer when that many payments wait."""
        self._counter = number, transport
        self._report()

    def answer_all(self) -> None:
        """Answer all payments at once."""
        for transport, body in self._calls:
            transport.write(created(body))
        self._calls.clear()

    def _report(self) -> None:
        if self._counter and len(self._calls) >= self._counter[0]:
            self._counter[1].write(OTHER)
            self._counter = None


class Connection(asyncio.Protocol):
    """One connection of a client, which sends no request before the response to the last one."""

    def __init__(self, waiting: Waiting) -> None:
        self._waiting = waiting
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport for the responses."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Respond when the request is complete."""
        self._received += data
        head, end, body = self._received.partition(b"\r\n\r\n")
        if not end or len(body) < body_length(head):
            return
        self._received = b""
        method, path, _ = head.split(b" ", 2)
        self._respond(method, path, body)

    def _respond(self, method: bytes, path: bytes, body: bytes) -> None:
        if path.startswith(b"/v2/routertransactions"):
            self._waiting.add(self._transport, body)
        elif path.startswith(b"/v2/accountvaults"):
            self._transport.write(created(body))
        elif path.startswith(b"/waiting/"):
            self._waiting.count(int(path.rpartition(b"/")[2]), self._transport)
        elif method == b"GET" and path.startswith(b"/v2/contacts"):
            self._transport.write(CONTACT_FOUND)
        else:
            if path == b"/go":
                self._waiting.answer_all()
            self._transport.write(OTHER)


def body_length(head: bytes) -> int:
    """Return the Content-Length of a request."""
    _, found, rest = head.lower().partition(b"\r\ncontent-length:")
    return int(rest.partition(b"\r\n")[0]) if found else 0


async def serve() -> None:
    """Serve on a free port, and print it."""
    loop = asyncio.get_running_loop()
    waiting = Waiting()
    server = await loop.create_server(lambda: Connection(waiting), "127.0.0.1", 0, backlog=4096)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


def allow_many_connections() -> None:
    """Let this process open as many files as the system permits."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


@contextlib.contextmanager
def serving(program: str = __file__, *options: str) -> Iterator[str]:
    """Run a server on another core; yield the address it prints."""
    with on_server_core():
        process = subprocess.Popen([sys.executable, program, *options], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait(STOP_WITHIN)


def gateway_at(url: str, **options: Any) -> AsyncGateway:
    """Make a client of this package for the server."""
    key = UserApiKey(HEADERS["user-id"], HEADERS["user-api-key"])
    return AsyncGateway(url, developer_id=HEADERS["developer-id"], credentials=key, location_id="location", **options)


if __name__ == "__main__":
    allow_many_connections()
    asyncio.run(serve())
