"""Print the package's modules in import order: `python -m tests.docs.module_tree`."""

import ast
import graphlib
from collections.abc import Iterator
from pathlib import Path

from .documents import PACKAGE

SANDBOX = {f"sandbox/{path.parent.name}" for path in PACKAGE.glob("sandbox/*/__init__.py")}
FOLDERS_ONLY = SANDBOX | {"crash_testing", "cli"}
"""Folders that have one line in the tree, without their files."""

TYPE_ONLY = {("errors.py", "models")}
"""Imports for type checkers alone, which `tests/architecture` makes sure of."""

ABOVE = {"ledger/reconciliation"}
"""Folders that import more than the folder they are in; `tests/architecture` knows their place."""

WIDTH = 34
"""The column of the descriptions."""


def module_tree() -> str:
    """Return the tree with a line for each module: its name and the first line of its docstring."""
    return "\n".join(["gateway_async/", *tree_lines(PACKAGE, 1)])


def tree_lines(folder: Path, depth: int) -> Iterator[str]:
    """Yield the lines of a folder's content; each entry imports only from entries above it."""
    for entry in import_order(folder):
        name = f"{'  ' * depth}{entry.name}{'/' if entry.is_dir() else ''}"
        yield f"{name:<{WIDTH - 1}} {description(entry)}"
        if entry.is_dir() and relative(entry) not in FOLDERS_ONLY:
            yield from tree_lines(entry, depth + 1)


def import_order(folder: Path) -> list[Path]:
    """Sort the entries of a folder by their imports, then by name; raise `CycleError` if there is no such order."""
    graph = {entry: set(imported_entries(entry, folder)) - {entry} for entry in entries(folder)}
    sorter = graphlib.TopologicalSorter(graph)
    sorter.prepare()
    order = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready(), key=lambda entry: entry.name)
        order += ready
        sorter.done(*ready)
    return order


def entries(folder: Path) -> list[Path]:
    """List the modules and packages in a folder; only the package itself shows its `__init__.py`."""
    return [
        path
        for path in folder.iterdir()
        if (path.suffix == ".py" and (path.name != "__init__.py" or folder == PACKAGE))
        or (path / "__init__.py").is_file()
    ]


def imported_entries(entry: Path, folder: Path) -> Iterator[Path]:
    """Yield the entries of the same folder from which an entry imports."""
    for path in sorted(entry.rglob("*.py")) if entry.is_dir() else [entry]:
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for node in nodes if folder == path.parent or relative(path.parent) not in ABOVE else ():
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "gateway_async":
                names = str(node.module).split(".")[1:]
                found = (entry_of([*names, alias.name], folder) for alias in node.names)
                yield from (other for other in found if other and (relative(path), relative(other)) not in TYPE_ONLY)


def entry_of(names: list[str], folder: Path) -> Path | None:
    """Return the entry of a folder to which an imported name belongs, if it is in this folder."""
    within = [] if folder == PACKAGE else relative(folder).split("/")
    if names[: len(within)] != within:
        return None
    path = folder / names[len(within)]
    candidates = [path, path.with_suffix(".py"), *([PACKAGE / "__init__.py"] if folder == PACKAGE else [])]
    return next((candidate for candidate in candidates if candidate.exists()), None)


def description(entry: Path) -> str:
    """Return the first line of a module's docstring, without its full stop."""
    path = entry / "__init__.py" if entry.is_dir() else entry
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return docstring.partition("\n")[0].removesuffix(".")


def relative(path: Path) -> str:
    """Return a path within the package."""
    return path.relative_to(PACKAGE).as_posix()


if __name__ == "__main__":
    print(module_tree())  # noqa: T201
