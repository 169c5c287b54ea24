"""One run of a crash test: reset the sandbox, run with a ledger file, recover, and check the rules."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Final, Protocol, cast

import anyio.to_thread
import attrs

from gateway_async import SqliteLedger
from gateway_async.client import AsyncGateway, Options
from gateway_async.crash_testing.invariants import Effect, broken_rules, count_effects, effects_of
from gateway_async.crash_testing.recording_ledger import RecordingLedger, RecoveryLedger, read_recording
from gateway_async.crash_testing.report import Crash, CrashReport
from gateway_async.ledger.protocol import Ledger
from gateway_async.sandbox import Sandbox

_TERMINAL_SECONDS: Final = 300.0
"""Seconds after which a call that waits at a terminal of the sandbox ends by itself."""

Scenario = Callable[[AsyncGateway], Awaitable[object]]
Prepare = Callable[[Sandbox], object]
MakeLedger = Callable[[Path], Ledger]


class CrashTest(Protocol):
    """The type of the pytest fixture `crash_test`, for annotations."""

    async def __call__(
        self,
        scenario: Scenario,
        *,
        kills: int = 10,
        seed: int = 0,
        make_ledger: MakeLedger | None = None,
        **options: Any,
    ) -> CrashReport:
        """Crash the scenario at many moments, and check every payment afterwards."""
        ...


@attrs.define
class ScenarioRun:
    """The environment of one run: the sandbox and the files of one ledger.

    Attributes:
        sandbox: the sandbox; it is reset.
        prepare: called after the reset, to plan faults or create records; with it, the scenario may fail.
        ledger: the path of the ledger, a new one for each run.
        make_ledger: creates the ledger from that path.
        options: the numeric options of the client.
        baseline: the counts of a run without faults and crashes, if they are known yet.
    """

    _sandbox: Sandbox
    prepare: Prepare | None
    ledger: Path
    _options: Mapping[str, float]
    _baseline: Mapping[str, int] = attrs.field(factory=dict)
    _make_ledger: MakeLedger = SqliteLedger
    _before: set[Effect] = attrs.field(factory=set, init=False)

    @property
    def recording(self) -> Path:
        """The file in which the ledger's entries are recorded."""
        return self.ledger.with_suffix(".recording")

    async def prepare_sandbox(self, *, fault_free: bool = False) -> None:
        """Reset and prepare the sandbox; `fault_free` removes the planned faults."""
        await anyio.to_thread.run_sync(self._reset)
        if fault_free:
            await anyio.to_thread.run_sync(self._sandbox.clear_faults)

    def client(self) -> AsyncGateway:
        """Make a client for a scenario that runs in this process."""
        ledger = RecordingLedger(self._make_ledger(self.ledger), self.recording)
        return self._sandbox.gateway(**cast("Options", {**self._options, "ledger": ledger}))

    async def count_effects(self) -> Mapping[str, int]:
        """Count the effects when the sandbox is idle."""
        await anyio.to_thread.run_sync(self._wait_until_idle)
        return count_effects(effects_of(await anyio.to_thread.run_sync(self._sandbox.ledger)) - self._before)

    async def recover_and_check(self, when: str) -> Crash:
        """Recover with a new client, and check the rules."""
        await anyio.to_thread.run_sync(self._wait_until_idle)
        ledger = RecoveryLedger(self._make_ledger(self.ledger), self.recording)
        async with self._sandbox.gateway(ledger=ledger) as gateway:
            was_open = [intent.id for intent in await ledger.open_intents()]
            recovered = await gateway.recover()
            is_open = [intent.id for intent in await ledger.open_intents()]
        calls = read_recording(self.recording, was_open, is_open)
        page = await anyio.to_thread.run_sync(self._sandbox.ledger)
        listed = sum(each.outcome == "unknown" for each in recovered)
        problems = broken_rules(effects_of(page) - self._before, page, calls, listed, self._baseline)
        return Crash(when=when, calls=calls, problems=tuple(problems))

    def _reset(self) -> None:
        self._sandbox.reset()
        if self.prepare:
            self.prepare(self._sandbox)
        self._before = effects_of(self._sandbox.ledger())

    def _wait_until_idle(self) -> None:
        self._sandbox.clear_faults()
        if any(terminal["waiting"] for terminal in self._sandbox.terminals()):
            self._sandbox.advance(_TERMINAL_SECONDS)
        self._sandbox.wait_until_idle()
