"""Importing the package loads only what is used."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import gateway_async
import gateway_async.postbacks

from .source import PACKAGE


def loaded_by(statement: str) -> set[str]:
    """Return the top-level packages that a fresh interpreter has loaded after `statement`."""
    program = f"import sys; {statement}; print(' '.join({{name.split('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)  # noqa: S603  our own interpreter
    return set(done.stdout.split())


DEPENDENCIES = {"anyio", "attr", "cattrs", "httpcore", "httpx", "msgspec", "tenacity"}
EXTRAS = {"starlette", "uvicorn", "typer", "pytest", "sqlite3"}
NETWORK = {"httpx", "httpcore", "httptools", "anyio", "tenacity", "cattrs", "msgspec"}
HTTP = {"aiohttp", "asyncpg", "fastapi", "httpcore", "httptools", "httpx", "starlette", "tenacity", "uvicorn"}
VALUES = ["NotFoundError", "ApiId", "TransactionCreate", "Transaction", "UserApiKey", "TimeRange"]
UNUSED = {
    "import gateway_async": DEPENDENCIES,
    **{f"from gateway_async import {name}": NETWORK for name in VALUES},
    "from gateway_async import AsyncGateway": EXTRAS,
    **{f"from gateway_async.postbacks import {name}": HTTP for name in gateway_async.postbacks.__all__},
}
"""Imports, and the packages that they do not need: values need no network, a client no sandbox, a receiver no HTTP."""


@pytest.mark.parametrize("statement", UNUSED)
def test_an_import_loads_nothing_unused(statement: str) -> None:
    """A fresh interpreter has not loaded the packages that an import does not need."""
    assert loaded_by(statement) & UNUSED[statement] == set()


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("__init__.py")), ids=lambda path: path.parent.name)
def test_type_checkers_see_no_name_that_does_not_exist(path: Path) -> None:
    """The lazy index is hidden from type checkers, which would accept any name of it as `Any`."""
    module = ast.parse(path.read_text())
    assert "__getattr__" not in {node.name for node in module.body if isinstance(node, ast.FunctionDef)}


def test_a_name_that_does_not_exist() -> None:
    """An unknown name of the lazy index raises the usual error."""
    with pytest.raises(AttributeError, match="module 'gateway_async' has no attribute 'SyncGateway'"):
        gateway_async.SyncGateway  # type: ignore[attr-defined]  # noqa: B018  the access is the test
    assert set(import_module("gateway_async").__all__) <= set(dir(gateway_async))
