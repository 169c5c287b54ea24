"""Wait for what another task, thread or process does."""

from collections.abc import Callable

import anyio


async def until(condition: Callable[[], object]) -> None:
    """Return when a condition is true; fail after 30 seconds."""
    with anyio.fail_after(30):
        while not condition():
            await anyio.sleep(0.005)
