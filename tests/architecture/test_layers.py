"""Imports point one way, and each library is used by its own modules only."""

import ast
import graphlib
import re
from pathlib import Path

import pytest

from .source import (
    HTTPX_USERS,
    IMPURE,
    LAYERS,
    PACKAGE,
    SANDBOX_LAYERS,
    TENACITY_USERS,
    TYPE_ONLY,
    imported,
    layer,
    modules,
    name_of,
    tree,
)

SANDBOX = [path for path in modules() if path.parts[0] == "sandbox"]


def test_each_module_and_folder_has_a_layer() -> None:
    assert {layer(name_of(path)) for path in modules()} <= set(LAYERS)


def test_modules_import_only_from_lower_layers() -> None:
    assert {(name_of(path), upper) for path in modules() for upper in imported_from_above(path)} == TYPE_ONLY


def imported_from_above(path: Path) -> set[str]:
    """Return the modules that a module imports from layers after its own."""
    own = layer(name_of(path))
    ours = {module for module in imported(tree(path)) if module.split(".")[0] == "gateway_async"}
    if own == "sandbox":  # the one way up has a test of its own
        ours = {module for module in ours if layer(module) != "__init__"}
    return {module for module in ours if LAYERS.index(layer(module)) > LAYERS.index(own)}


@pytest.mark.parametrize(("lower", "upper"), sorted(TYPE_ONLY))
def test_an_upward_import_is_for_type_checkers_alone(lower: str, upper: str) -> None:
    path = next(path for path in modules() if name_of(path) == lower)
    loaded = [node for node in tree(path).body if not ast.unparse(node).startswith("if TYPE_CHECKING:")]
    assert [node.lineno for node in loaded if upper in imported(node)] == []


def test_no_modules_import_each_other() -> None:
    graph = {
        name_of(path): {module for module in imported(tree(path)) if module.startswith("gateway_async.")}
        for path in modules()
        if layer(name_of(path)) != "cli"
    }
    order = list(graphlib.TopologicalSorter(graph).static_order())
    assert order.index("gateway_async.errors") < order.index("gateway_async.client")


def test_the_order_of_the_sandbox_lists_its_modules_and_folders() -> None:
    assert {layer(name_of(path), 2) for path in SANDBOX} == set(SANDBOX_LAYERS)


def test_sandbox_imports() -> None:
    """A module of the sandbox imports only from its own layer and those before it, for types too."""
    upward = {
        (name_of(path), module)
        for path in SANDBOX
        for module in imported(tree(path))
        if module.startswith("gateway_async.sandbox")
        and SANDBOX_LAYERS.index(layer(module, 2)) > SANDBOX_LAYERS.index(layer(name_of(path), 2))
    }
    assert upward == set()


def test_wire() -> None:
    """`_wire` has no I/O, no clock, no randomness and no await."""
    waiting = ast.AsyncFunctionDef | ast.AsyncFor | ast.AsyncWith | ast.Await
    for path in (path for path in modules() if path.parts[0] == "_wire"):
        assert {module.split(".")[0] for module in imported(tree(path))} & IMPURE == set(), path
        assert [node.lineno for node in ast.walk(tree(path)) if isinstance(node, waiting)] == [], path
        text = (PACKAGE / path).read_text()
        assert re.findall(r"\b(?:now|today|open|print|input)\(", text) == [], path


@pytest.mark.parametrize(("library", "allowed"), [("httpx", HTTPX_USERS), ("tenacity", TENACITY_USERS)])
def test_libraries(library: str, allowed: re.Pattern[str]) -> None:
    """HTTP libraries are for `_http`, the HTTP and webhook clients, and tenacity is for the repeats of a call."""
    users = {path.as_posix() for path in modules() if any(m.split(".")[0] == library for m in imported(tree(path)))}
    assert {path for path in users if not allowed.fullmatch(path)} == set()


def test_sandbox() -> None:
    """The two cannot share a mistake: only `sandbox.py` imports the client, which `Sandbox.gateway` returns."""
    handed_out = {f"gateway_async.{module}" for module in ("client", "credentials", "errors")}
    # How a file is opened, and who may read it, has nothing to do with the gateway.
    storage = {f"gateway_async._storage.{module}" for module in ("private_file", "sqlite")}
    allowed = {"sandbox/sandbox.py": handed_out, "sandbox/runtime/store.py": storage}
    found = {
        path.as_posix(): {module for module in ours if layer(module) != "sandbox"}
        for path in SANDBOX
        if (ours := {module for module in imported(tree(path)) if module.startswith("gateway_async")})
    }
    assert {path: foreign for path, foreign in found.items() if foreign} == allowed
