"""`EventLoop`: the clock, the deadlines and the identity of the event loop that a client belongs to."""

import asyncio
from collections.abc import Callable
from typing import Final

import anyio
import anyio.lowlevel

_TICK: Final = 1.0
"""Seconds between two rounds of creating timers. Most calls end sooner, and need none."""


class EventLoop:
    """The event loop of the current task, asked directly: anyio would find out first which library runs.

    Attributes:
        now: function that returns its time.
        open_scopes: the deadlines of cancel scopes that have no timer yet.
    """

    __slots__ = ("_cancel_scope", "_has_timer", "_loop", "now", "open_scopes")

    def __init__(self) -> None:
        self._loop = loop = anyio.lowlevel.current_token().native_token
        self.now: Callable[[], float] = loop.time if isinstance(loop, asyncio.AbstractEventLoop) else anyio.current_time
        self._cancel_scope: Callable[..., anyio.CancelScope] = type(anyio.CancelScope())
        self._has_timer = False
        self.open_scopes: dict[anyio.CancelScope, float] = {}

    def deadline(self, at: float) -> anyio.CancelScope:
        """Open a cancel scope that ends at a given time.

        On asyncio, it gets its timer at the next tick of one timer for all: most calls have ended by then.
        """
        if not isinstance(self._loop, asyncio.AbstractEventLoop) or at < self.now() + 2 * _TICK:
            return self._cancel_scope(deadline=at)
        scope = self._cancel_scope()
        self.open_scopes[scope] = at
        if not self._has_timer:
            self._has_timer = True
            self._loop.call_later(_TICK, self._create_timers)
        return scope

    def _create_timers(self) -> None:
        self._has_timer = False
        scopes, self.open_scopes = self.open_scopes, {}
        for scope, at in scopes.items():
            scope.deadline = at

    @property
    def is_current(self) -> bool:
        if not isinstance(self._loop, asyncio.AbstractEventLoop):
            return anyio.lowlevel.current_token().native_token is self._loop
        try:
            # Trio can run as a guest of the same loop, but not in one of its tasks.
            return asyncio.get_running_loop() is self._loop and asyncio.current_task(self._loop) is not None
        except RuntimeError:
            return False
