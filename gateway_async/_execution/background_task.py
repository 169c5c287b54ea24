"""`BackgroundTask`: run an async function as a task of the event loop itself.

A task group has to end in the task that began it. Fixtures of pytest and steps of iterators may not.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import copy_context
from typing import Any

import anyio


class BackgroundTask:
    """Runs `work` at once, until it returns or is cancelled from any task; `work` must not raise an `Exception`."""

    __slots__ = ("_done", "_scope", "_task")

    def __init__(self, work: Callable[[], Awaitable[object]]) -> None:
        self._done = anyio.Event()
        self._scope = anyio.CancelScope()
        scope, done = self._scope, self._done

        async def run() -> None:
            try:
                with scope:
                    await work()
            finally:
                done.set()

        self._task = _start(run, done.set)  # what `work` refers to is freed with its task

    async def wait(self) -> None:
        """Wait until the work has ended."""
        await self._done.wait()

    def cancel(self) -> None:
        """Cancel the work."""
        self._scope.cancel()

    async def stop(self) -> None:
        """Cancel the work and wait for its end, also under cancellation."""

        async def wait() -> None:
            with anyio.CancelScope(shield=True):
                await self._done.wait()

        self.cancel()
        async with anyio.create_task_group() as tasks:  # a native cancellation of asyncio does not interrupt its end
            tasks.start_soon(wait)


def _start(run: Callable[[], Coroutine[Any, Any, None]], ended: Callable[[], object]) -> Any:
    """Run a coroutine function as a task of the event loop.

    The caller keeps the task, because event loops hold only weak references.
    """
    if anyio.get_cancelled_exc_class() is asyncio.CancelledError:
        task = asyncio.get_running_loop().create_task(run())
        task.add_done_callback(lambda _: ended())  # also when it is cancelled before its first step
        return task
    import trio  # not a dependency: a program that runs on trio has it installed

    return trio.lowlevel.spawn_system_task(run, context=copy_context())
