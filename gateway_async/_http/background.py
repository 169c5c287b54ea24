"""Run an async function while a block runs, also during its cleanup after cancellation."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio

__all__ = ["run_in_background"]


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
