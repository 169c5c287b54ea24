"""`beside`: something that runs for as long as a block does, also while a cancelled block still cleans up."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio

__all__ = ["beside"]


@asynccontextmanager
async def beside(work: Callable[[], Awaitable[object]]) -> AsyncIterator[None]:
    """Run `work`, which raises nothing, until the block is left; what the block raises comes out as it is."""
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
