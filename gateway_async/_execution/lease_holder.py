"""`LeaseHolder`: acquire, renew and release the lease of a terminal.

Without a lease nothing is sent. A call that was sent continues even if its lease is lost.
"""

import random
import sys
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, Final

import anyio
import attrs

from gateway_async._background import finish, run_in_background
from gateway_async._execution.events import TerminalReporter
from gateway_async._text import describe_error
from gateway_async._wire.call import Call
from gateway_async.errors import GatewayError, NotSentError, TerminalBusyError
from gateway_async.leases import TerminalLease
from gateway_async.observe import Event, LeaseRenewalFailed, TerminalState

_POLL_SECONDS: Final = (0.2, 0.4)
"""Range of the random pause before a waiting call asks again, so that clients do not ask at the same moment."""
_RELEASE_SECONDS: Final = 2.0
"""Maximum seconds for releasing a lease, which expires by itself, and for closing the store."""
_FRESH_SECONDS: Final = 0.1
"""Age up to which a lease need not be confirmed again before a request is sent."""


def _boot_time() -> float:
    """The time since the machine started, its sleep included where the system has such a clock.

    The event loop's clock stops then, and uvloop's also while a callback blocks the loop.
    """
    if sys.platform == "linux":
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


@attrs.frozen
class _Moment:
    """A moment on both clocks."""

    loop_time: float = attrs.field(factory=anyio.current_time)
    boot_time: float = attrs.field(factory=_boot_time)

    @property
    def loop_age(self) -> float:
        return anyio.current_time() - self.loop_time

    @property
    def age(self) -> float:
        """Seconds since then by the clock that shows more."""
        return max(self.loop_age, _boot_time() - self.boot_time)


@attrs.define
class _HeldLease:
    """A lease of a terminal, as far as its client knows.

    Attributes:
        call, api_id: the call that holds it, as text, and its integrator id.
        seconds_unresolved: function that returns how long an earlier call is in doubt.
        confirmed: when the last successful request to the store began. The store counts from a later moment.
        holder: the client that has the terminal instead, if the store has named one.
    """

    call: str
    api_id: str | None
    terminal_id: str
    seconds_unresolved: Callable[[], float]
    confirmed: _Moment = attrs.field(factory=_Moment)
    holder: str | None = None


