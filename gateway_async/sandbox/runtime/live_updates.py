"""Tell open pages what changed."""

import asyncio
from collections import Counter
from typing import Literal

__all__ = ["LiveUpdates", "Topic"]


Topic = Literal["records", "requests", "terminals"]


class LiveUpdates:
    """Counts the changes of each topic, and wakes those who wait for one."""

    def __init__(self) -> None:
        self._versions: Counter[Topic] = Counter()
        self._changed = asyncio.Event()

    def publish(self, topic: Topic) -> None:
        """Record a change, in the thread of the event loop."""
        self._versions[topic] += 1
        self._changed.set()  # wakes the tasks that already wait…
        self._changed.clear()  # …but not tasks that start to wait later

    def versions(self) -> dict[str, str]:
        """Return the version of each topic, as text for a URL."""
        return {topic: str(version) for topic, version in self._versions.items()}

    async def wait(self, seen: dict[str, str]) -> None:
        """Wait until a version differs from those seen."""
        while self.versions() == seen:
            await self._changed.wait()
