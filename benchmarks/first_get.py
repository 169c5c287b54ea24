"""The CPU time of the first GET of a process, beside httpx and aiohttp: the import, the client, and one call.

    pip install -e '.[benchmarks]'
    python benchmarks/first_get.py --rounds 5

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
from server import CONTACT, HEADERS, READ, serving

ROOT: Final = Path(__file__).parents[1]
OURS: Final = "gateway-async"
PROGRAMS: Final = {
    OURS: f"""
import asyncio, sys
from gateway_async import AsyncGateway, UserApiKey

async def main():
    key = UserApiKey({HEADERS["user-id"]!r}, {HEADERS["user-api-key"]!r})
    async with AsyncGateway(sys.argv[1], developer_id={HEADERS["developer-id"]!r}, credentials=key) as gateway:
        await gateway.contacts.get({CONTACT["id"]!r})

asyncio.run(main())
""",
    "httpx": f"""
import asyncio, sys
import httpx

async def main():
    async with httpx.AsyncClient(base_url=sys.argv[1], headers={HEADERS}, trust_env=False) as client:
        (await client.get({READ!r})).json()

asyncio.run(main())
""",
    "aiohttp": f"""
import asyncio, sys
import aiohttp

async def main():
    async with aiohttp.ClientSession(sys.argv[1], headers={HEADERS}) as session, session.get({READ!r}) as response:
        await response.json()

asyncio.run(main())
""",
}
"""Distribution → a program that reads one contact."""

EMPTY: Final = "pass"
GOALS: Final = {"httpx": Goal(1.7), "aiohttp": Goal(2)}
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


def seconds(program: str, url: str, folder: Path | None) -> float:
    """Return the CPU time of an interpreter that runs a program."""
    path = {"PYTHONPATH": str(folder)} if folder else {}
    spent = []
    for _ in range(RUNS):
        before = cpu_of_children()
        subprocess.run([sys.executable, "-S", "-c", program, url], env=path, check=True)
        spent.append(cpu_of_children() - before)
    return min(spent)


def main(rounds: int = 7) -> list[Row]:
    """Measure the first GET of every client in every round; return the comparisons with ours."""
    times: dict[str, list[float]] = {name: [] for name in PROGRAMS}
    with tempfile.TemporaryDirectory() as root, serving() as url:
        folders = {name: link(name, Path(root, name)) for name in PROGRAMS}
        for name, program in PROGRAMS.items():
            seconds(program, url, folders[name])  # compiles what has no bytecode yet
        for _ in range(rounds):
            empty = seconds(EMPTY, url, None)
            for name, program in PROGRAMS.items():
                times[name].append((seconds(program, url, folders[name]) - empty) * 1000)
    return [
        beside("first GET of a process", "ms", times[OURS], name, times[name], GOALS[name])
        for name in PROGRAMS
        if name != OURS
    ]


if __name__ == "__main__":
    run(main)
