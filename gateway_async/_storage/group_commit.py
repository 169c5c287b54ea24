"""`GroupCommitWriter`: a thread that writes to one file for many tasks.

All pending writes share one commit, so that a thousand tasks need a few disk syncs and not a thousand (group commit).
A task waits until its write is on disk. A fire-and-forget write is committed with the next write that a task waits for.
"""

import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import islice, repeat
from queue import Empty, SimpleQueue
from time import monotonic, sleep
from typing import Any, Final, Protocol
from weakref import WeakSet

import anyio
import anyio.lowlevel
import attrs

from gateway_async.observe import logger

_MAX_DELAY_SECONDS: Final = 0.05
"""Seconds a fire-and-forget write may be delayed so that it can share a commit."""

_COMMIT_INTERVAL_SECONDS: Final = 0.01
"""Minimum seconds between two commits, so that many tasks share one.

A write after a longer pause is not delayed.
"""

_CLOSING_SECONDS: Final = 15.0
_POLL_SECONDS: Final = 0.001
_MAX_DEFERRED: Final = 100_000
"""Maximum number of fire-and-forget writes that are kept while the disk fails."""


class WriterBackend(Protocol):
    """A file that a `GroupCommitWriter` writes. All its methods run in the writer's thread."""

    def execute_batch(self, awaited: Sequence[Any], deferred: Sequence[Any], /) -> Sequence[Any]:
        """Execute all operations; when it returns, they are on disk.

        Args:
            awaited: operations that a task waits for.
            deferred: fire-and-forget operations.

        Returns:
            The results of `awaited`, in the same order. A result that is an exception is raised in the task that waits
            for it.

        Raises:
            Exception: nothing was done. All waiting tasks get the exception; `deferred` is passed again with the next
                batch.
        """
        ...

    def close(self) -> None:
        """Close the file."""
        ...


