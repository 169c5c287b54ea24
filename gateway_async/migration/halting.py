"""Whether a run stops, and why: the first reason counts."""

from typing import Final

import anyio

from gateway_async.migration.report import Report

__all__ = ["Halt", "StoppedError", "pause_after"]

_SHORTEST_PAUSE: Final = 0.2
_LONGEST_PAUSE: Final = 30.0


class StoppedError(Exception):
    """The run stops before something was done."""


class Halt:
    """The end of a run before the end of its input.

    Args:
        report: says why, from then on.
    """

    def __init__(self, report: Report) -> None:
        self._report = report
        self._asked = anyio.Event()

    @property
    def why(self) -> str:
        """Why it stops; "" if it does not."""
        return self._report.stopped

    def ask(self, why: str) -> None:
        """Have nothing more begun."""
        self._report.stopped = self._report.stopped or why
        self._asked.set()

    async def sleep(self, seconds: float) -> None:
        """Wait, unless the run stops."""
        with anyio.move_on_after(seconds):
            await self._asked.wait()


def pause_after(tries: int) -> float:
    """Seconds before another try, when so many have failed."""
    return min(_SHORTEST_PAUSE * 2.0 ** min(tries - 1, 10), _LONGEST_PAUSE)
