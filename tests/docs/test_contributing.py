"""CONTRIBUTING shows the code as it is: its tree, its arrows, its table, its recipe."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from types import ModuleType

import pytest

from gateway_async._wire.retry_policy import print_table
from gateway_async.models.contacts import Contact, ContactCreate

from .documents import PACKAGE, ROOT, blocks, read

ROOMS = tuple(f"sandbox/{path.parent.name}/" for path in sorted((PACKAGE / "sandbox").glob("*/__init__.py")))
ALONE = (*ROOMS, "crash_testing/", "cli/")
"""Folders that the tree names without their files: the rooms of the sandbox, and two more."""

TYPE_ONLY = {("errors.py", "models/record.py")}
"""Imported for type checkers alone, which `tests/architecture` makes sure of."""


def drawn() -> list[str]:
    """The package's files in the drawn tree, in its order; a folder stands for its `__init__.py`."""
    tree = next(block.text for block in blocks("CONTRIBUTING.md", "text") if block.text.startswith("gateway_async/"))
    folders, files = {2: ""}, []
    for line in tree.partition("\ntests/")[0].splitlines()[1:]:
        name, indent = line.split()[0], len(line) - len(line.lstrip())
        files.append(folders[indent] + name)
        if name.endswith("/"):
            folders[indent + 2] = files[-1]
    return files


def written() -> set[str]:
    """The package's files on disk, named as the tree names them."""
    paths = (path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))
    shown = {re.sub(r"(?<=/)__init__\.py$", "", path) for path in paths}
    return {path for path in shown if not path.startswith(ALONE)} | set(ALONE)


def imported(file: str) -> Iterator[str]:
    """What a line of the tree imports from the package, as the tree names it."""
    for path in sources(file):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "gateway_async":
                yield named(str(node.module).split(".")[1:])


def sources(file: str) -> list[Path]:
    """The files on disk that a line of the tree stands for."""
    if file in ALONE:
        return [*(PACKAGE / file).rglob("*.py")]
    return [PACKAGE / file / ("__init__.py" if file.endswith("/") else "")]


def named(parts: list[str]) -> str:
    """A module as the tree names it."""
    if not parts:
        return "__init__.py"
    for folder in (f"{parts[0]}/", "/".join(parts[:2]) + "/"):
        if folder in ALONE:
            return folder
    path = PurePosixPath(*parts)
    return f"{path}/" if (PACKAGE / path).is_dir() else f"{path}.py"


def test_the_tree_shows_every_file() -> None:
    """Each module of the package has its line, and each line its module."""
    assert set(drawn()) ^ written() == set()


def test_the_arrows_point_up() -> None:
    """A file imports only from lines above its own; a folder's index may name what is in it."""
    order = {file: place for place, file in enumerate(drawn())}
    wrong = [
        f"{file} imports {other}"
        for file in order
        for other in imported(file)
        if order.get(other, 0) >= order[file] and not (file.endswith("/") and other.startswith(file))
        if (file, other) not in TYPE_ONLY
    ]
    assert wrong == []


def test_the_decision_table_is_the_one_that_decides() -> None:
    """The money rules are printed as the code has them."""
    assert f"\n{print_table()}\n" in read("CONTRIBUTING.md")


def test_the_recipe_for_an_endpoint_works(monkeypatch: pytest.MonkeyPatch) -> None:
    """The noun and the resource of the recipe can be made as they are printed, given a model."""
    model = ModuleType("gateway_async.models.coupons")
    vars(model).update(Coupon=Contact, CouponCreate=ContactCreate)
    monkeypatch.setitem(sys.modules, model.__name__, model)
    (recipe,) = blocks("CONTRIBUTING.md", "python")
    namespace = {"__name__": "gateway_async.resources.coupons"}
    exec(recipe.placed, namespace)  # noqa: S102  our own document
    assert {"COUPON", "Coupons"} <= namespace.keys()


def test_the_sessions_it_names_exist() -> None:
    """Every `nox -s` of the document is a session of the noxfile."""
    sessions = set(re.findall(r"^def (\w+)\(session", (ROOT / "noxfile.py").read_text(encoding="utf-8"), re.MULTILINE))
    named_sessions = set(re.findall(r"nox -s (\w+)", read("CONTRIBUTING.md")))
    assert named_sessions <= sessions
