"""Print how large the code is, beside its limits and goals: `python -m tests.architecture.sizes`.

It fails if a size exceeds its limit. A change that makes something smaller lowers the limit here.
"""

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import attrs

from .source import PACKAGE, TESTS, modules
from .test_imports import MOST, inside_functions
from .test_names import SAME_MEANING, names_defined_twice

CORE: Final = ("_execution", "_wire", "_http", "resources")
"""The folders of the SDK's core; the modules of the root belong to it too."""


@attrs.frozen
class Limit:
    """The largest allowed size, and the goal."""

    limit: int
    goal: int


LIMITS: Final[Mapping[str, Limit]] = {
    "lines of the core": Limit(16_617, 14_000),
    "files of the core": Limit(85, 85),
    "lines of the package": Limit(56_869, 50_000),
    "files of the package": Limit(334, 340),
    "lines of the tests": Limit(70_230, 55_000),
    "files of the tests": Limit(385, 400),
    "imports in functions": Limit(MOST, 30),
    "names with two meanings": Limit(0, 0),
}


def sizes() -> Mapping[str, int]:
    """Measure everything that has a limit."""
    package = [PACKAGE / path for path in modules()]
    core = [PACKAGE / path for path in modules() if path.parts[0] in CORE or _is_root(path)]
    tests = [*TESTS.rglob("*.py")]
    excused = {name for names in SAME_MEANING.values() for name in names.split()}
    return {
        **_lines_and_files("the core", core),
        **_lines_and_files("the package", package),
        **_lines_and_files("the tests", tests),
        "imports in functions": len({statement for path in modules() for statement in inside_functions(path)}),
        "names with two meanings": len(names_defined_twice().keys() - excused),
    }


def _is_root(path: Path) -> bool:
    return len(path.parts) == 1 and path.name != "upgrade.py"  # a command, which the SDK does not import


def _lines_and_files(name: str, files: Iterable[Path]) -> Mapping[str, int]:
    lines = [len(path.read_bytes().splitlines()) for path in files]
    return {f"lines of {name}": sum(lines), f"files of {name}": len(lines)}


def main() -> int:
    """Print the table; return how many sizes exceed their limits."""
    print(f"{'':28}{'now':>8}{'limit':>8}{'goal':>8}")  # noqa: T201
    too_large = 0
    for name, size in sizes().items():
        limit, goal = LIMITS[name].limit, LIMITS[name].goal
        too_large += size > limit
        print(f"{name:28}{size:8,}{limit:8,}{goal:8,}", "TOO LARGE" * (size > limit))  # noqa: T201
    return too_large


if __name__ == "__main__":
    sys.exit(main())
