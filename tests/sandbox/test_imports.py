"""Imports of the sandbox: nothing of the client, and itself in one direction."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import gateway_async.sandbox

PACKAGE = "gateway_async.sandbox"
FOLDER = Path(gateway_async.sandbox.__file__).parent
MODULES = {
    ".".join((PACKAGE, *path.relative_to(FOLDER).with_suffix("").parts)).removesuffix(".__init__"): path
    for path in FOLDER.rglob("*.py")
}


def imported(path: Path) -> Iterator[str]:
    """Yield the modules of the package that a file imports."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            assert node.module is not None
            below = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from (name if name in MODULES else node.module for name in below)


def test_it_imports_nothing_of_the_client() -> None:
    """The two cannot share a mistake: no import of the package but at `Sandbox.gateway`."""
    names = {name for path in MODULES.values() for name in imported(path) if name.split(".")[0] == "gateway_async"}
    assert {name for name in names if not name.startswith(PACKAGE)} == {"gateway_async", "gateway_async.client"}


def loaded_by(module: str) -> set[str]:
    """Return the modules of the package that importing one of them loads."""
    code = f"import sys, {module}; print(*(n for n in sys.modules if n.startswith('gateway_async')))"
    command = [sys.executable, "-c", code]
    return {*subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()}  # noqa: S603  # our own


def test_it_loads_nothing_of_the_client() -> None:
    """Importing the sandbox loads no module of the client beyond the index of the package."""
    loaded = {name for name in loaded_by(PACKAGE) if not name.startswith(PACKAGE)}
    assert loaded == loaded_by("gateway_async") <= {"gateway_async", "gateway_async.resources"}


def test_its_imports_run_one_way() -> None:
    """There is an order in which every module comes after all that it imports, for types too."""
    graph = {name: {one for one in imported(path) if one in MODULES} for name, path in MODULES.items()}
    order = list(TopologicalSorter(graph).static_order())
    assert order.index(f"{PACKAGE}.schema.fields") < order.index(f"{PACKAGE}.runtime.gateway") < order.index(PACKAGE)
