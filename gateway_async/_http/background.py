"""Run an async function while a block runs, or to its end, also if the task is cancelled meanwhile."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio


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
    message: tuple[object, ...] | None = None  # of the cancellation, by which anyio knows its own
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
