"""The stop of a run and its reason. The first reason counts."""

from typing import Final

import anyio

from gateway_async._kernel import exponential_backoff
from gateway_async.migration.report import Report

__all__ = ["StopSignal", "StoppedError", "backoff"]

_MIN_PAUSE: Final = 0.2
_MAX_PAUSE: Final = 30.0


class StoppedError(Exception):
    """The run stopped before a step was done."""


class StopSignal:
    """The stop signal of a run.

    Args:
        report: holds the reason, once there is one.
    """

    def __init__(self, report: Report) -> None:
        self._report = report
        self._event = anyio.Event()

    @property
    def reason(self) -> str:
        """Return the reason of the stop; "" if the run goes on."""
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
    """Return the seconds to wait after a number of failed attempts."""
    return exponential_backoff(attempts, first=_MIN_PAUSE, longest=_MAX_PAUSE)
