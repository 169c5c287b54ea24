"""State for the pages in browsers: their live updates, and the forms that were already handled."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Literal

import attrs

Topic = Literal["records", "requests", "terminals"]
_REMEMBERED = 10_000


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
        """The version of each topic, as text for a URL."""
        return {topic: str(version) for topic, version in self._versions.items()}

    async def wait(self, seen: dict[str, str]) -> None:
        """Wait until a version differs from those seen."""
        while self.versions() == seen:
            await self._changed.wait()


@attrs.define(eq=False)
class _Submission:
    lock: asyncio.Lock = attrs.field(factory=asyncio.Lock)
    result: str | None = None


class SubmittedForms:
    """The results of the newest forms, by the id that each rendered form has."""

    def __init__(self) -> None:
        self._submissions: dict[str, _Submission] = {}

    async def handle_once(self, form_id: str, handle: Callable[[], Awaitable[str]]) -> str:
        """Handle a form, and return the result; a form that was already handled has its earlier result.

        A second submission waits for the first one. If the first one failed, the second one is handled.
        """
        submission = self._submissions.setdefault(form_id, _Submission())
        if len(self._submissions) > _REMEMBERED:
            del self._submissions[next(iter(self._submissions))]
        async with submission.lock:
            if submission.result is None:
                submission.result = await handle()
            return submission.result
