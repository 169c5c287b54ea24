"""The time of `from gateway_async import AsyncGateway` in a fresh interpreter, beside `import httpx` and others.

    pip install -e '.[benchmarks]'
    python benchmarks/imports.py --rounds 5

Each interpreter sees only one distribution and what it requires without extras, because httpx for example imports more
if it finds more. The processes of all alternate, and the time of an empty interpreter is subtracted.
"""

import importlib.metadata
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from comparison import Goal, Row, beside, run
from packaging.requirements import Requirement

ROOT: Final = Path(__file__).parents[1]
OURS: Final = "gateway-async"
STATEMENTS: Final = {
    OURS: "from gateway_async import AsyncGateway",
    "httpx": "import httpx",
    "aiohttp": "import aiohttp",
    "stripe": "import stripe",
    "openai": "import openai",
}
EMPTY: Final = "pass"
GOALS: Final = {"httpx": Goal(1.3), "stripe": Goal(0.7)}
RUNS: Final = 3
"""How often each process is started in a round; the fastest is taken, because other load only slows it down."""


def distributions(name: str) -> set[str]:
    """Return a distribution and all that it requires, without extras."""
    found: set[str] = set()
    missing = {name}
    while missing:
        current = missing.pop()
        found.add(current)
        for line in importlib.metadata.requires(current) or ():
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                missing |= {requirement.name} - found
    return found


def link(name: str, folder: Path) -> Path:
    """Link the packages of a distribution and its requirements into a folder."""
    folder.mkdir()
    for each in distributions(name):
        for package in packages(each):
            target = folder / package.name
            if not target.exists() and package.exists():
                target.symlink_to(package)
    return folder


def packages(distribution: str) -> Iterator[Path]:
    """Yield the packages and modules of an installed distribution."""
    if distribution == OURS:
        yield ROOT / "gateway_async"
    for file in importlib.metadata.files(distribution) or ():
        top = Path(file.parts[0])
        if top.name != ".." and top.suffix != ".pth" and top.name != "gateway_async":
            yield Path(str(file.locate())).parents[len(file.parts) - 1] / top


def cpu_of_children() -> float:
    """Return the CPU time of all child processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def seconds(statement: str, folder: Path | None) -> float:
    """Return the CPU time of an interpreter that executes one statement."""
    path = {"PYTHONPATH": str(folder)} if folder else {}
    spent = []
    for _ in range(RUNS):
        before = cpu_of_children()
        subprocess.run([sys.executable, "-S", "-c", statement], env=path, check=True)
        spent.append(cpu_of_children() - before)
    return min(spent)


def main(rounds: int = 7) -> list[Row]:
    """Measure every import in every round; return the comparisons with ours."""
    times: dict[str, list[float]] = {name: [] for name in STATEMENTS}
    with tempfile.TemporaryDirectory() as root:
        folders = {name: link(name, Path(root, name)) for name in STATEMENTS}
        for name, statement in STATEMENTS.items():
            seconds(statement, folders[name])  # compiles what has no bytecode yet
        for _ in range(rounds):
            empty = seconds(EMPTY, None)
            for name, statement in STATEMENTS.items():
                times[name].append((seconds(statement, folders[name]) - empty) * 1000)
    return [
        beside("import AsyncGateway", "ms", times[OURS], f"import {name}", times[name], GOALS.get(name))
        for name in STATEMENTS
        if name != OURS
    ]


if __name__ == "__main__":
    run(main)
