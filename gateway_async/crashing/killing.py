"""Kill the process of a scenario at random moments, begin anew with its ledger, and see what is known."""

import json
import os
import sys
from collections.abc import Sequence
from inspect import getsourcefile
from pathlib import Path
from random import Random
from subprocess import PIPE
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO, Any, Final, Self, cast

import anyio
import anyio.abc
from anyio.streams.buffered import BufferedByteReceiveStream

from gateway_async.crashing.report import Crash, CrashReport
from gateway_async.crashing.scene import Prepare, Scenario, Scene
from gateway_async.sandbox import Sandbox

__all__ = ["kill_everywhere"]

_LINE: Final = 100
_AHEAD: Final = 1
"""Processes that load what they need while the one before them runs."""


async def kill_everywhere(
    scenario: Scenario,
    sandbox: Sandbox,
    *,
    kills: int = 20,
    seed: int = 0,
    prepare: Prepare | None = None,
    **options: float,
) -> CrashReport:
    """Kill the process of a scenario at random moments, recover each time, and ask the sandbox whether all is known.

    The scenario runs in processes of its own, on asyncio: to its end without faults (no later run may charge or store
    more), to its end with them, which shows how long it takes, and then again and again, killed (SIGKILL) at some
    moment of that time.

    Args:
        scenario: makes calls with the client that it is given: a function that other processes can load from its
            file, no lambda and no function within a function. Gateway errors may leave it if something was prepared.
        sandbox: is reset before each run.
        kills: how often.
        seed: of the moments.
        prepare: called with the sandbox before each run, to plan faults, say.
        options: those of the client that are numbers: `timeout`, `terminal_timeout` and so on.

    Returns:
        What was seen; `report.check()` raises when a rule was broken.

    Raises:
        ValueError: other processes cannot load the scenario.
        RuntimeError: it fails without being killed; the message holds what its process wrote.
    """
    command, chance = _command(scenario), Random(seed)  # noqa: S311  repeatable moments, not secrets
    crashes: list[Crash] = []
    ahead: list[_Actor] = []
    whole, usual = 0.0, dict[str, int]()
    with TemporaryDirectory() as directory, TemporaryFile() as errors:
        try:
            for number in range(-1, kills + 1):
                while len(ahead) < min(kills + 1 - number, 1 + _AHEAD):
                    ahead.append(await _Actor.hire(command, errors))
                scene = Scene(sandbox, prepare, Path(directory, f"{number}.db"), options, usual)
                await scene.set(calm=number < 0)
                moment = chance.random() * whole if number > 0 else None
                spent = await ahead.pop(0).perform(_part(scene, sandbox, options), moment)
                if number < 0:
                    usual = dict(await scene.made())
                    continue
                whole = whole or spent
                when = "killed at its end" if moment is None else f"killed after {moment * 1e3:.1f} ms (seed {seed})"
                crashes.append(await scene.judge(when))
        finally:
            with anyio.CancelScope(shield=True):
                for actor in ahead:
                    await actor.dismiss()
    return CrashReport(scenario.__name__, tuple(crashes))


class _Actor:
    """A process that waits for its part, plays it, and is killed."""

    def __init__(self, process: anyio.abc.Process, errors: IO[bytes]) -> None:
        self._process = process
        self._errors = errors
        self._says = BufferedByteReceiveStream(cast("anyio.abc.ByteReceiveStream", process.stdout))

    @classmethod
    async def hire(cls, command: Sequence[str], errors: IO[bytes]) -> Self:
        """Start it; it loads what it needs, and waits."""
        search = os.pathsep.join(path or os.curdir for path in sys.path)
        environment = {**os.environ, "PYTHONPATH": search}
        return cls(await anyio.open_process(command, stdin=PIPE, stdout=PIPE, stderr=errors, env=environment), errors)

    async def perform(self, part: dict[str, Any], seconds: float | None) -> float:
        """Let it play, and kill it after some seconds, or at its end; how long it took.

        Raises:
            RuntimeError: It ended by itself.
        """
        try:
            await cast("anyio.abc.ByteSendStream", self._process.stdin).send(json.dumps(part).encode() + b"\n")
            await self._hear(b"begun")
            began = anyio.current_time()
            with anyio.move_on_after(seconds):
                await self._hear(b"ended")
            return anyio.current_time() - began
        except (anyio.BrokenResourceError, anyio.EndOfStream, anyio.IncompleteRead):
            self._errors.seek(0)
            said = self._errors.read().decode(errors="replace")
            raise RuntimeError(f"the scenario fails without being killed:\n{said}") from None
        finally:
            with anyio.CancelScope(shield=True):
                await self.dismiss()

    async def dismiss(self) -> None:
        """Kill it, if it still lives."""
        if self._process.returncode is None:
            self._process.kill()
        await self._process.aclose()

    async def _hear(self, word: bytes) -> None:
        while await self._says.receive_until(b"\n", _LINE) != word:
            pass


def _command(scenario: Scenario) -> list[str]:
    """The command line of a process that plays a scenario."""
    name, module = getattr(scenario, "__qualname__", "<none>"), getattr(scenario, "__module__", None)
    source = getsourcefile(scenario) if "<" not in name else None
    if source is None:
        raise ValueError(f"scenario: other processes cannot load {scenario!r}: it must be a function of a module.")
    return [sys.executable, "-m", "gateway_async.crashing.actor", str(Path(source).resolve()), str(module), name]


def _part(scene: Scene, sandbox: Sandbox, options: dict[str, float]) -> dict[str, Any]:
    """What an actor must know; it goes through a pipe, since it holds a key."""
    names = ("base_url", "developer_id", "user_id", "user_api_key", "location_id")
    facts = {name: getattr(sandbox, name) for name in names}
    files = {"ledger": str(scene.ledger), "notes": str(scene.notes)}
    return {**facts, **files, "options": options, "may_fail": scene.is_prepared}
