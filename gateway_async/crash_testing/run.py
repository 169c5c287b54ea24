"""One run of a crash test: reset the sandbox, run with a ledger file, recover, and check the rules."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final, cast

import anyio
import anyio.to_thread

from gateway_async import SqliteLedger
from gateway_async.client import AsyncGateway, Options
from gateway_async.crash_testing.invariants import broken, effects_of, made
from gateway_async.crash_testing.recording_ledger import AtRest, RecordingLedger, read_recording
from gateway_async.crash_testing.report import Crash
from gateway_async.sandbox import Sandbox

__all__ = ["Prepare", "Scenario", "Scene"]

_LONGEST_VISIT: Final = 300.0
"""Seconds after which a call that waits at a terminal of the sandbox ends by itself."""

Scenario = Callable[[AsyncGateway], Awaitable[object]]
Prepare = Callable[[Sandbox], object]


class Scene:
    """The environment of one run: the sandbox and the files of one ledger.

    Args:
        sandbox: the sandbox; it is reset.
        prepare: called with the sandbox after the reset, to plan faults or create records.
        ledger: the path of the ledger, a new one for each run.
        options: the numeric options of the client.
        usual: the counts of a run without faults and crashes, if they are known yet.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        prepare: Prepare | None,
        ledger: Path,
        options: Mapping[str, float],
        usual: Mapping[str, int] | None = None,
    ) -> None:
        self._sandbox = sandbox
        self._usual = usual or {}
        self._prepare = prepare
        self.ledger = ledger
        self.notes = ledger.with_suffix(".notes")
        self._options = cast("Options", options)

    @property
    def is_prepared(self) -> bool:
        """Whether `prepare` was given, so that the scenario may fail with a gateway error."""
        return self._prepare is not None

    async def set(self, *, calm: bool = False) -> None:
        """Reset and prepare the sandbox; `calm` removes the planned faults."""
        await anyio.to_thread.run_sync(self._set)
        if calm:
            await anyio.to_thread.run_sync(self._sandbox.clear_faults)

    def client(self) -> AsyncGateway:
        """Make a client for a scenario that runs in this process."""
        options = self._options | {"ledger": RecordingLedger(SqliteLedger(self.ledger), self.notes)}
        return self._sandbox.gateway(**options)

    async def made(self) -> Mapping[str, int]:
        """Wait until the sandbox is idle, and count the effects of the scenario."""
        await anyio.to_thread.run_sync(self._rest)
        return made(effects_of(await anyio.to_thread.run_sync(self._sandbox.ledger)) - self._before)

    async def judge(self, when: str) -> Crash:
        """Wait until the sandbox is idle, recover with a new client, and check the rules."""
        await anyio.to_thread.run_sync(self._rest)
        ledger = AtRest(SqliteLedger(self.ledger), self.notes)
        async with self._sandbox.gateway(ledger=ledger) as gateway:
            was_open = [intent.id for intent in await ledger.open_intents()]
            recovered = await gateway.recover()
            is_open = [intent.id for intent in await ledger.open_intents()]
        kept = read_recording(self.notes, was_open, is_open)
        page = await anyio.to_thread.run_sync(self._sandbox.ledger)
        listed = sum(one.outcome == "unknown" for one in recovered)
        problems = broken(effects_of(page) - self._before, page, kept, listed, self._usual)
        return Crash(when=when, kept=kept, problems=tuple(problems))

    def _set(self) -> None:
        self._sandbox.reset()
        if self._prepare:
            self._prepare(self._sandbox)
        self._before = effects_of(self._sandbox.ledger())

    def _rest(self) -> None:
        self._sandbox.clear_faults()
        if any(terminal["waiting"] for terminal in self._sandbox.terminals()):
            self._sandbox.advance(_LONGEST_VISIT)
        self._sandbox.wait_until_idle()
