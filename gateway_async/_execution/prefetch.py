"""`Prefetch`: run a read while its caller does something else.

A task group cannot span the steps of an iterator. The read is therefore a task of the event loop itself; the iterator
cancels it when it is dropped.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import Any, Generic, TypeVar

import anyio

from gateway_async.errors import ConnectionLostError

__all__ = ["Prefetch"]

T = TypeVar("T")


class Prefetch(Generic[T]):
    """Starts `read` immediately; `result()` waits for it."""

    __slots__ = ("__weakref__", "_done", "_error", "_is_complete", "_scope", "_task", "_value")

    def __init__(self, read: Callable[[], Awaitable[T]]) -> None:
        self._done = anyio.Event()
        self._scope = anyio.CancelScope()
        self._error: BaseException | None = None
        self._is_complete = False
        self._value: T
        self._task = _start(partial(self._run, read), self._done.set)  # what `read` refers to is freed with its task

    async def _run(self, read: Callable[[], Awaitable[T]]) -> None:
        try:
            with self._scope:
                self._value = await read()
                self._is_complete = True
        except Exception as error:  # noqa: BLE001  raised by `result()`
            self._error = error
        finally:
            self._done.set()

    async def result(self) -> T:
        """Wait for the read; return its result or raise its error."""
        try:
            await self._done.wait()
        except BaseException:
            self.cancel()
            raise
        if self._error is not None:
            raise self._error
        if not self._is_complete:
            raise ConnectionLostError("the prefetch was cancelled")
        return self._value

    def cancel(self) -> None:
        """Cancel the read; harmless after the read or its event loop has ended."""
        with suppress(RuntimeError):
            self._scope.cancel()


def _start(run: Callable[[], Coroutine[Any, Any, None]], ended: Callable[[], object]) -> Any:
    """Run a coroutine function as a task of the event loop.

    The caller keeps the task, because event loops hold only weak references.
    """
    if anyio.get_cancelled_exc_class() is asyncio.CancelledError:
        task = asyncio.get_running_loop().create_task(run())
        task.add_done_callback(lambda _: ended())  # also when it is cancelled before its first step
        return task
    import trio  # not a dependency: a program that runs on trio has it installed

    return trio.lowlevel.spawn_system_task(run)
