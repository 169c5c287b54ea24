"""Run conditions, each in a process of its own, and record each run as a line of JSON."""

import json
import os
import platform
import resource
import time
import traceback
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from itertools import chain
from pathlib import Path
from threading import Timer
from typing import Final

import attrs
import pytest

import gateway_async
from tests.reliability.condition import Condition, Result
from tests.reliability.conditions import CONDITIONS
from tests.support.processes import start_function
from tests.support.server_programs import find_program

RESULTS: Final = Path(__file__).with_name("results") / "runs.jsonl"

_LONGEST: Final = 2 * 3600.0
"""Seconds after which a run has failed, so that one that hangs does not stop the others."""

_KIB_PER_MIB: Final = 1024


@attrs.frozen
class Job:
    """A condition to run.

    Attributes:
        condition: the condition.
        count: how often it is applied.
        without: the protection that is switched off; "" for none.
    """

    condition: Condition
    count: int
    without: str = ""


@attrs.frozen(kw_only=True)
class Run:
    """The result of one run of a condition, with the facts of the machine.

    Attributes:
        key: the key of the condition.
        planned: how often it was to be applied.
        without: the protection that was switched off; "" for none.
        result: what it showed.
        seconds: how long it took.
        peak_mib: the peak memory of its process, without those it started.
        date: the day on which it ended, in UTC.
        version: the version of the package.
        machine: the Python, the system and the number of processor cores.
        code: a digest of the package and of these tests. A run of other code is not taken over.
    """

    key: str
    planned: int
    without: str
    result: Result
    seconds: float
    peak_mib: int
    date: str
    version: str
    machine: str
    code: str

    @property
    def is_right(self) -> bool:
        """Return whether the row passed, or failed because its protection was switched off.

        A crash, which applied nothing, proves nothing about a protection.
        """
        return (self.result.count > 0 and not self.result.passed) if self.without else self.result.passed


def whole_jobs(conditions: Iterable[Condition], share: float) -> Iterator[Job]:
    """Yield the jobs of a whole run, or of a share of it."""
    for condition in conditions:
        yield Job(condition, max(condition.short_count, round(condition.count * share)))


def short_jobs(conditions: Iterable[Condition], *, protection: str | None = None) -> Iterator[Job]:
    """Yield the jobs of a short run.

    With `protection`, yield a job for each condition that has it, with the protection switched off. "all" means each
    protection of each condition.
    """
    for condition in conditions:
        if protection is None:
            yield Job(condition, condition.short_count)
            continue
        for name in condition.protections:
            if protection in (name, "all"):
                yield Job(condition, condition.short_count, name)


def missing_needs(condition: Condition) -> list[str]:
    """Return what a condition needs and this machine lacks: environment variables and programs."""
    return [name for name in condition.needs if not (os.environ.get(name) or find_program(name))]


def skip_if_impossible(condition: Condition) -> None:
    """Skip a test whose condition needs a server that is missing."""
    if missing := missing_needs(condition):
        pytest.skip(f"needs {', '.join(missing)}")


def check_row(condition: Condition) -> None:
    """Run a condition a few times, as the test suite does, and check that it passes."""
    skip_if_impossible(condition)
    result = condition.run(condition.short_count)
    assert result.passed, result
    assert result.count > 0


def run_job(job: Job) -> Run:
    """Run a condition in a process of its own, so that a crash or a leak does not affect the next one."""
    started = time.monotonic()
    with start_function(apply_and_print, job.condition.key, job.count, job.without, stderr=None) as process:
        timer = Timer(_LONGEST, process.kill)
        timer.start()
        printed = process.collect(timeout=None)
        timer.cancel()
    if printed.stdout:
        report = json.loads(printed.stdout.splitlines()[-1])
        result, peak_mib = Result(**report["result"]), report["peak_mib"]
    elif time.monotonic() - started > _LONGEST:
        result, peak_mib = _failure(f"it did not end within {_LONGEST:g} s"), 0
    else:
        result, peak_mib = _failure(f"its process ended with exit status {printed.returncode}"), 0
    return _describe(job, result, time.monotonic() - started, peak_mib)


def _failure(problem: str) -> Result:
    return Result(count=0, problems=(problem,))


def apply_and_print(key: str, count: int, without: str) -> None:
    """Run a condition in this process, and print its result."""
    condition = next(each for each in CONDITIONS if each.key == key)
    protection = condition.protections[without]() if without else nullcontext()
    try:
        with protection:
            result = condition.run(count)
    except Exception as error:  # noqa: BLE001  the row has failed, and the others go on
        traceback.print_exc()
        result = _failure(f"{type(error).__name__}: {error}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // _KIB_PER_MIB
    print(json.dumps({"result": attrs.asdict(result), "peak_mib": peak}))  # noqa: T201


def _describe(job: Job, result: Result, seconds: float, peak_mib: int) -> Run:
    return Run(
        key=job.condition.key,
        planned=job.count,
        without=job.without,
        result=result,
        seconds=round(seconds, 1),
        peak_mib=peak_mib,
        date=f"{datetime.now(UTC):%Y-%m-%d}",
        version=gateway_async.__version__,
        machine=f"Python {platform.python_version()}, {platform.system()}, {os.cpu_count()} cores",
        code=code_digest(),
    )


@cache
def code_digest() -> str:
    """Return a digest of the package and of the code of the rows."""
    folders = Path(gateway_async.__file__).parent, Path(__file__).parent
    digest = sha256()
    for path in chain.from_iterable(sorted(folder.rglob("*.py")) for folder in folders):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def record(run: Run) -> None:
    """Append a run to the results."""
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("a", encoding="utf-8") as file:
        file.write(json.dumps(attrs.asdict(run)) + "\n")


def read_runs() -> list[Run]:
    """Read the recorded runs, the oldest first."""
    if not RESULTS.exists():
        return []
    lines = RESULTS.read_text(encoding="utf-8").splitlines()
    fields = [json.loads(line) for line in lines]
    return [Run(**(each | {"result": Result(**each["result"])})) for each in fields]
