"""Importing the package loads only what is used."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import gateway_async
import gateway_async.postbacks
from gateway_async.resources import _MODELS, _Resources

from .source import PACKAGE


def loaded_by(program: str) -> set[str]:
    """Return the packages and modules that a fresh interpreter has loaded after `program`."""
    program = f"import sys\n{program}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)  # noqa: S603  our own interpreter
    return set(done.stdout.split())


DEPENDENCIES = {"anyio", "attr", "cattrs", "httpcore", "httpx", "msgspec", "tenacity"}
EXTRAS = {"starlette", "uvicorn", "typer", "pytest", "sqlite3", "redis", "asyncpg", "pyarrow"}
NETWORK = {"httpx", "httpcore", "httptools", "anyio", "tenacity", "cattrs", "msgspec"}
HTTP = {"aiohttp", "asyncpg", "fastapi", "httpcore", "httptools", "httpx", "starlette", "tenacity", "uvicorn"}
VALUES = ["NotFoundError", "ApiId", "TransactionCreate", "Transaction", "UserApiKey", "TimeRange"]
ENGINE = {f"gateway_async.{package}" for package in ("_execution", "_http", "_wire")}
RARE = {
    *("httpcore", "h11", "certifi", "trio", "gateway_async.ledger.sqlite"),
    *(f"gateway_async._wire.{name}" for name in ("resource", "validation")),
}
"""Modules that a client needs before its first call is sent, or never."""
RESOURCES = {f"gateway_async.resources.{name}" for name in _Resources.__annotations__}
MODELS = {f"gateway_async.models.{name}" for name in _MODELS if name not in ("tokens", "files")}
"""All models but those that a login or an upload needs."""
UNUSED = {
    "import gateway_async": DEPENDENCIES,
    **{f"from gateway_async import {name}": NETWORK for name in VALUES},
    "from gateway_async import AsyncGateway": EXTRAS | NETWORK | ENGINE | RARE | RESOURCES | MODELS,
    "from gateway_async import Contact": NETWORK | RESOURCES | MODELS - {"gateway_async.models.contacts"},
    **{f"from gateway_async.postbacks import {name}": HTTP for name in gateway_async.postbacks.__all__},
}
"""Imports, and what they do not need: values need no network, a client no sandbox, a receiver no HTTP."""

CLIENT = """
from gateway_async import AsyncGateway, UserApiKey
gateway = AsyncGateway("https://gateway.test", developer_id="dev", credentials=UserApiKey("u", "k"))
"""


@pytest.mark.parametrize("statement", UNUSED)
def test_an_import_loads_nothing_unused(statement: str) -> None:
    """A fresh interpreter has not loaded the modules that an import does not need."""
    assert loaded_by(statement) & UNUSED[statement] == set()


def test_a_client_loads_nothing_before_its_use() -> None:
    """A new client has loaded the models, on which the meaning of a refusal depends, and no resource."""
    assert loaded_by(CLIENT) & (EXTRAS | RARE | RESOURCES) == set()


def test_a_resource_loads_no_other() -> None:
    """The use of one resource loads the modules of no other."""
    own = {"gateway_async.resources.contacts"}
    assert loaded_by(f"{CLIENT}gateway.contacts") & RESOURCES - own == set()


@pytest.mark.parametrize(("program", "most"), [("from gateway_async import AsyncGateway", 16), (CLIENT, 103)])
def test_the_number_of_modules(program: str, most: int) -> None:
    """The import of the class loads few modules of the package, and the first client not the most of it."""
    assert sum(name.startswith("gateway_async") for name in loaded_by(program)) <= most


@pytest.mark.parametrize("module", _MODELS)
def test_the_registry_lists_the_names_of_a_models_module(module: str) -> None:
    """The registry lists the public names of each module of models, so that finding one loads no other."""
    assert sorted(_MODELS[module]) == sorted(import_module(f"gateway_async.models.{module}").__all__)


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
