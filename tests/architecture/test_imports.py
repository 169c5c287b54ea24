"""Imports stand at the top of a module, and a call loads nothing. Inside functions, an import has a reason."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from gateway_async.resources import RESOURCES, Resources

from .source import NOUNS, PACKAGE, modules, tree

LAZY: Final = {
    "_background.py": "trio: a program that runs on trio has it installed",
    "cli/__init__.py": "the extra cli: says how to install it",
    "migration/dask.py": "the extra dask",
    "migration/rate.py": "the extra redis",
    "postbacks/http/adapters.py": "aiohttp: a program that is served by it has it installed",
    "sandbox/serve.py": "resource: Windows has none",
    "testing.py": "respx and the extra sandbox: pytest loads this plugin in every run",
}
"""Modules with imports inside functions, and why they are not at the top."""

BY_NAME: Final = {
    "_extras.py": "extras: says how to install one",
    "_wire/response_matching.py": "every model: a list could miss one",
    "cli/app.py": "heavy commands: `gateway-async --help` and completions load none",
    "crash_testing/worker.py": "the program under test",
    "migration/sources/parquet.py": "the extra parquet",
    "telemetry/__init__.py": "the extra otel",
}
"""Modules that import others by name, and why."""

MOST: Final = 13
"""The limit for imports inside functions."""

FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def inside_functions(path: Path) -> Iterator[str]:
    """Yield the import statements inside the functions of a module."""
    for function in (node for node in ast.walk(tree(path)) if isinstance(node, FUNCTIONS)):
        for node in ast.walk(function):
            if isinstance(node, ast.Import | ast.ImportFrom):
                yield f"{path}:{node.lineno}: {ast.unparse(node)}"


def uses_import_module(path: Path) -> bool:
    """Return whether a module imports others by name."""
    names = {node.name for node in ast.walk(tree(path)) if isinstance(node, ast.alias)}
    return bool(names & {"import_module", "importlib"})


def test_inner_imports() -> None:
    """A module that imports inside a function is in the list of reasons, and there are few such imports."""
    found = {path.as_posix(): {*inside_functions(path)} for path in modules()}
    statements = [statement for each in found.values() for statement in each]
    print(f"imports inside functions: {len(statements)} of at most {MOST}", *statements, sep="\n")  # noqa: T201
    assert {path for path, each in found.items() if each} == {*LAZY}
    assert len(statements) <= MOST


def test_import_module() -> None:
    """`import_module` hides an import from readers and type checkers."""
    assert {path.as_posix() for path in modules() if uses_import_module(path)} == {*BY_NAME}


def run(program: str) -> set[str]:
    """Return what a program prints, run by a fresh interpreter."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)  # noqa: S603  our own interpreter
    return set(done.stdout.split())


EXTRAS: Final = {
    *("aiohttp", "asyncpg", "cryptography", "distributed", "jinja2", "opentelemetry", "pyarrow", "pytest", "redis"),
    *("starlette", "trio", "typer", "uvicorn"),
}
WITHOUT_EXTRAS: Final = ("", ".hosted_forms", ".migration", ".observe", ".postbacks", ".telemetry")
"""The packages that need no extra to be imported."""


def test_imports_need_no_extra() -> None:
    imports = "".join(f"import gateway_async{package}\n" for package in WITHOUT_EXTRAS)
    assert run(f"{imports}import sys\nprint(*sys.modules)") & EXTRAS == set()


LOST_ANSWER = """
import sys
import anyio, httpx
from gateway_async import AsyncGateway, GatewayError, TransactionCreate, UserApiKey

sent = []

def answer(request):
    if not sent:
        sent.extend(sys.modules)
    if request.method == "POST":
        raise httpx.ReadError("lost")
    return httpx.Response(503, json={})

async def main():
    key = UserApiKey("u", "k")
    options = dict(developer_id="d", credentials=key, timeout=0.1, transport=httpx.MockTransport(answer))
    async with AsyncGateway("https://gateway.test", **options) as gateway:
        try:
            await gateway.transactions.create(
                TransactionCreate(action="sale", payment_method="cc", account_vault_id="v1", transaction_amount="1.00")
            )
        except GatewayError as error:
            print(type(error).__name__, *(sys.modules.keys() - {*sent}))

anyio.run(main)
"""


def test_failing_call() -> None:
    """Everything for a lost response is loaded before the first byte: no import can fail after a payment."""
    assert run(LOST_ANSWER) == {"OutcomeUnknownError"}


def test_registry() -> None:
    """Every module of a resource has one attribute on the client, of the same name."""
    files = {path.stem for path in modules() if path.parts[0] == "resources" and not path.stem.startswith("_")}
    assert files == {*RESOURCES}
    assert {name: kind.__module__ for name, kind in RESOURCES.items()} == {
        name: f"gateway_async.resources.{name}" for name in files
    }
    assert {name: kind.__name__ for name, kind in RESOURCES.items()} == {
        name: name.title().replace("_", "") for name in files
    }
    assert all(getattr(Resources, name) is kind for name, kind in RESOURCES.items())


def test_fields() -> None:
    """Whether a refusal is of another request is decided with the models of all resources, whatever a program uses."""
    specs = [kind.spec for kind in RESOURCES.values() if kind.spec]
    used = {kind.__module__ for spec in specs for kind in (spec.record, *spec.creates, *spec.updates)}
    assert used <= {noun.__name__ for noun in NOUNS}


def test_getattr() -> None:
    """A `__getattr__` is hidden from type checkers, which would accept any name of it as `Any`."""
    for path in PACKAGE.rglob("__init__.py"):
        module = ast.parse(path.read_text())
        assert "__getattr__" not in {node.name for node in module.body if isinstance(node, ast.FunctionDef)}, path
