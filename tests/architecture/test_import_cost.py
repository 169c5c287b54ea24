"""Importing the package loads only what is used."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import gateway_async
import gateway_async.postbacks

from .source import (
    PACKAGE,
)


def loaded_by(statement: str) -> set[str]:
    """Return the top-level packages that a fresh interpreter has loaded after `statement`."""
    program = f"import sys; {statement}; print(' '.join({{name.split('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)  # noqa: S603  our own interpreter
    return set(done.stdout.split())


def test_importing_the_package_loads_nothing() -> None:
    """Importing the bare package loads neither httpx nor any other dependency."""
    dependencies = {"anyio", "attr", "cattrs", "httpcore", "httpx", "msgspec", "tenacity"}
    assert loaded_by("import gateway_async") & dependencies == set()


@pytest.mark.parametrize(
    "name", ["NotFoundError", "ApiId", "TransactionCreate", "Transaction", "UserApiKey", "TimeRange"]
)
def test_a_value_does_not_load_the_network(name: str) -> None:
    """Errors, models and credentials can be used without httpx and without the converter."""
    network = {"httpx", "httpcore", "httptools", "anyio", "tenacity", "cattrs", "msgspec"}
    assert loaded_by(f"from gateway_async import {name}") & network == set()


def test_the_client_does_not_load_the_sandbox() -> None:
    """A client needs the core dependencies only."""
    extras = {"starlette", "uvicorn", "typer", "pytest", "sqlite3"}
    assert loaded_by("from gateway_async import AsyncGateway") & extras == set()


@pytest.mark.parametrize("name", gateway_async.postbacks.__all__)
def test_receiving_does_not_load_the_network(name: str) -> None:
    """A receiver needs no HTTP client, no web framework and no driver of a database that it does not use."""
    network = {"aiohttp", "asyncpg", "fastapi", "httpcore", "httptools", "httpx", "starlette", "tenacity", "uvicorn"}
    assert loaded_by(f"from gateway_async.postbacks import {name}") & network == set()


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
