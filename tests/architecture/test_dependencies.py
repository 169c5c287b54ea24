"""The dependencies in pyproject.toml are complete, without known vulnerabilities, and bounded where necessary."""

import ast
import sys
import tomllib
from collections.abc import Iterator, Mapping
from importlib.metadata import packages_distributions
from itertools import chain

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from .source import PACKAGE, modules, tree

PROJECT = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]

FIXED = {
    "aiohttp": "3.14.3",  # CVE-2026-69244
    "anyio": "4.14.2",  # CVE-2026-63374, CVE-2026-64847
    "distributed": "2026.1.1",  # CVE-2026-23528
    "jinja2": "3.1.6",  # CVE-2024-56326, CVE-2025-27516
    "pyarrow": "23.0.1",  # CVE-2026-25087
    "pytest": "9.0.3",  # CVE-2025-71176
    "python-multipart": "0.0.31",  # CVE-2024-53981, CVE-2026-24486, -40347, -42561, -53537 to -53540
    "starlette": "1.3.1",  # CVE-2024-47874, CVE-2025-54121, -62727, CVE-2026-48710, -48817, -48818, -54282, -54283
}
"""The first version of each package without its known vulnerabilities."""

INTERNAL = {"uvicorn": ("uvicorn.protocols", "uvicorn.server")}
"""Modules that their packages do not document, although they have no underscore."""

BROUGHT_BY_USERS = {"aiohttp", "pytest", "pytest-asyncio", "respx", "trio"}
"""Packages that are imported only if the program already uses them."""


def requirements(*lists: list[str]) -> dict[str, Requirement]:
    """Return requirements by the names of their packages."""
    wanted = map(Requirement, chain(*lists))
    return {canonicalize_name(each.name): each for each in wanted if each.name != PROJECT["name"]}


def imports(module: ast.Module) -> Iterator[str]:
    """Yield the dotted names that a module imports from other packages."""
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            values = (each.value for each in node.args if isinstance(each, ast.Constant))
            yield from (value for value in values if isinstance(value, str))


def foreign() -> set[str]:
    """Return the dotted names that the package imports, except from the standard library."""
    ours = {*sys.stdlib_module_names, "gateway_async"}
    return {name for path in modules() for name in imports(tree(path)) if name.split(".")[0] not in ours}


SHARED = {"opentelemetry": "opentelemetry-api"}
"""Packages to which several distributions add modules, and the one whose modules are used."""


def distribution(module: str, named: Mapping[str, list[str]]) -> str:
    package = module.split(".", maxsplit=1)[0]
    return canonicalize_name(SHARED.get(package) or named[package][0])


def test_imports() -> None:
    """Every imported package is a dependency of its own, not only one of another dependency."""
    named = packages_distributions()
    used = {distribution(name, named) for name in foreign()}
    shipped = requirements(PROJECT["dependencies"], *(EXTRAS[name] for name in EXTRAS if name != "tests"))
    assert used - shipped.keys() <= BROUGHT_BY_USERS


@pytest.mark.parametrize(("name", "version"), FIXED.items())
def test_no_lower_bound_has_a_known_vulnerability(name: str, version: str) -> None:
    requirement = requirements(PROJECT["dependencies"], *EXTRAS.values())[name]
    (lower,) = (bound for bound in requirement.specifier if bound.operator == ">=")
    assert Requirement(f"{name}>={version}").specifier.contains(lower.version)


DOCUMENTED = {"_exit"}
"""Names of `os`, which are public in spite of the underscore."""


def test_no_private_name_of_another_package_is_used() -> None:
    used, defined = {}, set(DOCUMENTED)
    for path in modules():
        for node in ast.walk(tree(path)):
            match node:
                case ast.Attribute(attr=name, ctx=ast.Load()):
                    used[name] = path
                case ast.Call(func=ast.Name(id="getattr" | "hasattr"), args=[_, ast.Constant(value=str(name)), *_]):
                    used[name] = path
                case ast.Attribute(attr=name) | ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                    defined.add(name)
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                    defined.add(name)
    private = {name: path for name, path in used.items() if name.startswith("_") and not name.startswith("__")}
    assert {name: path for name, path in private.items() if name not in defined} == {}
    assert {name for name in foreign() if any(part.startswith("_") for part in name.split("."))} == set()


@pytest.mark.parametrize("name", INTERNAL)
def test_upper_bounds(name: str) -> None:
    """Undocumented modules of a package may change with a major version, so the next one is not allowed."""
    assert any(each.startswith(INTERNAL[name]) for each in foreign())
    requirement = requirements(PROJECT["dependencies"], *EXTRAS.values())[name]
    assert {bound.operator for bound in requirement.specifier} == {">=", "<"}
