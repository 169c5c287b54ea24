"""Run async functions although their caller is cancelled, while a block runs, after it, or as tasks of their own."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from contextvars import copy_context
from functools import partial
from typing import Any, Generic, TypeVar

import anyio

from gateway_async._text import first_error
from gateway_async.errors import ConnectionLostError

R = TypeVar("R")
T = TypeVar("T")


async def finish(work: Callable[[], Awaitable[object]], seconds: float) -> bool:
    """Run `work` to its end although the task is cancelled meanwhile.

    A shield of anyio holds off cancel scopes only. On asyncio, the work therefore has a task of its own, and a
    `Task.cancel()` takes effect at the first `await` after the work.

    Args:
        work: what to do.
        seconds: maximum seconds, after which it is cancelled.

    Returns:
        Whether it ended in time.
    """

    async def run() -> bool:
        with anyio.move_on_after(seconds, shield=True) as scope:
            await work()
        return not scope.cancelled_caught

    if anyio.get_cancelled_exc_class() is not asyncio.CancelledError:
        return await run()
    running = asyncio.create_task(run())
    message: tuple[object, ...] | None = None  # of the cancellation: anyio recognizes its own
    with anyio.CancelScope(shield=True):
        while not running.done():
            try:
                await asyncio.wait([running])
            except asyncio.CancelledError as error:
                message = error.args
    if message is not None and (task := asyncio.current_task()) is not None:
        task.uncancel()
        task.cancel(*message)
    return running.result()


@asynccontextmanager
async def run_beside(*functions: Callable[[], Coroutine[Any, Any, None]]) -> AsyncIterator[None]:
    """Run functions until the block ends. An error of a function or of the block ends all of them, and is raised."""
    try:
        async with anyio.create_task_group() as tasks:
            for function in functions:
                tasks.start_soon(function)
            yield
            tasks.cancel_scope.cancel()
    except BaseExceptionGroup as group:
        error = first_error(group)
        raise error from error.__cause__


async def repeat(work: Callable[[], Awaitable[object]], seconds: float) -> None:
    """Run `work` again and again, with a pause after each run."""
    while True:
        await work()
        await anyio.sleep(seconds)


@asynccontextmanager
async def closing_async(resource: R) -> AsyncIterator[R]:
    """Close a resource after a block, if it can be closed; a cancellation waits for that."""
    try:
        yield resource
    finally:
        if close := getattr(resource, "aclose", None):
            with anyio.CancelScope(shield=True):
                await close()


@asynccontextmanager
async def run_in_background(work: Callable[[], Awaitable[object]]) -> AsyncIterator[None]:
    """Run `work` until the block ends; `work` must not raise.

    An exception of the block is raised unchanged, not wrapped in a group.
    """
    scope = anyio.CancelScope(shield=True)
    error: BaseException | None = None

    async def run() -> None:
        with scope:
            await work()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        try:
            yield
        except (Exception, KeyboardInterrupt, SystemExit) as raised:  # noqa: BLE001  a task group would wrap it
            error = raised
        finally:
            scope.cancel()
    if error is not None:
        raise error


class BackgroundTask:
    """Runs `work` at once, until it returns or is cancelled from any task; `work` must not raise an `Exception`.

    It is a task of the event loop itself. A task group has to end in the task that began it. Fixtures of pytest and
    steps of iterators may not.
    """

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
        await self._done.wait()

    def cancel(self) -> None:
        self._scope.cancel()

    async def stop(self) -> None:
        """Cancel the work and wait for its end, also under cancellation."""

        async def wait() -> None:
            with anyio.CancelScope(shield=True):
                await self._done.wait()

        self.cancel()
        async with anyio.create_task_group() as tasks:  # a native cancellation of asyncio does not interrupt its end
            tasks.start_soon(wait)


class Prefetch(Generic[T]):
    """Starts `read` immediately; `result()` waits for it."""

    __slots__ = ("__weakref__", "_error", "_is_complete", "_task", "_value")

    def __init__(self, read: Callable[[], Awaitable[T]]) -> None:
        self._error: BaseException | None = None
        self._is_complete = False
        self._value: T
        self._task = BackgroundTask(partial(self._run, read))

    async def _run(self, read: Callable[[], Awaitable[T]]) -> None:
        try:
            self._value = await read()
            self._is_complete = True
        except Exception as error:  # noqa: BLE001  raised by `result()`
            self._error = error

    async def result(self) -> T:
        """Wait for the read; return its result or raise its error."""
        try:
            await self._task.wait()
        except BaseException:
            self.cancel()
            raise
        if self._error is not None:
            raise self._error
        if not self._is_complete:
            raise ConnectionLostError("the prefetch was cancelled")
        return self._value

    def cancel(self) -> None:
        with suppress(RuntimeError):
            self._task.cancel()


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
