"""Cancel a scenario at its first await, then at its second, and so on, until it ends before the cancellation."""

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

from gateway_async import SqliteLedger
from gateway_async.client import AsyncGateway
from gateway_async.crash_testing.report import Crash, CrashReport
from gateway_async.crash_testing.run import MakeLedger, Prepare, Scenario, ScenarioRun
from gateway_async.errors import GatewayError
from gateway_async.sandbox import Sandbox

_SCOPE: Final = "a cancel scope"
_TASK: Final = "task.cancel()"


async def cancel_everywhere(
    scenario: Scenario,
    sandbox: Sandbox,
    *,
    prepare: Prepare | None = None,
    make_ledger: MakeLedger = SqliteLedger,
    **options: float,
) -> CrashReport:
    """Cancel a scenario at every await, recover, and check the rules.

    Before that, the scenario runs once to its end without faults: no later run may charge or store more. On asyncio,
    each await is cancelled in two ways: by `task.cancel()`, once, and by anyio's cancel scope, which also cancels all
    later awaits. On trio only the cancel scope is available.

    Args:
        scenario: an async function that makes calls with the client passed to it. It may raise gateway errors.
        sandbox: the sandbox to run against; it is reset before each run.
        prepare: called with the sandbox before each run, for example to plan faults.
        make_ledger: creates the ledger of a run, as in `kill_everywhere`.
        options: the numeric options of the client: `timeout`, `terminal_timeout` and so on.

    Returns:
        The report of all crashes. `report.check()` raises if a rule was broken.
    """
    crashes: list[Crash] = []
    with TemporaryDirectory() as directory:
        fault_free = ScenarioRun(sandbox, prepare, Path(directory, "fault_free.db"), options, {}, make_ledger)
        await fault_free.prepare_sandbox(fault_free=True)
        await _run(scenario, fault_free, math.inf, _SCOPE)
        baseline = await fault_free.count_effects()
        for method in _methods():
            for at in count(1):
                path = Path(directory, f"{len(crashes)}.db")
                run = ScenarioRun(sandbox, prepare, path, options, baseline, make_ledger)
                await run.prepare_sandbox()
                stopped = await _run(scenario, run, at, method)
                when = f"cancelled at await {at} by {method}" if stopped else "not cancelled"
                crashes.append(await run.recover_and_check(when))
                if not stopped:
                    break
    return CrashReport(getattr(scenario, "__name__", repr(scenario)), tuple(crashes))


async def _run(scenario: Scenario, run: ScenarioRun, at: float, method: str) -> bool:
    """Run a scenario and cancel it at await number `at`; return whether it got that far."""
    steps = _Steps(at)

    async def run_scenario(gateway: AsyncGateway) -> None:
        with anyio.CancelScope() as scope:
            steps.cancel = _current_task().cancel if method is _TASK else scope.cancel
            try:
                await steps.drive(scenario(gateway))
            except GatewayError as error:
                steps.error = error

    async with run.client() as gateway, anyio.create_task_group() as tasks:
        tasks.start_soon(run_scenario, gateway)
    if steps.error and not steps.is_over and run.prepare is None:
        raise steps.error  # the scenario does not work by itself
    return steps.is_over


class _Steps:
    """Drives a coroutine from await to await, and cancels it at one of them.

    Attributes:
        cancel: the function that cancels the coroutine.
        error: the gateway error that the coroutine raised, if any.
        is_over: whether the await to cancel was reached.
    """

    def __init__(self, at: float) -> None:
        self._left = at
        self.cancel: Callable[[], object]
        self.error: GatewayError | None = None

    @property
    def is_over(self) -> bool:
        return self._left <= 0

    @types.coroutine
    def drive(self, awaitable: Awaitable[object]) -> Generator[Any, Any, None]:
        """Await `awaitable` as `yield from` does, counting its awaits."""
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
                except BaseException as error:  # noqa: BLE001  every exception is passed on to the coroutine
                    step = partial(coroutine.throw, error)


def _methods() -> tuple[str, ...]:
    try:
        _current_task()
    except RuntimeError:  # on trio
        return (_SCOPE,)
    return (_TASK, _SCOPE)


def _current_task() -> asyncio.Task[Any]:
    return cast("asyncio.Task[Any]", asyncio.current_task())
