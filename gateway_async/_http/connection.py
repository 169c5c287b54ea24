"""`Connection`: the interface of an HTTP/1.1 connection, one exchange at a time.

`asyncio_connection.py` implements it on asyncio, `stream_connection.py` on trio. Each request is sent once. Only the
response to a sent request is read. If any other data arrives, the connection is not reused.
"""

import abc
import select
import socket
import sys
from collections.abc import AsyncIterator
from typing import Final

from gateway_async._http.response_parser import ResponseParser

CLOSED_EARLY: Final = "the server closed the connection before its response was complete"
SPOKE_FIRST: Final = "the server sent data before the request"

# A terminal call is silent for minutes. Probes keep the connection alive in routers, and detect a dead peer.
_SOCKET_OPTIONS: Final = [
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
    *(
        (socket.IPPROTO_TCP, getattr(socket, option), value)
        for option, value in {
            "TCP_KEEPIDLE": 30,
            "TCP_KEEPALIVE": 30,  # macOS's name for TCP_KEEPIDLE
            "TCP_KEEPINTVL": 10,
            "TCP_KEEPCNT": 3,
        }.items()
        if hasattr(socket, option)
    ),
]


class Connection(abc.ABC):
    """One connection, idle or with one exchange."""

    __slots__ = ("_idle_since",)

    def __init__(self) -> None:
        self._idle_since = 0.0

    @property
    @abc.abstractmethod
    def is_open(self) -> bool:
        """Whether an idle connection is usable: no EOF and no unsolicited data has arrived."""

    @property
    @abc.abstractmethod
    def is_silent(self) -> bool:
        """Whether a connection before its first request is usable: the server has sent nothing but TLS records."""

    @abc.abstractmethod
    async def send(self, start: bytes, rest: AsyncIterator[bytes] | None) -> None:
        """Write a request, once.

        A lost connection raises nothing here. Reading the response then fails, or returns an early response.

        Args:
            start: its first bytes: the head, and the start of the body if there is one.
            rest: the remaining chunks; None if `start` is the whole request.
        """

    @abc.abstractmethod
    async def head(self, *, bodiless: bool) -> ResponseParser:
        """Wait for the head of the response.

        Args:
            bodiless: the response has no body, whatever its head says.

        Raises:
            httpx.TransportError: the connection ended before it, or the data is not HTTP.
        """

    @abc.abstractmethod
    async def read(self) -> bytes:
        """Wait for more of the body; return b"" at its end.

        Raises:
            httpx.TransportError: the connection ended before the end of the body.
        """

    @property
    @abc.abstractmethod
    def idle_seconds(self) -> float:
        """The seconds since the last exchange ended."""

    @abc.abstractmethod
    def finish(self) -> bool:
        """End the exchange and return whether the connection can be reused.

        It can if the request was sent completely, and nothing but its response has arrived.
        """

    @abc.abstractmethod
    async def aclose(self) -> None:
        """Close immediately, also during an exchange.

        Closing is bounded in time and shielded from cancellation. A second close is harmless.
        """


def has_pending_input(raw: socket.socket) -> bool:
    """Whether a socket has unread data or EOF, or is closed."""
    number = raw.fileno()
    if number < 0:
        return True
    if sys.platform == "win32":
        return bool(select.select([number], [], [], 0)[0])
    events = select.poll()  # `select` cannot watch numbers above 1023
    events.register(number, select.POLLIN)
    return bool(events.poll(0))


def set_options(raw: socket.socket) -> None:
    """Set keep-alive probes, and send small requests without delay."""
    for level, option, value in _SOCKET_OPTIONS:
        raw.setsockopt(level, option, value)
