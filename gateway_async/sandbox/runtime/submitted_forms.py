"""Handle each form of a page once, however often a browser submits it."""

import asyncio
from collections.abc import Awaitable, Callable

import attrs

__all__ = ["SubmittedForms"]


_REMEMBERED = 10_000


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
