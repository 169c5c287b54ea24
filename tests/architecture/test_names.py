"""Names and folders that a stranger can read: standard words, verbs for functions, a dozen files for each folder."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from .source import PACKAGE, TESTS, ids, modules, name_of, tree

MOST_FILES = 13
"""In one folder, without its `__init__.py`."""

BY_NOUN = {"_wire", "models", "resources", "cli", "cli/migrate", "sandbox/handlers", "sandbox/schema"}
"""Folders with one file for each noun, command or kind of data, where more files are no more to learn."""

PARTICIPLES = re.compile(
    r"_*(?:[a-z_]*_)?(answered|asked|carried|created|fetched|found|handled|kept|looked_up|read_back|sent|settled|stored|taken|told|tried|written)"
)
METAPHORS = re.compile(
    r"(?i)(?<![a-z])(scribe|crew|courier|mishap|shelf|witness|deed|letters?|whom|whoever|nobody|somebody|anew|books?)(?![a-z])"
)
"""Words that no identifier of the package uses."""

SPELLED = {"__all__", "letters"}


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


def identifiers(path: Path) -> Iterator[str]:
    """The names that a module gives: of functions, classes, arguments, variables and attributes."""
    yield from name_of(path).split(".")
    for node in ast.walk(tree(path)):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name
            case ast.arg():
                yield node.arg
            case ast.Name(ctx=ast.Store()):
                yield node.id
            case ast.Attribute(ctx=ast.Store()):
                yield node.attr


@pytest.mark.parametrize("path", modules(), ids=ids)
def test_no_identifier_is_a_metaphor(path: Path) -> None:
    """Every name is the word that a reader of the field would search for."""
    words = (re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name) for name in identifiers(path))
    assert sorted({word for word in words if METAPHORS.search(word.replace("_", " "))} - SPELLED) == []


def test_the_tests_need_no_module_of_guards() -> None:
    """Rules of the architecture are in one folder."""
    assert not (TESTS / "test_guards.py").exists()
    assert PACKAGE.is_dir()
