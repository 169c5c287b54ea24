"""Wait for what another task, thread or process does."""

from collections.abc import Callable
from typing import Final

import anyio

PATIENCE: Final = 250.0
"""Seconds to wait for what is certain to happen. Only a hang takes so long, also on a busy machine."""


async def until(condition: Callable[[], object], pause: float = 0.005) -> None:
    """Return when a condition is true; look at it again after `pause` seconds."""
    with anyio.fail_after(PATIENCE):
        while not condition():
            await anyio.sleep(pause)
