"""Kill the process of a scenario at random moments, and check that a new process can recover with its ledger."""

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

from gateway_async import SqliteLedger
from gateway_async.crash_testing.report import Crash, CrashReport
from gateway_async.crash_testing.run import MakeLedger, Prepare, Scenario, ScenarioRun
from gateway_async.sandbox import Sandbox

_MAX_LINE_BYTES: Final = 100
_AHEAD: Final = 1
"""How many processes are started ahead, to import their modules while the current one runs."""


async def kill_everywhere(
    scenario: Scenario,
    sandbox: Sandbox,
    *,
    kills: int = 20,
    seed: int = 0,
    prepare: Prepare | None = None,
    make_ledger: MakeLedger = SqliteLedger,
    **options: float,
) -> CrashReport:
    """Kill a scenario's process at random moments, and check the rules.

    The scenario runs in separate processes, on asyncio:

    1. To its end without faults; no later run may charge or store more.
    2. To its end with the planned faults, which shows how long it takes.
    3. `kills` times more, killed (SIGKILL) at a random moment of that time.

    Args:
        scenario: an async function that makes calls with the client passed to it. Other processes must be able to load
            it from its file, so it cannot be a lambda or a nested function. With `prepare` it may raise gateway errors.
        sandbox: the sandbox to run against; it is reset before each run.
        kills: the number of kills.
        seed: the seed of the random moments.
        prepare: called with the sandbox before each run, for example to plan faults.
        make_ledger: creates the ledger of a run from the path of a file that does not exist yet. Other processes must
            be able to load it as well. It is called several times for one run. A `PostgresLedger` can take the names of
            the folder and of the file for its table: `table=f"{path.parent.name}_{path.stem}"`. Drop the tables
            afterwards.
        options: the numeric options of the client: `timeout`, `terminal_timeout` and so on.

    Returns:
        The report of all crashes. `report.check()` raises if a rule was broken.

    Raises:
        ValueError: other processes cannot load the scenario or `make_ledger`.
        RuntimeError: the scenario fails without being killed. The message contains the output of its process.
    """
    command = [sys.executable, "-m", "gateway_async.crash_testing.worker", *_location("scenario", scenario)]
    ledger_function, random = _location("make_ledger", make_ledger), Random(seed)  # noqa: S311  repeatable moments, not secrets
    crashes: list[Crash] = []
    ahead: list[_WorkerProcess] = []
    duration, baseline = 0.0, dict[str, int]()
    with TemporaryDirectory() as directory, TemporaryFile() as errors:
        try:
            for number in range(-1, kills + 1):
                while len(ahead) < min(kills + 1 - number, 1 + _AHEAD):
                    ahead.append(await _WorkerProcess.start(command, errors))
                path = Path(directory, "fault_free.db" if number < 0 else f"{number}.db")
                run = ScenarioRun(sandbox, prepare, path, options, baseline, make_ledger)
                await run.prepare_sandbox(fault_free=number < 0)
                moment = random.random() * duration if number > 0 else None
                spent = await ahead.pop(0).run(_settings(run, sandbox, options, ledger_function), moment)
                if number < 0:
                    baseline = dict(await run.count_effects())
                    continue
                duration = duration or spent
                when = "killed at its end" if moment is None else f"killed after {moment * 1e3:.1f} ms (seed {seed})"
                crashes.append(await run.recover_and_check(when))
        finally:
            with anyio.CancelScope(shield=True):
                for worker in ahead:
                    await worker.kill()
    return CrashReport(scenario.__name__, tuple(crashes))


class _WorkerProcess:
    """A worker process that waits for its settings, runs the scenario and is killed."""

    def __init__(self, process: anyio.abc.Process, errors: IO[bytes]) -> None:
        self._process = process
        self._errors = errors
        self._stdout = BufferedByteReceiveStream(cast("anyio.abc.ByteReceiveStream", process.stdout))

    @classmethod
    async def start(cls, command: Sequence[str], errors: IO[bytes]) -> Self:
        """Start the process, which imports its modules and waits."""
        search = os.pathsep.join(path or os.curdir for path in sys.path)
        environment = {**os.environ, "PYTHONPATH": search}
        return cls(await anyio.open_process(command, stdin=PIPE, stdout=PIPE, stderr=errors, env=environment), errors)

    async def run(self, settings: dict[str, Any], seconds: float | None) -> float:
        """Run the scenario, and kill the process.

        Returns:
            How many seconds it took.

        Raises:
            RuntimeError: the process ended by itself.
        """
        try:
            await cast("anyio.abc.ByteSendStream", self._process.stdin).send(json.dumps(settings).encode() + b"\n")
            await self._wait_for(b"begun")
            began = anyio.current_time()
            with anyio.move_on_after(seconds):
                await self._wait_for(b"ended")
            return anyio.current_time() - began
        except (anyio.BrokenResourceError, anyio.EndOfStream, anyio.IncompleteRead):
            self._errors.seek(0)
            output = self._errors.read().decode(errors="replace")
            raise RuntimeError(f"the scenario fails without being killed:\n{output}") from None
        finally:
            with anyio.CancelScope(shield=True):
                await self.kill()

    async def kill(self) -> None:
        """Kill the process if it still runs."""
        if self._process.returncode is None:
            self._process.kill()
        await self._process.aclose()

    async def _wait_for(self, word: bytes) -> None:
        while await self._stdout.receive_until(b"\n", _MAX_LINE_BYTES) != word:
            pass


def _location(argument: str, function: Any) -> list[str]:
    """Where another process finds a function: its file, module and name."""
    name, module = getattr(function, "__qualname__", "<none>"), getattr(function, "__module__", None)
    source = getsourcefile(function) if "<" not in name else None
    if source is None:
        raise ValueError(f"{argument}: other processes cannot load {function!r}: it must be a module-level function.")
    return [str(Path(source).resolve()), str(module), name]


def _settings(
    run: ScenarioRun, sandbox: Sandbox, options: dict[str, float], ledger_function: Sequence[str]
) -> dict[str, Any]:
    """The settings of a worker process.

    They are sent through a pipe, because they contain an API key.
    """
    names = ("base_url", "developer_id", "user_id", "user_api_key", "location_id")
    credentials = {name: getattr(sandbox, name) for name in names}
    files = {"ledger": str(run.ledger), "recording": str(run.recording)}
    functions = {"make_ledger": ledger_function}
    return {**credentials, **files, **functions, "options": options, "may_fail": run.prepare is not None}
