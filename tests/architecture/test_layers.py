"""Imports point one way, and each library has its place."""

import ast
import graphlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from .source import (
    HTTPX_MAY_STAND_IN,
    IMPURE,
    LAYERS,
    PACKAGE,
    ROOMS,
    TENACITY_MAY_STAND_IN,
    TYPE_ONLY,
    ids,
    imported,
    layer,
    modules,
    name_of,
    room,
    tree,
)


def test_every_module_has_its_layer() -> None:
    """Whatever is new in the package has its place in the order."""
    assert {layer(name_of(path)) for path in modules()} <= set(LAYERS)


@pytest.mark.parametrize("path", modules(), ids=ids)
def test_imports_point_down(path: Path) -> None:
    """A module imports only from its own layer and those before it."""
    own = layer(name_of(path))
    ours = {module for module in imported(tree(path)) if module.split(".")[0] == "gateway_async"}
    if own == "sandbox":  # the one way up has a test of its own
        ours = {module for module in ours if layer(module) != "__init__"}
    above = {module for module in ours if LAYERS.index(layer(module)) > LAYERS.index(own)}
    assert above == {upper for lower, upper in TYPE_ONLY if lower == name_of(path)}


@pytest.mark.parametrize(("lower", "upper"), sorted(TYPE_ONLY))
def test_what_is_imported_for_its_type_is_not_loaded(lower: str, upper: str) -> None:
    """An import upwards is for type checkers alone."""
    run = f"import sys, {lower}; sys.exit({upper!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", run], check=False).returncode == 0  # noqa: S603  our own program


def test_no_module_imports_itself_by_detours() -> None:
    """There is an order in which every module of the client comes after all that it imports."""
    graph = {
        name_of(path): {module for module in imported(tree(path)) if module.startswith("gateway_async.")}
        for path in modules()
        if layer(name_of(path)) not in ("sandbox", "cli")
    }
    order = list(graphlib.TopologicalSorter(graph).static_order())
    assert order.index("gateway_async.errors") < order.index("gateway_async.client")


def test_every_module_of_the_sandbox_has_its_room() -> None:
    """Each room has its place in the order, and each place its room."""
    assert {room(name_of(path)) for path in modules() if path.parts[0] == "sandbox"} == set(ROOMS)


@pytest.mark.parametrize("path", [path for path in modules() if path.parts[0] == "sandbox"], ids=ids)
def test_the_rooms_of_the_sandbox_build_on_one_another(path: Path) -> None:
    """A module of the sandbox imports only from its own room and those before it, for types too."""
    own = room(name_of(path))
    ours = {module for module in imported(tree(path)) if module.startswith("gateway_async.sandbox")}
    above = {module for module in ours if ROOMS.index(room(module)) > ROOMS.index(own)}
    assert above == set()


@pytest.mark.parametrize("path", [path for path in modules() if path.parts[0] == "_wire"], ids=ids)
def test_what_goes_over_the_line_is_pure(path: Path) -> None:
    """`_wire` has no I/O, no clock, no chance and no await."""
    assert {module.split(".")[0] for module in imported(tree(path))} & IMPURE == set()
    waiting = ast.AsyncFunctionDef | ast.AsyncFor | ast.AsyncWith | ast.Await
    assert [node.lineno for node in ast.walk(tree(path)) if isinstance(node, waiting)] == []
    text = (PACKAGE / path).read_text()
    assert re.findall(r"\b(?:now|today|open|print|input)\(", text) == []


@pytest.mark.parametrize(
    ("library", "places"),
    [("httpx", HTTPX_MAY_STAND_IN), ("httpcore", HTTPX_MAY_STAND_IN), ("tenacity", TENACITY_MAY_STAND_IN)],
)
def test_a_library_stands_behind_its_files(library: str, places: re.Pattern[str]) -> None:
    """The HTTP library is imported by `_net`, the client and the sandbox's couriers, tenacity by the sender alone."""
    users = {path.as_posix() for path in modules() if any(m.split(".")[0] == library for m in imported(tree(path)))}
    assert {path for path in users if not places.fullmatch(path)} == set()


@pytest.mark.parametrize("path", [path for path in modules() if path.parts[0] == "sandbox"], ids=ids)
def test_the_sandbox_stands_alone(path: Path) -> None:
    """It imports nothing of the client, but for handing one out in `Sandbox.gateway`, and for the type of that."""
    handed_out = {
        child
        for node in ast.walk(tree(path))
        if (isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == "gateway")
        or (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
        for child in ast.walk(node)
    }
    elsewhere = ast.Module([node for node in ast.walk(tree(path)) if node not in handed_out], [])
    statements = [node for node in elsewhere.body if isinstance(node, ast.Import | ast.ImportFrom)]
    used = {module for statement in statements for module in imported(statement)}
    assert {module for module in used if module.startswith("gateway_async") and layer(module) != "sandbox"} == set()
