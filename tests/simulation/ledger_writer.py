"""`VirtualWriter`: the writer of a ledger, in the event loop instead of a thread.

It writes the same batches to the same SQLite file. A commit takes virtual time, so that a crash can come before it.
"""

import asyncio
import random
from collections.abc import Callable
from queue import Empty
from typing import Any, Final

from gateway_async._storage.group_commit import GroupCommitWriter, WriterBackend, _Batch, _Deferred
from gateway_async._storage.sqlite import ask_pragma

_COMMIT_SECONDS: Final = (0.0005, 0.01)
_DEFERRED_SECONDS: Final = (0.01, 0.05)
_FULL: Final = 2
"""The value of `PRAGMA synchronous` from which SQLite syncs every commit in WAL mode."""


class VirtualWriter(GroupCommitWriter):
    """A writer that can be stopped at any moment, as by a crash.

    Attributes:
        is_synced: whether everything that was committed also survives a loss of power.
    """

    def __init__(self, name: str, open_backend: Callable[[], WriterBackend], closed: Callable[[], Exception]) -> None:
        super().__init__(name, open_backend, closed)
        self.is_synced = True

    def _enqueue(self, item: _Batch | _Deferred) -> None:
        self._work.put(item)
        seconds = _COMMIT_SECONDS if isinstance(item, _Batch) else _DEFERRED_SECONDS
        asyncio.get_running_loop().call_later(random.uniform(*seconds), self.commit)

    def commit(self) -> None:
        """Write all pending work, as the thread does in each of its rounds."""
        items: list[Any] = []
        self._open_batches.clear()
        while True:
            try:
                items.append(self._work.get_nowait())
            except Empty:
                break
        if items:
            self._execute(items)
            self.is_synced = self.is_synced and self._syncs_commits()

    def _syncs_commits(self) -> bool:
        backend: Any = self._backend
        return ask_pragma(backend._connection, "synchronous") >= _FULL

    async def aclose(self) -> None:
        """Write what is pending and close the file."""
        if not self.is_closed:
            self.commit()
            self.stop()

    def stop(self) -> None:
        """End without writing what is pending, and accept nothing more."""
        self.is_closed = True
        while not self._work.empty():
            self._work.get_nowait()
        if self._backend is not None:
            self._backend.close()
