"""`TerminalQueues`: one call at a time for each terminal, within a total limit.

A customer may still pay after a call with an unknown outcome. The terminal therefore takes no other call until the
outcome is known, or the call can no longer be executed (`UnresolvedCalls`).
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from functools import partial
from typing import Any, Final

import anyio
import anyio.lowlevel
import attrs

from gateway_async._execution.events import TerminalReporter
from gateway_async._execution.lease_holder import LeaseHolder
from gateway_async._execution.recorder import INTENT_SECONDS, finish_within
from gateway_async._execution.state import LOOKUP_SECONDS, CallState
from gateway_async._secrets import mask_text
from gateway_async._text import describe_error
from gateway_async._wire.call import Call
from gateway_async.errors import NotSentError, OutcomeUnknownError, TerminalBusyError
from gateway_async.ledger.protocol import Ledger
from gateway_async.observe import TerminalState

_DEVICE_ADVICE: Final = "let the customer finish there, or press cancel on the device, and try again"
_COMMAND: Final = "`gateway-async ledger LEDGER --resolve`, with the ledger's file or postgresql:// address"
_RECOVER_ADVICE: Final = f"`await gateway.recover()` looks it up; if it stays unknown, run {_COMMAND}"
_MANUAL_ADVICE: Final = f"it cannot be looked up: check at the device, then run {_COMMAND}"


async def _check_no_lease() -> None:
    """Do nothing: without leases, the terminal is this client's until the call ends."""


_NOT_SHARED: Final = nullcontext(_check_no_lease)


