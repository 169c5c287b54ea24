"""`VirtualNetwork`: connections between clients and the gateway, in memory, with the faults of a seed.

Each direction of a connection delivers bytes in order, as TCP does. Different connections overtake each other. What TCP
does not promise happens to whole requests: one may arrive after its client has given up, or arrive twice, or a proxy
may respond instead of the gateway.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from functools import partial
from typing import Any, Final

import attrs

from tests.simulation.faults import ConnectionFaults, Fault, Faults, ProxyResponse

_GAP: Final = 1e-6
"""Seconds between two deliveries in one direction, so that their order is certain."""

_LENGTH: Final = re.compile(rb"(?i)\ncontent-length: *([0-9]+)")
_API_ID: Final = re.compile(rb'"transaction_api_id":\s*"([^"]+)"')
_REFUSAL: Final = b"HTTP/1.1 4"


@attrs.define(eq=False)
class Machine:
    """A machine with one client process.

    Attributes:
        is_running: whether the process runs; a stopped one can neither connect nor send.
        stalled_until: when it can open connections and reach the lease store again.
        cut_off_until: when it can reach the lease store again.
        leased_until: when its lease of the terminal ends, as far as the process can know.
        ends: the ends of its connections.
    """

    name: str
    is_running: bool = True
    stalled_until: float = 0.0
    cut_off_until: float = 0.0
    leased_until: float = 0.0
    ends: "dict[VirtualTransport, None]" = attrs.field(factory=dict)

    async def wait_while_stalled(self) -> None:
        """Wait until the process is no longer stalled."""
        await asyncio.sleep(max(self.stalled_until - asyncio.get_running_loop().time(), 0.0))


MACHINE: Final[ContextVar[Machine]] = ContextVar("MACHINE")
"""The machine on which the current task runs."""


class VirtualTransport(asyncio.Transport):
    """One end of a connection.

    Args:
        network: carries what is written.
        faults: the faults of the connection.
        label: the name of this end, for the trace.
        machine: the machine of a client's end; None for the gateway's end.

    Attributes:
        peer: the other end.
        response_bytes: how many bytes of the response the client still gets; None means all.
        reads: whether the last request was a read.
        repeats: whether the client gets `last_response` again, whatever it requests.
        response: what has come of the current response.
        last_response: the last complete response to a read, or the last refusal.
    """

    peer: "VirtualTransport"

    def __init__(
        self, network: "VirtualNetwork", faults: ConnectionFaults, label: str, machine: Machine | None = None
    ) -> None:
        super().__init__()
        self._network = network
        self.faults = faults
        self._protocol: asyncio.Protocol = asyncio.Protocol()
        self._is_closing = self._is_lost = self._is_paused = False
        self._unread: list[bytes] = []
        self._last_arrival = 0.0
        self.label = label
        self.machine = machine
        self.response_bytes: int | None = None
        self.reads = self.repeats = False
        self.response = self.last_response = b""
        if machine is not None:
            machine.ends[self] = None

    def attach(self, protocol: asyncio.Protocol) -> None:
        """Pass this end to its program."""
        self._protocol = protocol
        protocol.connection_made(self)

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Return the addresses; there is no socket."""
        return ("127.0.0.1", 1) if name in {"peername", "sockname"} else default

    def is_closing(self) -> bool:
        """Return whether this end is closing or closed."""
        return self._is_closing

    def get_write_buffer_size(self) -> int:
        """Return 0: the network takes everything at once."""
        return 0

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Do nothing: there is no buffer."""

    def pause_reading(self) -> None:
        """Keep what arrives."""
        self._is_paused = True

    def resume_reading(self) -> None:
        """Deliver what was kept."""
        self._is_paused = False
        unread, self._unread = self._unread, []
        for data in unread:
            asyncio.get_running_loop().call_soon(self._receive, data)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Send bytes to the other end."""
        if not self._is_closing:
            self._network.carry(self, bytes(data))

    def close(self) -> None:
        """Close after everything that was written; the other end gets an EOF."""
        self._end(None)

    def abort(self) -> None:
        """Close at once; the other end gets a reset."""
        self._end(ConnectionResetError("connection reset by peer"))

    def _end(self, error: Exception | None) -> None:
        if not self._is_closing:
            self.at_peer(partial(self.peer.lose, error))
            self.lose(None)

    def at_peer(self, deliver: Callable[[], None]) -> None:
        """Deliver something to the other end, after everything that was sent before."""
        loop = asyncio.get_running_loop()
        self._last_arrival = max(self._last_arrival + _GAP, loop.time() + self.faults.latency())
        loop.call_at(self._last_arrival, deliver)

    def receive(self, data: bytes) -> None:
        """Take bytes that have arrived."""
        if self._is_paused:
            self._unread.append(data)
        else:
            self._receive(data)

    def _receive(self, data: bytes) -> None:
        if not self._is_closing:
            self._protocol.data_received(data)

    def lose(self, error: Exception | None) -> None:
        """End the connection at this end; its program learns that in the next round of the loop."""
        if self._is_lost:
            return
        if not self._is_closing and error is None:
            self._protocol.eof_received()
        self._is_closing = self._is_lost = True
        if self.machine is not None:
            self.machine.ends.pop(self, None)
        asyncio.get_running_loop().call_soon(self._protocol.connection_lost, error)


