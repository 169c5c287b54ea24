"""`LeaseHolder`: acquire, renew and release the lease of a terminal.

Without a lease nothing is sent. A call that was sent continues even if its lease is lost.
"""

import random
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, Final

import anyio

from gateway_async._exceptions import describe_error
from gateway_async._execution.terminals.progress_reporter import ProgressReporter
from gateway_async._http.background import run_in_background
from gateway_async._wire.call import Call
from gateway_async.errors import NotSentError, TerminalBusyError
from gateway_async.leases import TerminalLease
from gateway_async.observe import Event, LeaseRenewalFailed, TerminalState

__all__ = ["LeaseHolder"]

_POLL_SECONDS: Final = (0.2, 0.4)
"""Shortest and longest pause before a waiting call asks again.

The pause is random, so that clients do not ask at the same moment.
"""
_RELEASE_SECONDS: Final = 2.0
"""Maximum seconds for releasing a lease.

It is short because the lease expires by itself.
"""


class LeaseHolder:
    """Acquires leases for one client.

    Args:
        lease: the store; closed with this object.
        emit: receives the event of a failed renewal.
    """

    def __init__(self, lease: TerminalLease, emit: Callable[[Event], None]) -> None:
        self._lease = lease
        self._emit = emit
        self._token = ""
        self._active = 0
        self._all_ended: anyio.Event | None = None

    @asynccontextmanager
    async def hold(
        self, call: Call[Any], progress: ProgressReporter, seconds_unresolved: Callable[[], float]
    ) -> AsyncIterator[None]:
        """Hold the lease of the call's terminal; release it when the block ends.

        If the outcome of the call is then unknown, the customer may still be at the device. The lease is then extended
        by `seconds_unresolved()` and stays, even if this process exits.

        Raises:
            NotSentError: the store could not be reached.
            TerminalBusyError: another client has the terminal for longer than the lease's `wait`.
        """
        try:
            await self._wait(call, progress, seconds_unresolved)
        except NotSentError:
            raise
        except BaseException:
            await self.release(call.terminal_id or "")  # leave the queue
            raise
        self._active += 1
        try:
            async with run_in_background(partial(self._renew_until_cancelled, call, seconds_unresolved)):
                yield
        finally:
            seconds = seconds_unresolved()
            if seconds > 0:
                await self._extend(call, seconds)
            else:
                await self.release(call.terminal_id or "")
            self._active -= 1
            if self._all_ended is not None and not self._active:
                self._all_ended.set()

    async def aclose(self) -> None:
        """Close the store, after interrupted calls have extended or released their leases."""
        with anyio.move_on_after(_RELEASE_SECONDS, shield=True):
            if self._active:
                self._all_ended = anyio.Event()
                await self._all_ended.wait()
        await self._lease.aclose()

    async def _wait(self, call: Call[Any], progress: ProgressReporter, seconds_unresolved: Callable[[], float]) -> None:
        wait, began = self._lease.wait, anyio.current_time()
        while (holder := await self._try_acquire(call, self._seconds_to_hold(seconds_unresolved()))) is not None:
            left = None if wait is None else began + wait - anyio.current_time()
            if left is not None and left <= 0:
                raise TerminalBusyError(call.terminal_id or "", holder=holder, call=str(call))
            progress.report(TerminalState.HELD, holder=holder, seconds=left)
            pause = random.uniform(*_POLL_SECONDS)  # noqa: S311
            await anyio.sleep(pause if left is None else min(pause, left))

    def _seconds_to_hold(self, seconds_unresolved: float) -> float | None:
        """Return the seconds to request for a lease; None for its default.

        An earlier call may be in doubt for longer than the default.
        """
        return seconds_unresolved if seconds_unresolved > self._lease.seconds else None

    async def _try_acquire(self, call: Call[Any], seconds: float | None) -> str | None:
        try:
            return await self._acquire_or_renew(call, seconds)
        except Exception as error:  # noqa: BLE001  any exception means: the store could not be reached
            reason = describe_error(error)
        raise NotSentError(
            f"the terminal's lease is not available: {reason}", call=str(call)
        )  # without the store's frames

    async def _acquire_or_renew(self, call: Call[Any], seconds: float | None) -> str | None:
        """Acquire or renew the lease; return None on success, otherwise the owner that has it.

        The store has a third of the lease's duration to respond.
        """
        self._token = self._token or uuid.uuid4().hex  # on first use: forked processes would share an earlier one
        key = (call.terminal_id or "", self._token)
        with anyio.fail_after(self._lease.seconds / 3):
            return await (self._lease.acquire(*key) if seconds is None else self._lease.acquire(*key, seconds))

    async def _renew_until_cancelled(self, call: Call[Any], seconds_unresolved: Callable[[], float]) -> None:
        """Renew the lease until cancelled; emit an event when renewals start to fail."""
        failure = ""
        while True:
            await anyio.sleep(self._lease.seconds / 3)
            previous, failure = failure, await self._try_renew(call, self._seconds_to_hold(seconds_unresolved()))
            if failure and not previous:
                self._emit_renewal_failure(call, failure)

    async def _extend(self, call: Call[Any], seconds: float) -> None:
        failure = f"the store did not respond within {_RELEASE_SECONDS:g} s"
        with anyio.move_on_after(_RELEASE_SECONDS, shield=True):
            failure = await self._try_renew(call, seconds)
        if failure:
            self._emit_renewal_failure(call, failure)

    def _emit_renewal_failure(self, call: Call[Any], reason: str) -> None:
        self._emit(
            LeaseRenewalFailed(call=str(call), api_id=call.api_id, terminal_id=call.terminal_id or "", reason=reason)
        )

    async def _try_renew(self, call: Call[Any], seconds: float | None) -> str:
        """Renew the lease; return "" or the reason why that failed."""
        try:
            holder = await self._acquire_or_renew(call, seconds)
        except Exception as error:  # noqa: BLE001
            return describe_error(error)
        return "" if holder is None else f"held by {holder}"

    async def release(self, terminal_id: str) -> None:
        """Release a terminal's lease, or leave its queue; a failing store is ignored."""
        with anyio.move_on_after(_RELEASE_SECONDS, shield=True), suppress(Exception):
            await self._lease.release(terminal_id, self._token)