class LeaseHolder:
    """Acquires leases for one client; `emit` receives the event of a failed renewal."""

    def __init__(self, lease: TerminalLease, emit: Callable[[Event], None]) -> None:
        self._lease = lease
        self._emit = emit
        self._token = ""
        self._active = 0
        self._all_ended: anyio.Event | None = None

    @asynccontextmanager
    async def hold(
        self, call: Call[Any], reporter: TerminalReporter, seconds_unresolved: Callable[[], float]
    ) -> AsyncIterator[Callable[[], Awaitable[None]]]:
        """Hold the lease of the call's terminal; release it when the block ends.

        If the outcome of the call is then unknown, the customer may still be at the device. The lease is then extended
        by `seconds_unresolved()` and stays, even if this process exits.

        Yields a function that raises `NotSentError` if the lease was lost, to be awaited right before sending.

        Raises:
            NotSentError: the store could not be reached.
            TerminalBusyError: another client has the terminal for longer than the lease's `wait`.
        """
        held = _HeldLease(str(call), call.api_id, call.terminal_id or "", seconds_unresolved)
        try:
            await self._wait(held, reporter)
        except NotSentError:
            raise
        except BaseException:
            await self.release(held.terminal_id)  # leave the queue
            raise
        self._active += 1
        try:
            async with run_in_background(partial(self._renew_until_cancelled, held)):
                yield partial(self._confirm, held)
        finally:
            seconds = seconds_unresolved()
            if seconds > 0:
                await self._extend(held, seconds)
            else:
                await self.release(held.terminal_id)
            self._active -= 1
            if self._all_ended is not None and not self._active:
                self._all_ended.set()

    async def aclose(self) -> None:
        """Close the store, after interrupted calls have extended or released their leases.

        Raises:
            GatewayError: the store does not close.
        """
        if self._active:
            self._all_ended = anyio.Event()
            await finish(self._all_ended.wait, _RELEASE_SECONDS)
        if not await finish(self._lease.aclose, _RELEASE_SECONDS):
            raise GatewayError(f"the terminal lease was not closed within {_RELEASE_SECONDS:g} s")

    async def _wait(self, held: _HeldLease, reporter: TerminalReporter) -> None:
        wait, began = self._lease.wait, anyio.current_time()
        while (holder := await self._try_acquire(held)) is not None:
            left = None if wait is None else began + wait - anyio.current_time()
            if left is not None and left <= 0:
                raise TerminalBusyError(held.terminal_id, holder=holder, call=held.call)
            reporter.report(TerminalState.HELD, holder=holder, seconds=left)
            pause = random.uniform(*_POLL_SECONDS)  # noqa: S311
            await anyio.sleep(pause if left is None else min(pause, left))

    def _seconds_to_hold(self, held: _HeldLease) -> float | None:
        """The seconds to request for a lease, in which an earlier call may be in doubt; None for the default."""
        seconds = held.seconds_unresolved()
        return seconds if seconds > self._lease.seconds else None

    async def _try_acquire(self, held: _HeldLease) -> str | None:
        try:
            return await self._acquire_or_renew(held, self._seconds_to_hold(held))
        except Exception as error:  # noqa: BLE001  any exception means: the store could not be reached
            reason = describe_error(error)
        # Raised here, so that the error does not hold the store's frames.
        raise NotSentError(f"the terminal's lease is not available: {reason}", call=held.call)

    async def _acquire_or_renew(self, held: _HeldLease, seconds: float | None) -> str | None:
        """Acquire or renew the lease within a third of its duration; return the owner that has it instead, if any."""
        self._token = self._token or uuid.uuid4().hex  # on first use: forked processes would share an earlier one
        key = (held.terminal_id, self._token)
        asked, limit = _Moment(), self._lease.seconds / 3
        with anyio.move_on_after(limit):
            held.holder = await (self._lease.acquire(*key) if seconds is None else self._lease.acquire(*key, seconds))
            if held.holder is None:
                held.confirmed = asked
            return held.holder
        raise TimeoutError(f"the store did not respond within {limit:g} s")

    async def _confirm(self, held: _HeldLease) -> None:
        """Check that the lease is still held; renew it if it was not confirmed just now.

        If the store cannot be reached, the lease is held for its `seconds` from its last renewal.

        Raises:
            NotSentError: it was lost, or may have been.
        """
        is_fresh = held.confirmed.loop_age <= _FRESH_SECONDS and held.confirmed.age <= self._lease.seconds / 3
        if is_fresh and held.holder is None:
            return
        failure = await self._try_renew(held, self._seconds_to_hold(held))
        if failure and (held.holder is not None or held.confirmed.age >= self._lease.seconds):
            raise NotSentError(f"the terminal's lease was lost: {failure}", call=held.call, ends_call=True)

    async def _renew_until_cancelled(self, held: _HeldLease) -> None:
        failure = ""
        while True:
            await anyio.sleep(self._lease.seconds / 3)
            previous, failure = failure, await self._try_renew(held, self._seconds_to_hold(held))
            if failure and not previous:
                self._emit_renewal_failure(held, failure)

    async def _extend(self, held: _HeldLease, seconds: float) -> None:
        failure = f"the store did not respond within {_RELEASE_SECONDS:g} s"

        async def renew() -> None:
            nonlocal failure
            failure = await self._try_renew(held, seconds)

        await finish(renew, _RELEASE_SECONDS)
        if failure:
            self._emit_renewal_failure(held, failure)

    def _emit_renewal_failure(self, held: _HeldLease, reason: str) -> None:
        self._emit(LeaseRenewalFailed(call=held.call, api_id=held.api_id, terminal_id=held.terminal_id, reason=reason))

    async def _try_renew(self, held: _HeldLease, seconds: float | None) -> str:
        """Renew the lease; return "" or the reason why that failed."""
        try:
            holder = await self._acquire_or_renew(held, seconds)
        except Exception as error:  # noqa: BLE001
            return describe_error(error)
        return "" if holder is None else f"held by {holder}"

    async def release(self, terminal_id: str) -> None:
        """Release a terminal's lease, or leave its queue; a failing store is ignored."""
        with suppress(Exception):
            await finish(partial(self._lease.release, terminal_id, self._token), _RELEASE_SECONDS)
