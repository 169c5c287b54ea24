"""`VirtualEventLoop`: an asyncio event loop whose time advances only when nothing is ready to run.

It has no selector, no sockets and no threads. Connections go through a `VirtualNetwork`.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from functools import partial
from itertools import count
from typing import Any, cast

from tests.simulation.network import VirtualNetwork, VirtualServer, VirtualSocket, VirtualTransport


class StalledError(Exception):
    """Every task waits for something that cannot happen any more."""


class _VirtualSelector:
    """The selector of a loop without sockets: waiting for them means to advance the time."""

    def __init__(self, loop: "VirtualEventLoop") -> None:
        self._loop = loop

    def select(self, timeout: float | None) -> Sequence[Any]:
        if timeout is None:
            raise StalledError("no task is ready, and no timer is set")
        if timeout > 0:
            self._loop.advance()
        return ()


class _Task(asyncio.Task[Any]):
    """A task whose place in a set depends on the order of creation, not on its address."""

    def __init__(self, number: int, *args: Any, **options: Any) -> None:
        self._number = number
        super().__init__(*args, **options)

    def __hash__(self) -> int:
        return self._number


class VirtualEventLoop(asyncio.BaseEventLoop):
    """An event loop in virtual time, from 0.

    Args:
        network: connects the programs that run in this loop.

    Attributes:
        network: the same network.
        clock_error: the seconds by which wall clocks differ from the virtual time.
        failures: the texts of errors that no task handled.
    """

    def __init__(self, network: VirtualNetwork) -> None:
        super().__init__()
        self._now = 0.0
        self._selector = _VirtualSelector(self)
        self.network = network
        self.clock_error = 0.0
        self.failures: list[str] = []
        self.set_task_factory(partial(_make_task, count()))
        self.set_exception_handler(self._record_failure)

    def time(self) -> float:
        """Return the virtual time in seconds."""
        return self._now

    def advance(self) -> None:
        """Jump to the next timer."""
        self._now = max(self._now, cast("Any", self)._scheduled[0].when())

    async def create_connection(  # type: ignore[override]
        self, protocol_factory: Callable[[], asyncio.Protocol], *, sock: VirtualSocket, **_: object
    ) -> tuple[VirtualTransport, asyncio.Protocol]:
        """Attach a protocol to the client end of a virtual connection."""
        protocol = protocol_factory()
        sock.transport.attach(protocol)
        return sock.transport, protocol

    async def create_server(  # type: ignore[override]
        self, protocol_factory: Callable[[], asyncio.Protocol], host: str, port: int, **_: object
    ) -> VirtualServer:
        """Make a server that accepts the network's connections after `start_serving`."""
        return VirtualServer(self.network, protocol_factory, (host, port))

    def remove_reader(self, fd: object) -> bool:  # noqa: ARG002
        """Do nothing: a virtual server has no socket that could be readable."""
        return False

    def _process_events(self, _event_list: Sequence[Any]) -> None:
        """Do nothing: there are no events of sockets."""

    def _write_to_self(self) -> None:
        """Do nothing: no other thread could have to wake this loop."""

    def _record_failure(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self.failures.append(f"{context['message']}: {context.get('exception')!r}")


def _make_task(
    numbers: Iterator[int], loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, Any], **options: Any
) -> _Task:
    return _Task(next(numbers), work, loop=loop, **options)