class TerminalQueues:
    """Queues of the calls for each terminal; first come, first served. At most `max_calls` are at terminals at once."""

    def __init__(
        self, max_calls: int, unresolved_calls: "UnresolvedCalls", lease_holder: LeaseHolder | None = None
    ) -> None:
        self._limiter = anyio.CapacityLimiter(max_calls)
        self._start_lock = anyio.Lock()
        self._queues: dict[str, _Queue] = {}
        self._unresolved_calls = unresolved_calls
        self._lease_holder = lease_holder

    @asynccontextmanager
    async def acquire(
        self, call: Call[Any], reporter: TerminalReporter
    ) -> AsyncIterator[Callable[[], Awaitable[None]]]:
        """Wait for a free slot and for the terminal, and hold both.

        The terminal is free if no call of this client or of another one uses it, and no earlier call there has an
        unknown outcome. The slot comes before the lease, which would otherwise age while the call waits.

        Yields a function that raises `NotSentError` if the lease was lost, to be awaited right before sending.

        Raises:
            TerminalBusyError: the terminal is not free, and the call does not wait any longer.
            NotSentError: the lease or the ledger could not be read.
        """
        terminal_id = call.terminal_id or ""
        reporter.begin_wait()
        async with reporter.ticking():
            reporter.report(TerminalState.QUEUED)
            await self._enter(terminal_id)
            try:
                async with self._limiter, self._lease(call, reporter) as before_sending:
                    await self._unresolved_calls.check(call, reporter)
                    reporter.report(TerminalState.QUEUED)
                    async with self._start_lock:  # one call in each round of the event loop, not thousands together
                        await anyio.lowlevel.checkpoint()
                    reporter.end_wait()
                    yield before_sending
            finally:
                self._leave(terminal_id)

    def lengths(self) -> dict[str, int]:
        """The number of active and waiting calls for each terminal."""
        return {terminal_id: queue.length for terminal_id, queue in self._queues.items()}

    def remember_unresolved(self, state: CallState[Any]) -> None:
        """Remember a call with an unknown outcome: the next call must not reach the same customer."""
        self._unresolved_calls.remember(state)

    async def forget_resolved(
        self, terminal_id: str | None, *, token: object = None, intent_id: str | None = None
    ) -> None:
        """Forget a resolved call and release its extended lease.

        If a call is at the terminal or waits for it, that call releases the lease.
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
        if self._lease_holder is not None:
            await self._lease_holder.aclose()

    def _lease(
        self, call: Call[Any], reporter: TerminalReporter
    ) -> AbstractAsyncContextManager[Callable[[], Awaitable[None]]]:
        if self._lease_holder is None:
            return _NOT_SHARED
        return self._lease_holder.hold(
            call, reporter, partial(self._unresolved_calls.seconds_left, call.terminal_id or "")
        )

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
    """The calls for one terminal.

    Attributes:
        length: the number of active and waiting calls, including those whose wait was just cancelled.
        gate: lets one call in when the one before leaves; None until a call has to wait.
    """

    __slots__ = ("gate", "length")

    def __init__(self) -> None:
        self.length = 0
        self.gate: anyio.Semaphore | None = None


@attrs.frozen
class _UnresolvedCall:
    error: OutcomeUnknownError
    until: float
    token: object
    intent_id: str | None


class UnresolvedCalls:
    """Remembers, for each terminal, a call with an unknown outcome.

    Args:
        blocks: whether such terminals take no other call. If False, nothing is remembered or checked.
        ledger: contains the calls that were in progress before a crash; None without a ledger.
    """

    def __init__(self, *, blocks: bool = True, ledger: Ledger | None = None) -> None:
        self._blocks = blocks
        self._ledger = ledger
        self._by_terminal: dict[str, _UnresolvedCall] = {}

    def remember(self, state: CallState[Any]) -> None:
        if self._blocks and state.unresolved is not None:
            self._by_terminal[state.call.terminal_id or ""] = _UnresolvedCall(
                state.unresolved, state.in_doubt_until, state.plan.token, state.intent_id
            )

    def forget(self, terminal_id: str, *, token: object = None, intent_id: str | None = None) -> bool:
        """Forget a call whose outcome is now known; return whether it was remembered."""
        earlier = self._by_terminal.get(terminal_id)
        if earlier is None or not (earlier.token is token or (intent_id and earlier.intent_id == intent_id)):
            return False
        del self._by_terminal[terminal_id]
        return True

    def seconds_left(self, terminal_id: str) -> float:
        earlier = self._by_terminal.get(terminal_id)
        return 0.0 if earlier is None else max(earlier.until - anyio.current_time(), 0.0)

    async def check(self, call: Call[Any], reporter: TerminalReporter) -> None:
        """Check that no earlier call can still be executed at the terminal; look up a remembered one.

        Raises:
            TerminalBusyError: an earlier call may still be executed; nothing was sent.
            NotSentError: the ledger cannot be read.
        """
        if self.seconds_left(call.terminal_id or ""):
            await self._resolve(call, reporter)
        self._by_terminal.pop(call.terminal_id or "", None)
        if self._blocks and self._ledger is not None:
            await self._check_ledger(call, self._ledger)

    async def _resolve(self, call: Call[Any], reporter: TerminalReporter) -> None:
        earlier = self._by_terminal[call.terminal_id or ""]
        reporter.report(TerminalState.LOOKING_UP, seconds=LOOKUP_SECONDS)
        with anyio.move_on_after(LOOKUP_SECONDS):
            try:
                await earlier.error.resolve()
            except OutcomeUnknownError:
                pass
            else:
                return
        left = earlier.until - anyio.current_time()
        if left > 0:
            raise TerminalBusyError(
                call.terminal_id or "",
                holder=f"an earlier call{_quote_id(earlier.error.api_id)} without a known outcome",
                advice=f"{_DEVICE_ADVICE}; the terminal is free in {left:.0f} s at the latest",
                call=str(call),
            )

    async def _check_ledger(self, call: Call[Any], ledger: Ledger) -> None:
        try:
            reading = ledger.open_intents(mask_text(call.terminal_id or ""))  # the ledger stores it masked
            intents = await finish_within(INTENT_SECONDS, reading, ledger, "open_intents")
        except Exception as error:
            raise NotSentError(f"the ledger cannot be read: {describe_error(error)}", call=str(call)) from error
        if intents:
            first = intents[0]
            raise TerminalBusyError(
                call.terminal_id or "",
                holder=f"a call{_quote_id(first.api_id)} of {first.sent_at:%Y-%m-%d %H:%M:%S} UTC, open in the ledger",
                advice=_MANUAL_ADVICE if first.outcome_query is None else _RECOVER_ADVICE,
                call=str(call),
            )


def _quote_id(api_id: str | None) -> str:
    return f" ({api_id})" if api_id else ""