class GroupCommitWriter:
    """A thread that writes to one file.

    It serves asyncio and trio, and several event loops at the same time. After a fork, a writer that was in use is
    closed in the child process, because neither SQLite's locks nor the thread exist there.

    Args:
        name: the name of the thread.
        open_backend: opens the backend, in the thread, on first use, and again after it has failed. It stays
            open after a failed write. A ledger that is opened again would mark the intents of calls in progress as
            orphaned.
        closed: creates the error that is raised after the writer is closed.
    """

    def __init__(self, name: str, open_backend: Callable[[], WriterBackend], closed: Callable[[], Exception]) -> None:
        self._name = name
        self._open_backend = open_backend
        self._error_when_closed = closed
        self._work: SimpleQueue[_Batch | _Deferred | None] = SimpleQueue()
        self._open_batches: dict[Any, _Batch] = {}
        self._lock = threading.Lock()
        self.is_closed = False
        self._thread: threading.Thread | None = None
        self._backend: WriterBackend | None = None
        self._deferred: deque[Any] = deque(maxlen=_MAX_DEFERRED)
        _writers.add(self)

    @property
    def is_running(self) -> bool:
        """Whether the thread runs; after `aclose`, whether it has not ended in time."""
        return self._thread is not None and self._thread.is_alive()

    async def submit(self, operation: Any) -> Any:
        """Execute an operation; return its result when it is on disk."""
        batch, index = self._join(operation)
        return await batch.result(index)

    def submit_nowait(self, operation: Any) -> None:
        """Schedule a fire-and-forget operation, which is executed a moment later."""
        with self._lock:
            self._check_open()
            self._enqueue(_Deferred(operation))

    async def aclose(self) -> None:
        """Write what is pending and close the backend, within 15 seconds.

        A second close is harmless.
        """
        with self._lock:
            first, self.is_closed, thread = not self.is_closed, True, self._thread
            if first and thread is not None:
                self._work.put(None)
        if thread is not None:
            with anyio.move_on_after(_CLOSING_SECONDS, shield=True):
                while thread.is_alive():  # noqa: ASYNC110  a thread cannot set an event after it has ended
                    await anyio.sleep(_POLL_SECONDS)

    def after_fork(self) -> None:
        """Reset the lock in the child process of a fork.

        The thread that held it does not exist there.
        """
        self._lock = threading.Lock()
        self.is_closed = self.is_closed or self._thread is not None

    def _join(self, operation: Any) -> "tuple[_Batch, int]":
        """Add an operation to the open batch of this event loop.

        Returns the batch and the operation's index in it.
        """
        loop: Any = anyio.lowlevel.current_token().native_token
        with self._lock:
            self._check_open()
            batch = self._open_batches.get(loop)
            if batch is None:
                batch = _Batch(loop)
                self._enqueue(batch)
                self._open_batches[loop] = batch
            batch.operations.append(operation)
            return batch, len(batch.operations) - 1

    def _check_open(self) -> None:
        if self.is_closed:
            raise self._error_when_closed()

    def _enqueue(self, item: "_Batch | _Deferred") -> None:
        """Queue work for the thread; start the thread if it is not running."""
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()
        self._work.put(item)

    def _run(self) -> None:
        """Execute batches until the writer is closed."""
        while (items := self._next_items())[-1] is not None:
            self._execute(items)
            sleep(_COMMIT_INTERVAL_SECONDS)
        self._execute(items)
        if self._backend:
            self._backend.close()

    def _next_items(self) -> "list[_Batch | _Deferred | None]":
        """Wait for an operation that cannot be delayed; return all pending work."""
        items = [self._work.get()]
        deadline = monotonic() + _MAX_DELAY_SECONDS
        with suppress(Empty):
            while isinstance(items[-1], _Deferred):
                items.append(self._work.get(timeout=max(0.0, deadline - monotonic())))
        # Later operations join the next batch. A query sees every fire-and-forget write scheduled before it.
        with self._lock, suppress(Empty):
            self._open_batches.clear()
            while items[-1] is not None:
                items.append(self._work.get_nowait())
        return items

    def _execute(self, items: "Sequence[_Batch | _Deferred | None]") -> None:
        """Execute the operations and wake the tasks that wait for them."""
        batches = [item for item in items if isinstance(item, _Batch)]
        awaited = [operation for batch in batches for operation in batch.operations]
        self._deferred.extend(item.operation for item in items if isinstance(item, _Deferred))
        try:
            self._backend = self._backend or self._open_backend()
            results = iter(self._backend.execute_batch(awaited, list(self._deferred)))
            self._deferred.clear()
        except Exception as error:  # noqa: BLE001  every error is passed to the waiting tasks
            if self._deferred:
                logger.warning("writes are delayed, %d pending: %s", len(self._deferred), error)
            results = repeat(error)
        for batch in batches:
            batch.wake(list(islice(results, len(batch.operations))))


@attrs.frozen
class _Deferred:
    """A fire-and-forget operation."""

    operation: Any


@attrs.define(eq=False, repr=False)
class _Batch:
    """The operations of one event loop that share a commit.

    One event wakes all their tasks.
    """

    loop: Any
    operations: list[Any] = attrs.field(init=False, factory=list)
    results: Sequence[Any] = attrs.field(init=False, default=())
    done: anyio.Event = attrs.field(init=False, factory=anyio.Event)

    async def result(self, index: int) -> Any:
        """Wait for the commit; return the result of the operation at an index."""
        await self.done.wait()
        result = self.results[index]
        if isinstance(result, Exception):
            raise result.with_traceback(None)  # other tasks may raise the same exception
        return result

    def wake(self, results: Sequence[Any]) -> None:
        """Wake the waiting tasks; an event loop that has ended is ignored."""
        self.results = results
        loop = self.loop
        call_soon = loop.run_sync_soon if hasattr(loop, "run_sync_soon") else loop.call_soon_threadsafe
        with suppress(RuntimeError):
            call_soon(self.done.set)


_writers: Final[WeakSet[GroupCommitWriter]] = WeakSet()


def _after_fork() -> None:
    for writer in _writers:
        writer.after_fork()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_after_fork)
