"""Names and folders that a stranger can read: standard words, verbs for functions, a dozen files for each folder."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from .source import ids, modules, tree

MOST_FILES = 13
"""In one folder, without its `__init__.py`."""

BY_NOUN = {"_wire", "models", "resources", "cli", "cli/migrate", "sandbox/handlers", "sandbox/schema"}
"""Folders with one file for each noun, command or kind of data, where more files are no more to learn."""

PARTICIPLES = re.compile(
    r"_*(?:[a-z_]*_)?(answered|asked|carried|created|fetched|found|handled|kept|looked_up|read_back|sent|settled|stored|taken|told|tried|written)"
)


def folders() -> list[Path]:
    """Every folder of the package, as a path within it."""
    return sorted({path.parent for path in modules()})


@pytest.mark.parametrize("folder", folders(), ids=lambda folder: folder.as_posix())
def test_a_folder_has_a_dozen_files(folder: Path) -> None:
    """A reader sees at a glance what a folder is for."""
    files = [path for path in modules() if path.parent == folder and path.name != "__init__.py"]
    assert len(files) <= MOST_FILES or folder.as_posix() in BY_NOUN


def test_no_public_class_name_stands_twice() -> None:
    """A class name means one thing in the whole package; the sandbox imports nothing of it, and is counted alone."""
    names = Counter(
        (path.parts[0] == "sandbox", node.name)
        for path in modules()
        for node in tree(path).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
        if path.parent.name != "state_machines"  # each module is one machine, with a `State` and a `Trigger`
    )
    assert sorted(name for (_, name), times in names.items() if times > 1) == []


def functions(path: Path) -> Iterator[ast.AsyncFunctionDef]:
    """The async functions and methods of a module."""
    return (node for node in ast.walk(tree(path)) if isinstance(node, ast.AsyncFunctionDef))


@pytest.mark.parametrize("path", modules(), ids=ids)
def test_no_async_function_is_called_by_a_participle(path: Path) -> None:
    """A function that does something is named for it: `find`, not `found`."""
    assert [node.name for node in functions(path) if PARTICIPLES.fullmatch(node.name)] == []