@attrs.define(eq=False)
class VirtualSocket:
    """The socket of a client's end, as far as the client uses it."""

    transport: VirtualTransport

    def has_pending_input(self) -> bool:
        """Return whether it is closed: the transport has passed on all that has arrived."""
        return self.transport.is_closing()

    def setsockopt(self, *_: int) -> None:
        """Do nothing."""

    def getsockname(self) -> tuple[str, int]:
        """Return the address."""
        return "127.0.0.1", 1

    def close(self) -> None:
        """Close the connection."""
        self.transport.close()


class VirtualServer:
    """A listening server, as far as the sandbox uses it."""

    def __init__(
        self, network: "VirtualNetwork", factory: Callable[[], asyncio.Protocol], address: tuple[str, int]
    ) -> None:
        self._network = network
        self._address = address
        self.factory = factory

    @property
    def sockets(self) -> "list[VirtualServer]":
        """Return the one listening socket."""
        return [self]

    def getsockname(self) -> tuple[str, int]:
        """Return the address."""
        return self._address

    def is_serving(self) -> bool:
        """Return whether connections are accepted."""
        return self._network.server is self

    async def start_serving(self) -> None:
        """Accept connections."""
        self._network.server = self

    def close(self) -> None:
        """Accept no more connections."""
        if self.is_serving():
            self._network.server = None


