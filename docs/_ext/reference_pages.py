"""Write the reference: a page for each resource of the client, and one for each other part of the package.

Every public name is on one page. A name that no page takes ends the build.
"""

import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import attrs
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

import gateway_async
from gateway_async.resources import RESOURCES

FOLDER: Final = "reference/api"


@attrs.frozen
class Part:
    """A page about a part of the package.

    Attributes:
        title: its headline.
        packages: public packages whose names are on the page, without `gateway_async.`.
        modules: modules, likewise: the names that `gateway_async` exports from them are on the page.
    """

    title: str
    packages: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()


PARTS: Final = {
    "client": Part(
        "The client",
        (),
        ("client", "_execution.circuit_breaker", "_secrets"),
    ),
    "credentials": Part("Credentials", (), ("credentials",)),
    "lists": Part(
        "Lists", (), ("_execution.pages", "models.page", "models.time_range")
    ),
    "untyped": Part(
        "Untyped calls", (), ("models.untyped", "resources._untyped", "_wire.reply")
    ),
    "records": Part("Records and requests", (), ("models.record", "models.request")),
    "codes": Part("Codes", (), ("models.codes",)),
    "files": Part("Files", (), ("models.files",)),
    "errors": Part("Error classes", (), ("errors",)),
    "events": Part("Events", ("observe",)),
    "telemetry": Part("Telemetry", ("telemetry",)),
    "ledger": Part(
        "Ledger",
        (),
        (
            "ledger.protocol",
            "ledger.store",
            "ledger.reconciliation.result",
        ),
    ),
    "leases": Part("Leases of terminals", (), ("leases",)),
    "postbacks": Part("Postbacks", ("postbacks",)),
    "migration": Part("Migration", ("migration",)),
    "hosted_forms": Part("Hosted forms", ("hosted_forms",)),
    "sandbox": Part("Sandbox", ("sandbox",)),
    "testing": Part("Fixtures and crash tests", ("testing", "crash_testing")),
}
"""File name → page, in the order of the table of contents. The pages of resources come before them."""


def write_pages(app: Sphinx) -> None:
    """Write the pages into the source folder, before Sphinx looks for sources."""
    folder = Path(app.srcdir, FOLDER)
    folder.mkdir(exist_ok=True)
    pages = dict(pages_of_resources()) | {
        name: "\n".join(part_lines(part)) for name, part in PARTS.items()
    }
    pages["client"] += "\n".join(resource_table())
    if left := set(exported_names()) - {
        name for page in pages.values() for name in names_on(page)
    }:
        msg = f"no page of the reference has {', '.join(sorted(left))}: add a module to PARTS"
        raise ExtensionError(msg)
    for name, text in pages.items():
        _write(folder / f"{name}.md", text)
    _write(folder / "index.md", _index(pages))


def pages_of_resources() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of the page of each resource: its methods, then its records and requests."""
    for name, kind in resource_classes():
        title = name.replace("_", " ").capitalize()
        lines = [
            f"# {title}",
            "",
            f"`gateway.{name}` is an instance of this class.",
            "",
        ]
        lines += directive(
            "autoclass",
            f"{kind.__module__}.{kind.__name__}",
            "inherited-members: object",
        )
        if records := exported_names(f"gateway_async.models.{name}"):
            lines += ["## Records and requests", "", *described(gateway_async, records)]
        yield name, "\n".join(lines)


def resource_classes() -> Iterator[tuple[str, type]]:
    """Yield each resource: the attribute of the client, and its class."""
    yield from sorted(RESOURCES.items())


def part_lines(part: Part) -> Iterator[str]:
    """Yield the lines of the page of a part."""
    yield from (f"# {part.title}", "")
    for module in part.modules:
        yield from described(gateway_async, exported_names(f"gateway_async.{module}"))
    for package in part.packages:
        found = import_module(f"gateway_async.{package}")
        yield from described(
            found,
            [name for name in found.__all__ if not _is_of_another_page(found, name)],
        )


def resource_table() -> Iterator[str]:
    """Yield the lines of a table with the resources of the client."""
    yield from ("## Resources", "", "| attribute | what it is |", "|---|---|")
    for name, kind in resource_classes():
        yield f"| `gateway.{name}` | {str(inspect.getdoc(kind)).splitlines()[0]} |"


def described(module: ModuleType, names: list[str]) -> Iterator[str]:
    """Yield the directives that describe names of a module."""
    for name in names:
        value = getattr(module, name)
        kind = (
            "autoclass"
            if inspect.isclass(value)
            else "autofunction"
            if callable(value)
            else "autodata"
        )
        yield from directive(kind, f"{module.__name__}.{name}")


def directive(kind: str, name: str, *options: str) -> list[str]:
    """Return the lines of an autodoc directive."""
    return [
        "```{eval-rst}",
        f".. {kind}:: {name}",
        *(f"   :{option}" for option in options),
        "```",
        "",
    ]


def exported_names(module: str | None = None) -> list[str]:
    """Return the names that the package exports, or those of one module."""
    names = [name for name in gateway_async.__all__ if not name.startswith("_")]
    return [
        name
        for name in names
        if module in (None, _module_of(getattr(gateway_async, name)))
    ]


def names_on(page: str) -> set[str]:
    """Return the names that a page describes, without their modules."""
    return {
        line.rpartition(".")[2]
        for line in page.splitlines()
        if line.startswith(".. auto")
    }


def _is_of_another_page(package: ModuleType, name: str) -> bool:
    """Return whether the page of another package describes an exported name."""
    module = _module_of(getattr(package, name))
    others = {
        f"gateway_async.{other}" for part in PARTS.values() for other in part.packages
    } - {package.__name__}
    return module == "gateway_async.errors" or module.startswith(
        tuple(f"{other}." for other in others)
    )


def _module_of(value: Any) -> str:
    return str(getattr(value, "__module__", None) or type(value).__module__)


def _index(pages: dict[str, str]) -> str:
    resource_names = [name for name in pages if name not in PARTS]
    toctree = "```{toctree}\n:caption: %s\n:maxdepth: 1\n\n%s\n```\n"
    heading = "# Classes and functions\n\nEvery public name, made from the docstrings of the package.\n\n"
    return (
        heading
        + toctree % ("Package", "\n".join(PARTS))
        + "\n"
        + toctree % ("Resources", "\n".join(resource_names))
    )


def _write(path: Path, text: str) -> None:
    """Write a page if it changed. Sphinx reads only changed pages again."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the pages when the build begins."""
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True}
