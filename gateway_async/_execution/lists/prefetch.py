"""`Prefetch`: run a read while its caller does something else.

The iterator cancels it when it is dropped.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Generic, TypeVar

from gateway_async._execution.background_task import BackgroundTask
from gateway_async.errors import ConnectionLostError

T = TypeVar("T")


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
        """Cancel the read; harmless after the read or its event loop has ended."""
        with suppress(RuntimeError):
            self._task.cancel()
