"""`Simulation`: run the schedule of a seed, and check the money rules at its end."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Self

import attrs

from gateway_async._execution.state import seconds_in_doubt
from tests.simulation.environment import simulated_environment
from tests.simulation.event_loop import StalledError, VirtualEventLoop
from tests.simulation.faults import IN_DOUBT_SECONDS, Faults
from tests.simulation.gateway import SimulatedGateway
from tests.simulation.invariants import find_broken_rules
from tests.simulation.lease_store import LeaseStore
from tests.simulation.network import Machine, VirtualNetwork
from tests.simulation.operations import Program
from tests.simulation.planted_bugs import PLANTED_BUGS
from tests.simulation.schedule import ClockStep, Crash, Operation, Recovery, Schedule
from tests.simulation.till import TERMINAL_SECONDS, Till

_ALL_IN_DOUBT_SECONDS: Final = TERMINAL_SECONDS + seconds_in_doubt(IN_DOUBT_SECONDS, at_terminal=True) + 15.0
"""Seconds after which no call can be in doubt any more, at a terminal either."""

_MEMORY: Final = Path("/dev/shm")


@attrs.frozen
class Result:
    """The result of one schedule.

    Attributes:
        problems: one sentence for each broken rule.
        trace: what happened, one line each; the same for every run of the seed.
    """

    seed: int
    problems: tuple[str, ...]
    trace: tuple[str, ...]


class Simulation:
    """Runs schedules one after the other. Use it as a context manager.

    All share one gateway, whose records are reset before each schedule.
    """

    def __enter__(self) -> Self:
        self._folder = TemporaryDirectory(dir=_MEMORY if _MEMORY.is_dir() else None)
        self._gateway = SimulatedGateway()
        with _virtual_loop(VirtualNetwork(Faults(0, 0.0)), 0) as loop:
            loop.run_until_complete(self._gateway.start())  # makes the credentials
        return self

    def __exit__(self, *_: object) -> None:
        self._gateway.close()
        self._folder.cleanup()

    def run(self, seed: int) -> Result:
        """Run the schedule of a seed."""
        schedule = Schedule.of(seed)
        self._gateway.reset()
        network = VirtualNetwork(Faults(seed, schedule.rate, schedule.outage))
        with _virtual_loop(network, seed) as loop:
            leases = LeaseStore(schedule.lease_loss)
            run = _Run(schedule, network, self._gateway, Path(self._folder.name), leases)
            try:
                loop.run_until_complete(run.run())
            except StalledError as error:
                run.problems.append(str(error))
            problems = (*run.problems, *loop.failures)
        return Result(seed, problems, tuple(network.trace))


def run_seeds(seeds: Sequence[int], bug: str | None, *, failed_only: bool = True) -> list[Result]:
    """Run some seeds, with a planted bug or none; return the results, or those with a broken rule."""
    with PLANTED_BUGS[bug]() if bug else nullcontext(), Simulation() as simulation:
        return [result for result in map(simulation.run, seeds) if result.problems or not failed_only]


@contextmanager
def _virtual_loop(network: VirtualNetwork, seed: int) -> Iterator[VirtualEventLoop]:
    loop = VirtualEventLoop(network)
    asyncio.set_event_loop(loop)
    try:
        with simulated_environment(loop, seed):
            yield loop
    finally:
        asyncio.set_event_loop(None)
        loop.close()


@attrs.define
class _Run:
    """One run of a schedule."""

    schedule: Schedule
    network: VirtualNetwork
    gateway: SimulatedGateway
    folder: Path
    leases: LeaseStore
    problems: list[str] = attrs.field(factory=list)
    tills: list[Till] = attrs.field(factory=list)

    async def run(self) -> None:
        """Run the schedule to its end, and check the rules."""
        await self.gateway.start()
        info = self.gateway.gateway.info
        for number in range(self.schedule.tills):
            path = self.folder / f"ledger-{number}.db"
            path.unlink(missing_ok=True)
            self.tills.append(Till(f"till-{number}", path, info, self.leases, self.network))
        for till in self.tills:
            till.start()
        program = Program(info, self.network)
        async with asyncio.TaskGroup() as events:
            for operation in self.schedule.operations:
                events.create_task(self._perform(program, operation))
            for crash in self.schedule.crashes:
                events.create_task(self._crash(crash))
            for recovery in self.schedule.recoveries:
                events.create_task(self._recover_early(recovery))
            for step in self.schedule.clock_steps:
                events.create_task(self._step_clocks(step))
        for till in self.tills:
            await till.finish()
        self._check(program, await self._recover())

    async def _perform(self, program: Program, operation: Operation) -> None:
        await asyncio.sleep(operation.at)
        till = self.tills[operation.till]
        if not till.machine.is_running:
            return  # the machine is down
        process, task = till.machine, till.run(program.perform(operation, till))
        if operation.cancel_after is not None:
            await asyncio.wait([task], timeout=operation.cancel_after)
            if not task.done():
                self.network.log(f"operation {operation.number} is cancelled")
                task.cancel()
        await self._finish(process, task, f"operation {operation.number}")

    async def _step_clocks(self, step: ClockStep) -> None:
        await asyncio.sleep(step.at)
        loop: Any = asyncio.get_running_loop()
        loop.clock_error += step.seconds
        self.network.log(f"wall clocks step by {step.seconds:g} s")

    async def _crash(self, crash: Crash) -> None:
        await asyncio.sleep(crash.at)
        if crash.till is None:
            self.network.log("the gateway crashes")
            await self.gateway.crash()
            await asyncio.sleep(crash.down)
            await self.gateway.start()
            self.network.log("the gateway restarts")
            return
        till = self.tills[crash.till]
        till.crash(loses_power=crash.loses_power)
        await asyncio.sleep(crash.down)
        till.start()
        self.network.log(f"till-{crash.till} restarts")
        recovery = till.run(till.recover(crash.recovery_wait))
        await self._finish(till.machine, recovery, "the recovery after the restart")

    async def _recover_early(self, recovery: Recovery) -> None:
        await asyncio.sleep(recovery.at)
        till = self.tills[recovery.till]
        if till.machine.is_running:
            await self._finish(till.machine, till.run(till.look_around()), "a list")
            await self._finish(till.machine, till.run(till.recover(recovery.wait)), "a recovery")

    async def _finish(self, process: Machine, task: asyncio.Task[Any], name: str) -> None:
        """Wait for a task of a process; an error is a problem, unless the process has crashed."""
        await asyncio.wait([task])
        if process.is_running and not task.cancelled() and (error := task.exception()) is not None:
            self.problems.append(f"{name} raised {error!r}")

    async def _recover(self) -> int:
        """End the faults, wait until nothing is in doubt, and recover; return how many calls stay unknown."""
        self.network.heal()
        unknown = 0
        for till in self.tills:
            await till.run(till.recover(0.0))  # sees the open intents for the first time
        await asyncio.sleep(_ALL_IN_DOUBT_SECONDS)
        for till in self.tills:
            unknown += await till.run(till.recover(0.0))
            await till.run(till.close())
        return unknown

    def _check(self, program: Program, unknown: int) -> None:
        page = self.gateway.ledger()
        crashed = [till for till in self.tills if till.has_crashed]
        ledgers = {till: till.calls for till in self.tills}
        broken = find_broken_rules(
            page,
            self.schedule.operations,
            ledger=[call for calls in ledgers.values() for call in calls],
            told=program.told,
            duplicates=program.duplicates,
            mistaken=program.mistaken,
            unknown=unknown,
            overlaps=self.gateway.overlaps,
            terminal_calls=self.network.terminal_calls,
            unleased_calls=self.network.unleased_calls,
            has_lost_leases=self.leases.has_lost,
            abandoned={call.api_id or "" for till in crashed for call in ledgers[till]},
        )
        self.problems += broken
        self.network.log(f"{page['charged']} {page['refunded']} {page['stored']}")
