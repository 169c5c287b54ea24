"""Replacements of clocks, randomness, threads and sockets for the duration of a simulation."""

import logging
import random
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, tzinfo
from random import Random
from typing import Any, Final
from unittest import mock

from tests.simulation.event_loop import VirtualEventLoop
from tests.simulation.ledger_writer import VirtualWriter
from tests.simulation.network import VirtualSocket, connect

START: Final = 1_800_000_000.0
"""The Unix time at which a simulation begins."""


@contextmanager
def simulated_environment(loop: VirtualEventLoop, seed: int) -> Iterator[None]:
    """Take the time from a loop and all randomness from a seed; log nothing."""
    draw = Random(seed)

    class VirtualDatetime(datetime):
        """The virtual time as a datetime."""

        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
            return datetime.fromtimestamp(wall_clock(), tz)

    def wall_clock() -> float:
        return START + loop.time() + loop.clock_error

    def now() -> datetime:
        return datetime.fromtimestamp(wall_clock(), UTC)

    replacements: dict[str, Any] = {
        "time.time": wall_clock,
        "time.monotonic": loop.time,
        "time.clock_gettime": lambda _clock: loop.time(),
        "os.urandom": draw.randbytes,
        "random._urandom": draw.randbytes,  # of the module `secrets`
        "gateway_async._execution.recorder._utc_now": now,
        "gateway_async.ledger.store.datetime": VirtualDatetime,
        "gateway_async._storage.sql.GroupCommitWriter": VirtualWriter,
        "gateway_async._http.asyncio_connection.start_connection": connect,
        "gateway_async._http.asyncio_connection.has_pending_input": VirtualSocket.has_pending_input,
    }
    state, disabled = random.getstate(), logging.root.manager.disable
    with ExitStack() as stack:
        stack.callback(random.setstate, state)
        stack.callback(logging.disable, disabled)
        random.seed(seed)
        logging.disable(logging.CRITICAL)
        for name, replacement in replacements.items():
            stack.enter_context(mock.patch(name, replacement))
        yield
