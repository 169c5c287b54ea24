"""Limits of the rows that a run may store: `RowAllowance` for one process, `RowGrants` for the shards of a cluster.

The stored, unknown and in-progress rows together never exceed the limit.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import anyio

from gateway_async.errors import InvalidRequestError
from gateway_async.migration.report import Report

__all__ = ["RowAllowance", "RowGrants", "describe_cap"]

_ALL: Final = 2**63


class RowAllowance:
    """Counts the rows that may still be stored.

    Each row acquires one before it is sent, and gives it back if it is rejected. One task acquires, in the order of the
    rows. Any number of tasks give back.

    Args:
        rows: how many may be stored; None for any number.

    Attributes:
        rows: the same number.
        used: how many are stored, unknown or in progress.
        exhausted: whether a row was held back because all were used.

    Raises:
        InvalidRequestError: `rows` is not a whole number of 0 or more.
    """

    def __init__(self, rows: int | None) -> None:
        if rows is not None and (isinstance(rows, bool) or not isinstance(rows, int) or rows < 0):
            raise InvalidRequestError("max_rows: must be a whole number above 0")
        self.rows = rows
        self.used = 0
        self.exhausted = False
        self._in_progress = 0
        self._closed = False
        self._changed = anyio.Event()

    async def acquire(self) -> bool:
        """Take one; wait while a row in progress may still give one back.

        Returns:
            Whether one was taken. False if all are used permanently, or the run stops.
        """
        while self.rows is not None and self.used >= self.rows and not self._closed:
            if not self._in_progress:
                self.exhausted = True
                return False
            self._changed = anyio.Event()
            await self._changed.wait()
        if self._closed:
            return False
        self.used += 1
        self._in_progress += 1
        return True

    def charge(self) -> None:
        """Count a row that another process has already stored."""
        self.used += 1

    def give_back(self) -> None:
        """Give back one, because the row is not stored."""
        self.used -= 1
        self._changed.set()

    def finish(self) -> None:
        """End the progress of a row. If it has given nothing back, it is stored, unknown or deferred."""
        self._in_progress -= 1
        self._changed.set()

    def close(self) -> None:
        """Let no more rows acquire, because the run stops."""
        self._closed = True
        self._changed.set()


class RowGrants:
    """Splits the rows that a whole cluster may store into grants, one for each shard.

    A grant belongs to the shard, independent of the worker and of the number of attempts. Rows that an earlier attempt
    has stored count against it. So no message is needed while a shard runs, and a worker that dies or is only presumed
    dead cannot exceed it. Only a shard that has ended gives back what it did not use.

    Args:
        rows: how many may be stored in total; None for any number.
    """

    def __init__(self, rows: int | None) -> None:
        self._left = _ALL if rows is None else rows
        self._running = 0
        self._closed = False
        self._changed = anyio.Event()

    def take(self, most: int) -> int:
        """Take up to `most` rows, possibly none. A shard without any can still skip stored rows."""
        taken = 0 if self._closed else min(most, self._left)
        self._left -= taken
        return taken

    async def take_some(self, most: int) -> int:
        """Take at least one row. Wait for it while a shard runs; return 0 if no more can become free."""
        while not self._left and self._running and not self._closed:
            await self._changed.wait()
        return self.take(most)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count a shard as running during the block: it may give back what it does not use."""
        self._running += 1
        try:
            yield
        finally:
            self._running -= 1
            self._change()

    def give_back(self, rows: int) -> None:
        """Give back what a shard that has ended did not use."""
        self._left += rows
        self._change()

    def close(self) -> None:
        """Grant no more rows, because the run stops."""
        self._closed = True
        self._change()

    def _change(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()


def describe_cap(report: Report, rows: int) -> str:
    """Return the reason of a stop at the maximum of `rows`."""
    if report.stored >= rows:
        return f"maximum of {rows:,} rows stored"
    return f"maximum of {rows:,} rows reached: {report.stored:,} stored, {report.unknown:,} unknown"
