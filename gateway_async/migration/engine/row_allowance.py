"""Limits of the rows that a run, or all shards of a cluster together, may store.

The stored, unknown and in-progress rows together never exceed the limit.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import anyio

from gateway_async._kernel import pluralize
from gateway_async.migration.report import Report

__all__ = ["RowAllowance", "describe_cap"]


class RowAllowance:
    """Counts the rows that may still be stored.

    In one process, each row acquires one before it is sent, and gives it back if it is rejected. One task acquires, in
    the order of the rows. Any number of tasks give back.

    In a cluster, the coordinator grants several rows to each shard. A quota belongs to the shard, independent of the
    worker and of the number of attempts. Rows that an earlier attempt has stored count against it. So no message is
    needed while a shard runs, and a worker that dies or is only presumed dead cannot exceed it. Only a shard that has
    ended gives back what it did not use.

    Args:
        rows: how many may be stored; None for any number.

    Attributes:
        rows: the same number.
        used: how many are stored, unknown or in progress.
        exhausted: whether a row was held back because all were used.
    """

    def __init__(self, rows: int | None) -> None:
        self.rows = rows
        self.used = 0
        self.exhausted = False
        self._in_progress = 0
        self._closed = False
        self._changed = anyio.Event()

    async def acquire(self) -> bool:
        """Take one for a row in progress; wait while another may still give one back.

        Returns:
            Whether one was taken. False if all are used permanently, or the run stops.
        """
        if await self.reserve(1):
            self._in_progress += 1
            return True
        self.exhausted = not self._closed
        return False

    async def reserve(self, most: int) -> int:
        """Take up to `most` rows. Wait while none is left and one in progress may be given back.

        Returns:
            How many were taken; 0 if all are used permanently, or the run stops.
        """
        while self._in_progress and not self._closed and not self._count_available(most):
            if self._changed.is_set():
                self._changed = anyio.Event()
            await self._changed.wait()
        return self.take(most)

    def take(self, most: int) -> int:
        """Take up to `most` rows, possibly none. A shard without any can still skip stored rows."""
        taken = self._count_available(most)
        self.used += taken
        return taken

    def commit(self) -> None:
        """Count a row that another process has already stored."""
        self.used += 1

    def release(self, rows: int = 1) -> None:
        """Give back rows that are not stored."""
        self.used -= rows
        self._changed.set()

    def finish(self) -> None:
        """End the progress of a row. If it has given nothing back, it is stored, unknown or deferred."""
        self._in_progress -= 1
        self._changed.set()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count a shard as in progress during the block: it may give back what it does not use."""
        self._in_progress += 1
        try:
            yield
        finally:
            self.finish()

    def close(self) -> None:
        """Let nothing more be taken, because the run stops."""
        self._closed = True
        self._changed.set()

    def _count_available(self, most: int) -> int:
        """Return how many of `most` rows may be taken now."""
        if self._closed:
            return 0
        return most if self.rows is None else min(most, max(0, self.rows - self.used))


def describe_cap(report: Report, rows: int) -> str:
    """Return the reason of a stop at the maximum of `rows`."""
    maximum = f"maximum of {rows:,} {pluralize(rows, 'row')}"
    if report.stored >= rows:
        return f"{maximum} stored"
    return f"{maximum} reached: {report.stored:,} stored, {report.unknown:,} unknown"
