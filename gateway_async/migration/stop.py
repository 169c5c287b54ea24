"""Stops of a run: a stop signal, and a limit of stored rows."""

from collections.abc import Awaitable, Callable
from typing import Final

import anyio

from gateway_async._backoff import exponential_backoff
from gateway_async._text import pluralize
from gateway_async.migration.queue import AHEAD
from gateway_async.migration.report import Report

_MIN_PAUSE: Final = 0.2
_MAX_PAUSE: Final = 30.0


class StoppedError(Exception):
    """The run stopped before a step was done."""


class StopSignal:
    """The stop signal of a run. Its report holds the reason, once there is one."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._event = anyio.Event()

    @property
    def reason(self) -> str:
        """The reason for the stop; "" if the run goes on."""
        return self._report.stopped

    def set(self, reason: str) -> None:
        """Request a stop: no more rows are started."""
        self._report.stopped = self._report.stopped or reason
        self._event.set()

    async def sleep(self, seconds: float) -> None:
        """Sleep; a stop of the run ends the sleep early."""
        with anyio.move_on_after(seconds):
            await self._event.wait()


def backoff(attempts: int) -> float:
    """The seconds to wait after a number of failed attempts."""
    return exponential_backoff(attempts, first=_MIN_PAUSE, longest=_MAX_PAUSE)


class RowAllowance:
    """Counts the rows that may still be stored. Stored, unknown and in-progress rows together never exceed the limit.

    Each row acquires one before it is sent, and gives it back if it is rejected. One task acquires, in the order of the
    rows. Any number of tasks give back.

    Attributes:
        rows: how many may be stored; None for any number.
        used: how many are stored, unknown or in progress.
        at_cap: whether a row was held back because all were used.
        read_ahead: rows that are read and started before a call is free.
    """

    read_ahead = AHEAD

    def __init__(self, rows: int | None) -> None:
        self.rows = rows
        self.used = 0
        self.at_cap = False
        self._in_progress = 0
        self._closed = False
        self._changed = anyio.Event()

    async def acquire(self) -> bool:
        """Take one for a row in progress; wait while another may still give one back.

        Return False if all are used permanently, or the run stops.
        """
        while self._in_progress and not self._closed and self._is_used_up():
            if self._changed.is_set():
                self._changed = anyio.Event()
            await self._changed.wait()
        if self._closed or self._is_used_up():
            self.at_cap = not self._closed
            return False
        self.used += 1
        self._in_progress += 1
        return True

    def release(self) -> None:
        """Give one back for a row that is not stored."""
        self.used -= 1
        self._changed.set()

    def finish(self) -> None:
        """End the progress of a row. If it has given nothing back, it is stored, unknown or deferred."""
        self._in_progress -= 1
        self._changed.set()

    def close(self) -> None:
        """Let nothing more be taken, because the run stops."""
        self._closed = True
        self._changed.set()

    def _is_used_up(self) -> bool:
        return self.rows is not None and self.used >= self.rows


_RESERVED_ROWS: Final = 16
"""Rows that a process reserves at a time, and reads ahead: few, because they count as stored if it is killed."""


class SharedRowAllowance(RowAllowance):
    """The same for several processes that share one counter; `reserve` is `reserve_rows` of their journal."""

    read_ahead = _RESERVED_ROWS

    def __init__(self, reserve: Callable[[int], Awaitable[int]]) -> None:
        super().__init__(0)
        self._reserve = reserve

    async def acquire(self) -> bool:
        """Take one for a row in progress, of those reserved."""
        if self.rows is not None and self.used >= self.rows:
            reserved = await self._reserve(_RESERVED_ROWS)
            self.rows += reserved  # not in one statement, which would read it before the wait
        return await super().acquire()

    async def aclose(self) -> None:
        """Give back what was not used."""
        await self._reserve(self.used - (self.rows or 0))


def describe_cap(report: Report, rows: int) -> str:
    """Return the reason of a stop at the maximum of `rows`."""
    maximum = f"maximum of {rows:,} {pluralize(rows, 'row')}"
    if report.stored >= rows:
        return f"{maximum} stored"
    return f"{maximum} reached: {report.stored:,} stored, {report.unknown:,} unknown"
