"""The stop of a run and its reason. The first reason counts."""

from typing import Final

import anyio

from gateway_async.migration.report import Report

__all__ = ["Halt", "StoppedError", "pause_after"]

_SHORTEST_PAUSE: Final = 0.2
_LONGEST_PAUSE: Final = 30.0


class StoppedError(Exception):
    """The run stopped before a step was done."""


class Halt:
    """The stop signal of a run.

    Args:
        report: holds the reason, once there is one.
    """

    def __init__(self, report: Report) -> None:
        self._report = report
        self._asked = anyio.Event()

    @property
    def why(self) -> str:
        """Return the reason of the stop; "" if the run goes on."""
        return self._report.stopped

    def ask(self, why: str) -> None:
        """Request a stop: no more rows are started."""
        self._report.stopped = self._report.stopped or why
        self._asked.set()

    async def sleep(self, seconds: float) -> None:
        """Sleep; a stop of the run ends the sleep early."""
        with anyio.move_on_after(seconds):
            await self._asked.wait()


def pause_after(tries: int) -> float:
    """Return the seconds to wait before the next attempt, after `tries` failures."""
    return min(_SHORTEST_PAUSE * 2.0 ** min(tries - 1, 10), _LONGEST_PAUSE)
