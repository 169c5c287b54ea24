"""Wait for what another task, thread or process does."""

from collections.abc import Callable
from typing import Final

import anyio

PATIENCE: Final = 250.0
"""Seconds to wait for what is certain to happen. Only a hang takes so long, also on a busy machine."""


async def until(condition: Callable[[], object]) -> None:
    """Return when a condition is true."""
    with anyio.fail_after(PATIENCE):
        while not condition():
            await anyio.sleep(0.005)
