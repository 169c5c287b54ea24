"""The modules of the package as syntax trees, and what they import."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import gateway_async
import gateway_async.postbacks
from gateway_async._wire.response_matching import MODELS
from gateway_async.models.record import Record
from gateway_async.models.request import Request

TESTS = Path(__file__).parent.parent
PACKAGE = Path(gateway_async.__file__).parent

NOUNS = tuple(
    module
    for module in MODELS
    if any(kind.__module__ == module.__name__ for kind in (*Record.__subclasses__(), *Request.__subclasses__()))
)
"""The modules of the gateway's records."""

LAYERS = (
    "_secrets",
    "_text",
    "_backoff",
    "_extras",
    "errors",
    "_arguments",
    "models",
    "observe",
    "telemetry",
    "credentials",
    "_storage",
    "leases",
    "ledger",
    "_background",
    "_wire",
    "hosted_forms",
    "_http",
    "_execution",
    "resources",
    "ledger.reconciliation",
    "postbacks",
    "client",
    "migration",
    "__init__",
    "sandbox",
    "crash_testing",
    "testing",
    "upgrade",
    "cli",
    "__main__",
)
"""The modules and folders of the package; each imports only from itself and from those before it.

A folder inside another one may have a place of its own.
"""

SANDBOX_LAYERS = (
    "schema",
    "state_machines",
    "http",
    "simulators",
    "runtime",
    "notifications",
    "request",
    "handlers",
    "routes",
    "seed",
    "end_of_day",
    "fault_effects",
    "ledger",
    "controls",
    "openapi",
    "pages",
    "app",
    "sandbox",
    "serve",
    "__init__",
)
"""The same for the sandbox."""

TYPE_ONLY = {("gateway_async.errors", "gateway_async.models.record")}
"""Upward imports for type checkers alone: the return type of `resolve()`."""

IMPURE = {"time", "random", "secrets", "uuid", "os", "socket", "ssl", "asyncio", "threading", "anyio", "trio", "httpx"}
HTTPX_USERS = re.compile(
    r"_http/\w+\.py|_execution/http_client\.py|client\.py|testing\.py|sandbox/(sandbox|http/webhook_client)\.py"
)
TENACITY_USERS = re.compile(r"_execution/execute\.py")


@cache
def modules() -> tuple[Path, ...]:
    """List every module of the package, as a path within it."""
    return tuple(sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py")))


@cache
def name_of(path: Path) -> str:
    """Return a module's dotted name."""
    return ".".join(("gateway_async", *path.with_suffix("").parts)).removesuffix(".__init__")


@cache
def tree(path: Path) -> ast.Module:
    """Parse a module."""
    return ast.parse((PACKAGE / path).read_text())


@cache
def imported(node: ast.AST) -> frozenset[str]:
    """Return the dotted names of all modules imported anywhere below `node`."""
    return frozenset(
        module
        for child in ast.walk(node)
        if isinstance(child, ast.Import | ast.ImportFrom)
        for module in _named_by(child)
    )


def _named_by(statement: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """Yield the dotted names of the modules that an import statement names."""
    for alias in statement.names:
        if isinstance(statement, ast.Import):
            yield alias.name
        else:
            below = f"{statement.module}.{alias.name}"
            yield below if below in _names() else str(statement.module)


@cache
def _names() -> frozenset[str]:
    """Return the dotted names of all modules of the package."""
    return frozenset(map(name_of, modules()))


def layer(module: str, depth: int = 1) -> str:
    """Return the layer of a module of the package; with depth 2, of a module of the sandbox."""
    parts = module.split(".")[depth:]
    nested = ".".join(parts[:2])
    return nested if nested in LAYERS else [*parts, "__init__"][0]


def ids(path: Path) -> str:
    """Return a module's name in the id of a test."""
    return path.as_posix()
