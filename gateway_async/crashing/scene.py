"""One crash from beginning to end: a clean sandbox, a ledger in a file, what happens, the recovery, the verdict."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final, cast

import anyio
import anyio.to_thread

from gateway_async import SqliteLedger
from gateway_async.client import AsyncGateway, Options
from gateway_async.crashing.report import Crash
from gateway_async.crashing.rules import broken, deeds_of, made
from gateway_async.crashing.witness import AtRest, Witness, read_witness
from gateway_async.sandbox import Sandbox

__all__ = ["Prepare", "Scenario", "Scene"]

_LONGEST_VISIT: Final = 300.0
"""Seconds after which a call that waits at a terminal of the sandbox ends by itself."""

Scenario = Callable[[AsyncGateway], Awaitable[object]]
Prepare = Callable[[Sandbox], object]


class Scene:
    """A sandbox as a scenario finds it, and the files of one ledger.

    Args:
        sandbox: is reset.
        prepare: what is then done to it: faults that are planned, records that are made.
        ledger: the path of the ledger, a new one for each scene.
        options: those of the client that are numbers.
        usual: what is made when nothing goes wrong, if it is known yet.
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
        """Whether something was planned that a scenario may fail of."""
        return self._prepare is not None

    async def set(self, *, calm: bool = False) -> None:
        """Make everything ready; `calm` is without the faults that are planned."""
        await anyio.to_thread.run_sync(self._set)
        if calm:
            await anyio.to_thread.run_sync(self._sandbox.clear_faults)

    def client(self) -> AsyncGateway:
        """A client for the scenario, in this process."""
        options = self._options | {"ledger": Witness(SqliteLedger(self.ledger), self.notes)}
        return self._sandbox.gateway(**options)

    async def made(self) -> Mapping[str, int]:
        """What the scenario has made, once the sandbox has come to rest."""
        await anyio.to_thread.run_sync(self._rest)
        return made(deeds_of(await anyio.to_thread.run_sync(self._sandbox.ledger)) - self._before)

    async def judge(self, when: str) -> Crash:
        """Recover with a new client, once the sandbox has come to rest, and ask the sandbox whether all is known."""
        await anyio.to_thread.run_sync(self._rest)
        ledger = AtRest(SqliteLedger(self.ledger), self.notes)
        async with self._sandbox.gateway(ledger=ledger) as gateway:
            was_open = [intent.id for intent in await ledger.open_intents()]
            recovered = await gateway.recover()
            is_open = [intent.id for intent in await ledger.open_intents()]
        kept = read_witness(self.notes, was_open, is_open)
        page = await anyio.to_thread.run_sync(self._sandbox.ledger)
        listed = sum(one.outcome == "unknown" for one in recovered)
        problems = broken(deeds_of(page) - self._before, page, kept, listed, self._usual)
        return Crash(when=when, kept=kept, problems=tuple(problems))

    def _set(self) -> None:
        self._sandbox.reset()
        if self._prepare:
            self._prepare(self._sandbox)
        self._before = deeds_of(self._sandbox.ledger())

    def _rest(self) -> None:
        self._sandbox.clear_faults()
        if any(terminal["waiting"] for terminal in self._sandbox.terminals()):
            self._sandbox.advance(_LONGEST_VISIT)
        self._sandbox.wait_until_idle()
