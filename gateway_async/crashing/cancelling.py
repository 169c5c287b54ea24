"""Cancel a scenario at its first await, at its second, and so on, until it ends before it can be cancelled."""

import asyncio
import math
import types
from collections.abc import Awaitable, Callable, Generator
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, cast

import anyio

from gateway_async.client import AsyncGateway
from gateway_async.crashing.report import Crash, CrashReport
from gateway_async.crashing.scene import Prepare, Scenario, Scene
from gateway_async.errors import GatewayError
from gateway_async.sandbox import Sandbox

__all__ = ["cancel_everywhere"]

_SCOPE: Final = "a cancel scope"
_TASK: Final = "task.cancel()"


async def cancel_everywhere(
    scenario: Scenario, sandbox: Sandbox, *, prepare: Prepare | None = None, **options: float
) -> CrashReport:
    """Cancel a scenario at every await of its task, recover each time, and ask the sandbox whether all is known.

    It runs once to its end before that, without faults: no later run may charge or store more. On asyncio each await is
    tried in both ways: `task.cancel()`, once, and anyio's cancel scope, which cancels all awaits from there on; on trio
    there is only the second.

    Args:
        scenario: makes calls with the client that it is given; gateway errors may leave it.
        sandbox: is reset before each run.
        prepare: called with the sandbox before each run, to plan faults, say.
        options: those of the client that are numbers: `timeout`, `terminal_timeout` and so on.

    Returns:
        What was seen; `report.check()` raises when a rule was broken.
    """
    crashes: list[Crash] = []
    with TemporaryDirectory() as directory:
        calm = Scene(sandbox, prepare, Path(directory, "calm.db"), options)
        await calm.set(calm=True)
        await _run(scenario, calm, math.inf, _SCOPE)
        usual = await calm.made()
        for way in _ways():
            for at in count(1):
                scene = Scene(sandbox, prepare, Path(directory, f"{len(crashes)}.db"), options, usual)
                await scene.set()
                stopped = await _run(scenario, scene, at, way)
                when = f"cancelled at await {at} by {way}" if stopped else "not cancelled"
                crashes.append(await scene.judge(when))
                if not stopped:
                    break
    return CrashReport(getattr(scenario, "__name__", repr(scenario)), tuple(crashes))


async def _run(scenario: Scenario, scene: Scene, at: float, way: str) -> bool:
    """Run a scenario until its `at`th await; whether it came so far."""
    steps = _Steps(at)

    async def act(gateway: AsyncGateway) -> None:
        with anyio.CancelScope() as scope:
            steps.cancel = _task().cancel if way is _TASK else scope.cancel
            try:
                await steps.through(scenario(gateway))
            except GatewayError as error:
                steps.error = error

    async with scene.client() as gateway, anyio.create_task_group() as tasks:
        tasks.start_soon(act, gateway)
    if steps.error and not steps.is_over and not scene.is_prepared:
        raise steps.error  # the scenario does not work by itself
    return steps.is_over


class _Steps:
    """Runs a coroutine from await to await, and cancels at one of them.

    Attributes:
        cancel: what it then does.
        error: what the coroutine ended with.
        is_over: whether it came so far.
    """

    def __init__(self, at: float) -> None:
        self._left = at
        self.cancel: Callable[[], object]
        self.error: GatewayError | None = None

    @property
    def is_over(self) -> bool:
        return self._left <= 0

    @types.coroutine
    def through(self, awaitable: Awaitable[object]) -> Generator[Any, Any, None]:
        """Await it, as `yield from` does, with an eye on each time that it waits."""
        coroutine = awaitable.__await__()
        step = partial(coroutine.send, None)
        with suppress(StopIteration):
            while True:
                waits_for = step()
                self._left -= 1
                if self._left == 0:
                    self.cancel()
                try:
                    step = partial(coroutine.send, (yield waits_for))
                except BaseException as error:  # noqa: BLE001  whatever it is belongs to the coroutine
                    step = partial(coroutine.throw, error)


def _ways() -> tuple[str, ...]:
    try:
        _task()
    except RuntimeError:  # on trio
        return (_SCOPE,)
    return (_TASK, _SCOPE)


def _task() -> asyncio.Task[Any]:
    return cast("asyncio.Task[Any]", asyncio.current_task())
