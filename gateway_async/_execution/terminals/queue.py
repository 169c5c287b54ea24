"""`TerminalQueues`: one call at a time for each terminal, within a total limit."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from functools import partial
from typing import Any, Final

import anyio
import anyio.lowlevel

from gateway_async._execution.state import CallState
from gateway_async._execution.terminals.lease_holder import LeaseHolder
from gateway_async._execution.terminals.progress_reporter import ProgressReporter
from gateway_async._execution.terminals.unresolved_calls import UnresolvedCalls
from gateway_async._wire.call import Call
from gateway_async.observe import TerminalState


async def _check_no_lease() -> None:
    """Do nothing: without leases, the terminal is this client's until the call ends."""


_NOT_SHARED: Final = nullcontext(_check_no_lease)


class TerminalQueues:
    """Queues of the calls for each terminal; first come, first served.

    Args:
        max_calls: maximum number of calls at terminals at the same time.
        unresolved_calls: remembers earlier calls that may still be executed there.
        lease_holder: shares the terminals with other processes and hosts, if they are shared.
    """

    def __init__(
        self, max_calls: int, unresolved_calls: UnresolvedCalls, lease_holder: LeaseHolder | None = None
    ) -> None:
        self._limiter = anyio.CapacityLimiter(max_calls)
        self._start_lock = anyio.Lock()
        self._queues: dict[str, _Queue] = {}
        self._unresolved_calls = unresolved_calls
        self._lease_holder = lease_holder

    @asynccontextmanager
    async def acquire(
        self, call: Call[Any], progress: ProgressReporter
    ) -> AsyncIterator[Callable[[], Awaitable[None]]]:
        """Wait for a free slot and for the terminal, and hold both.

        The terminal is free if no call of this client or of another one uses it, and no earlier call there has an
        unknown outcome. The slot comes before the lease, which would otherwise age while the call waits.

        Yields a function that raises `NotSentError` if the lease was lost, to be awaited right before sending.

        Raises:
            TerminalBusyError: the terminal is not free, and the call does not wait any longer.
            NotSentError: the lease or the ledger could not be read.
        """
        progress.report(TerminalState.QUEUED)
        terminal_id = call.terminal_id or ""
        await self._enter(terminal_id)
        try:
            async with self._limiter, self._lease(call, progress) as before_sending:
                await self._unresolved_calls.check(call, progress)
                progress.report(TerminalState.QUEUED)
                await self._yield_to_event_loop()
                yield before_sending
        finally:
            self._leave(terminal_id)

    def lengths(self) -> dict[str, int]:
        """Return the number of active and waiting calls for each terminal."""
        return {terminal_id: queue.length for terminal_id, queue in self._queues.items()}

    def remember_unresolved(self, state: CallState[Any]) -> None:
        """Remember a call with an unknown outcome.

        The next call must not reach the same customer.
        """
        self._unresolved_calls.remember(state)

    async def forget_resolved(
        self, terminal_id: str | None, *, token: object = None, intent_id: str | None = None
    ) -> None:
        """Forget a resolved call and release its extended lease.

        A call that has the terminal, or waits for it, already has the lease and releases it itself.
        """
        if terminal_id is None or not self._unresolved_calls.forget(terminal_id, token=token, intent_id=intent_id):
            return
        if self._lease_holder is not None and terminal_id not in self._queues:
            await self._enter(terminal_id)  # so that no call acquires the lease just before it is released
            try:
                await self._lease_holder.release(terminal_id)
            finally:
                self._leave(terminal_id)

    async def aclose(self) -> None:
        """Close the lease store."""
        if self._lease_holder is not None:
            await self._lease_holder.aclose()

    def _lease(
        self, call: Call[Any], progress: ProgressReporter
    ) -> AbstractAsyncContextManager[Callable[[], Awaitable[None]]]:
        if self._lease_holder is None:
            return _NOT_SHARED
        return self._lease_holder.hold(
            call, progress, partial(self._unresolved_calls.seconds_left, call.terminal_id or "")
        )

    async def _yield_to_event_loop(self) -> None:
        """Let one call start in each round of the event loop.

        Thousands of calls that start together would otherwise block it.
        """
        async with self._start_lock:
            await anyio.lowlevel.checkpoint()

    async def _enter(self, terminal_id: str) -> None:
        """Wait until all earlier calls have left the terminal."""
        queue = self._queues.setdefault(terminal_id, _Queue())
        queue.length += 1
        if queue.length == 1:
            return
        queue.gate = queue.gate or anyio.Semaphore(0)
        try:
            await queue.gate.acquire()
        except BaseException:
            self._remove_one(terminal_id)
            raise

    def _leave(self, terminal_id: str) -> None:
        """Let the next call in."""
        queue = self._remove_one(terminal_id)
        if queue.gate is not None:
            queue.gate.release()

    def _remove_one(self, terminal_id: str) -> "_Queue":
        queue = self._queues[terminal_id]
        queue.length -= 1
        if not queue.length:
            del self._queues[terminal_id]
        return queue


class _Queue:
    """The calls for one terminal: the active one and the waiting ones.

    Attributes:
        length: the number of these calls, including those whose wait was just cancelled.
        gate: lets one call in when the one before leaves. Created only when a call has to wait.
    """

    __slots__ = ("gate", "length")

    def __init__(self) -> None:
        self.length = 0
        self.gate: anyio.Semaphore | None = None
