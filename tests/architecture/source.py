"""The modules of the package as syntax trees, and what they import."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import gateway_async
import gateway_async.postbacks
from gateway_async.resources import _MODELS

TESTS = Path(__file__).parent.parent
PACKAGE = Path(gateway_async.__file__).parent

NOUNS = tuple(import_module(f"gateway_async.models.{name}") for name in _MODELS)
"""The modules of the gateway's records."""

LAYERS = (
    "_backoff",
    "_extras",
    "_lazy_index",
    "_secrets",
    "_exceptions",
    "_problem",
    "errors",
    "_arguments",
    "models",
    "observe",
    "credentials",
    "_storage",
    "leases",
    "ledger",
    "_wire",
    "_http",
    "_execution",
    "resources",
    "postbacks",
    "client",
    "migration",
    "__init__",
    "sandbox",
    "crash_testing",
    "testing",
    "cli",
)
"""Each imports only from those before it, and from itself."""

ROOMS = (
    "schema",
    "state_machines",
    "http",
    "simulators",
    "runtime",
    "notifications",
    "request",
    "handlers",
    "postbacks",
    "routes",
    "admin",
    "app",
    "sandbox",
    "serve",
    "readme_tables",
    "__init__",
)
"""The same within the sandbox, whose folders are its rooms."""

TYPE_ONLY = {("gateway_async.errors", "gateway_async.models.record")}
"""Imports that go up for type checkers alone: what `resolve()` returns."""

IMPURE = {"time", "random", "secrets", "uuid", "os", "socket", "ssl", "asyncio", "threading", "anyio", "trio", "httpx"}
HTTPX_MAY_STAND_IN = re.compile(
    r"_http/\w+\.py|_execution/http_client\.py|client\.py|testing\.py|sandbox/(sandbox|http/webhook_client)\.py"
)
TENACITY_MAY_STAND_IN = re.compile(r"_execution/executor\.py")


def modules() -> list[Path]:
    """Every module of the package, as a path within it."""
    return sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    """A module's dotted name."""
    return ".".join(("gateway_async", *path.with_suffix("").parts)).removesuffix(".__init__")


@cache
def tree(path: Path) -> ast.Module:
    """A module's syntax tree."""
    return ast.parse((PACKAGE / path).read_text())


def imported(node: ast.AST) -> Iterator[str]:
    """The dotted names of all modules imported anywhere below `node`."""
    known = {name_of(path) for path in modules()}
    for child in ast.walk(node):
        if isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            for alias in child.names:
                below = f"{child.module}.{alias.name}"
                yield below if below in known else str(child.module)


def layer(module: str) -> str:
    """The line of the drawing that a module of the package stands in."""
    return [*module.split("."), "__init__"][1]


def room(module: str) -> str:
    """The room that a module of the sandbox stands in."""
    return [*module.split("."), "__init__"][2]


def ids(path: Path) -> str:
    """A test's name for a module."""
    return path.as_posix()