class VirtualNetwork:
    """The network between the machines and the gateway.

    Args:
        faults: decides what happens to each connection and each request.

    Attributes:
        server: the server that accepts connections; None while the gateway is down.
        trace: what happened, one line each, with the virtual time.
        terminal_calls: how often a client has written each call for a terminal, by integrator id.
        unleased_calls: the integrator ids of those that were written without a lease of the terminal.
    """

    def __init__(self, faults: Faults) -> None:
        self._faults = faults
        self._connections = 0
        self.server: VirtualServer | None = None
        self.trace: list[str] = []
        self.terminal_calls: Counter[str] = Counter()
        self.unleased_calls: set[str] = set()

    def log(self, text: str) -> None:
        """Add a line to the trace."""
        self.trace.append(f"{asyncio.get_running_loop().time():.6f} {text}")

    def heal(self) -> None:
        """End all faults."""
        self._faults.healed = True

    async def open(self, machine: Machine) -> VirtualTransport:
        """Open a connection to the gateway.

        Raises:
            ConnectionRefusedError: nothing listens there, or a fault refuses the connection.
        """
        if not machine.is_running:
            raise ConnectionRefusedError("the machine is down")
        loop = asyncio.get_running_loop()
        faults = self._new_connection()
        fault = faults.of_connecting(loop.time())
        if fault is Fault.LOSE_REQUEST:
            self.log(f"{machine.name}: connecting takes forever")
            await loop.create_future()
        await asyncio.sleep(faults.latency())
        await machine.wait_while_stalled()
        if fault is Fault.REFUSE or self.server is None or not machine.is_running:
            self.log(f"{machine.name}: connection refused")
            raise ConnectionRefusedError("connection refused")
        return self._connect(self.server, faults, machine)

    def _new_connection(self) -> ConnectionFaults:
        self._connections += 1
        return self._faults.of_connection(self._connections)

    def _connect(self, server: VirtualServer, faults: ConnectionFaults, machine: Machine | None) -> VirtualTransport:
        label = f"{machine.name if machine else 'network'}#{faults.number}"
        client, gateway = VirtualTransport(self, faults, label, machine), VirtualTransport(self, faults, "gateway")
        client.peer, gateway.peer = gateway, client
        gateway.attach(server.factory())
        return client

    def carry(self, end: VirtualTransport, data: bytes) -> None:
        """Carry what one end has written to the other, with the fault of the exchange."""
        if end.machine is not None:
            if end.machine.is_running:
                self._carry_request(end, end.machine, data)
        elif end.peer.machine is not None:
            self._carry_response(end, data)

    def _carry_request(self, client: VirtualTransport, machine: Machine, data: bytes) -> None:
        """Carry one request: the client writes each in one piece."""
        loop = asyncio.get_running_loop()
        fault = client.faults.of_request(loop.time(), len(data))
        line = data.partition(b" HTTP/1.1\r\n")[0].decode()
        api_id = _API_ID.search(data)
        name = f" {api_id[1].decode()}" if api_id else ""
        self.log(f"{client.label} {line}{name}: {fault}")
        if line == "POST /v2/routertransactions":
            self.terminal_calls[name.strip()] += 1
            if machine.leased_until <= loop.time():
                self.log(f"{machine.name} has no lease of the terminal")
                self.unleased_calls.add(name.strip())
        client.response_bytes = fault.response_bytes
        client.repeats = client.repeats or fault.repeats
        client.reads = data.startswith(b"GET ")
        if fault.shows_before and data.startswith(b"PUT "):
            data = _as_read(data)
        if fault.request_bytes is not None:
            client.at_peer(partial(client.peer.receive, data[: fault.request_bytes]))
        elif fault.arrives:
            client.at_peer(partial(client.peer.receive, data))
        if fault.copy_after is not None:
            loop.call_later(fault.copy_after, self._deliver_copy, data)
        if fault.resets:
            self._reset(client)
        if fault.proxy is not None:
            self._respond(client, fault.proxy)

    def _carry_response(self, gateway: VirtualTransport, data: bytes) -> None:
        client = gateway.peer
        if client.response_bytes is None:
            self._carry_complete(gateway, client, data)
            return
        part = data[: client.response_bytes]
        client.response_bytes -= len(part)
        if part:
            gateway.at_peer(partial(client.receive, part))
        if len(part) < len(data) and not client.faults.is_silent():
            self._reset(client)

    def _carry_complete(self, gateway: VirtualTransport, client: VirtualTransport, data: bytes) -> None:
        """Carry a piece of a response. A connection that repeats carries its last response after the last piece."""
        is_repeated = client.repeats and bool(client.last_response)
        client.response += data
        if not is_repeated:
            gateway.at_peer(partial(client.receive, data))
        if _is_complete(client.response):
            if is_repeated:
                gateway.at_peer(partial(client.receive, client.last_response))
            elif client.reads or client.response.startswith(_REFUSAL):
                client.last_response = client.response
            client.response = b""

    def _respond(self, client: VirtualTransport, response: ProxyResponse) -> None:
        """Let a proxy respond; it then closes the connection."""
        client.peer.at_peer(partial(client.receive, response.to_bytes()))
        client.peer.at_peer(partial(client.lose, None))

    def _reset(self, client: VirtualTransport) -> None:
        """Reset a connection for both ends, after what has been sent."""
        client.at_peer(partial(client.peer.lose, ConnectionResetError("connection reset by peer")))
        client.peer.at_peer(partial(client.lose, ConnectionResetError("connection reset by peer")))

    def _deliver_copy(self, data: bytes) -> None:
        """Deliver a request whose client no longer waits for this response."""
        if self.server is not None:
            self.log(f"a copy arrives: {data.partition(b' HTTP/1.1')[0].decode()}")
            self._connect(self.server, self._new_connection(), None).peer.receive(data)

    def stop(self, machine: Machine) -> None:
        """Stop a machine's process: its connections end, and what it has sent still arrives."""
        for end in [*machine.ends]:
            end.abort()
        machine.is_running = False


def _is_complete(response: bytes) -> bool:
    head, separator, body = response.partition(b"\r\n\r\n")
    length = _LENGTH.search(head)
    return bool(separator) and len(body) >= (int(length[1]) if length else 0)


def _as_read(change: bytes) -> bytes:
    """Return the read of the record that a request changes."""
    head = change.partition(b"\r\n\r\n")[0].replace(b"PUT ", b"GET ", 1)
    lines = [line for line in head.split(b"\r\n") if not line.lower().startswith((b"content-length", b"content-type"))]
    return b"\r\n".join([*lines, b"", b""])


async def connect(_addresses: Iterable[object], **_: object) -> VirtualSocket:
    """Open a connection for the client, in place of `aiohappyeyeballs.start_connection`."""
    network: VirtualNetwork = asyncio.get_running_loop().network  # type: ignore[attr-defined]  # a `VirtualEventLoop`
    return VirtualSocket(await network.open(MACHINE.get()))
