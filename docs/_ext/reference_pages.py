"""Write the reference: a page for each resource of the client, and one for each other part of the package.

Every public name is on one page. A name that no page takes ends the build.
"""

import inspect
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import attrs
from called_methods import Subject, method_sections, method_table
from contract_sections import PAGE as CONTRACT
from contract_sections import section_lines
from field_tables import field_table, names_in_table
from reference_examples import read_examples
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
        subject: how programs call the object that the page is about, such as `receiver`.
        subject_class: the name of its class.
    """

    title: str
    packages: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    subject: str = ""
    subject_class: str = ""


PARTS: Final = {
    "client": Part(
        "The client",
        (),
        ("client", "_execution.circuit_breaker", "_secrets"),
        "gateway",
        "AsyncGateway",
    ),
    "credentials": Part("Credentials", (), ("credentials",)),
    "lists": Part(
        "Lists",
        (),
        ("_execution.pages", "models.page", "models.time_range"),
        "pages",
        "Pages",
    ),
    "untyped": Part(
        "Untyped calls",
        (),
        ("models.untyped", "resources._untyped", "_wire.reply"),
        "plans",
        "UntypedResource",
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
        "ledger",
        "SqliteLedger",
    ),
    "leases": Part("Leases of terminals", (), ("leases",)),
    "postbacks": Part("Postbacks", ("postbacks",), (), "receiver", "PostbackReceiver"),
    "migration": Part("Migration", ("migration",)),
    "hosted_forms": Part("Hosted forms", ("hosted_forms",)),
    "sandbox": Part("Sandbox", ("sandbox",), (), "sandbox", "Sandbox"),
    "testing": Part("Fixtures and crash tests", ("testing", "crash_testing")),
}
"""File name → page, in the order of the table of contents."""

OF_THE_CLIENT: Final = 3
"""The number of pages that come before those of the resources."""

INTRODUCTION: Final = (
    "The tests run the examples on this page. Each begins with a new "
    "[sandbox](sandbox.md), `sandbox`, an open client, `gateway`, and a stored "
    "Visa card, `card`."
)


def write_pages(app: Sphinx) -> None:
    """Write the pages into the source folder, before Sphinx looks for sources."""
    folder = Path(app.srcdir, FOLDER)
    folder.mkdir(exist_ok=True)
    pages = dict(pages_of_resources()) | {
        name: "\n".join(part_lines(name, part)) for name, part in PARTS.items()
    }
    pages["client"] += "\n".join(resource_table())
    if left := set(exported_names()) - {
        name for page in pages.values() for name in names_on(page)
    }:
        msg = f"no page of the reference has {', '.join(sorted(left))}: add a module to PARTS"
        raise ExtensionError(msg)
    for name, text in pages.items():
        _write(folder / f"{name}.md", text)
    methods = (
        (name, kind, method)
        for name, kind in resource_classes()
        for method in Subject(name, kind, "").methods()
    )
    _write(folder / f"{CONTRACT}.md", "\n".join(section_lines(methods)) + "\n")
    _write(folder / "index.md", _index(pages))


def pages_of_resources() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of the page of each resource: its methods, then its records and requests."""
    for name, kind in resource_classes():
        path = f"{kind.__module__}.{kind.__name__}"
        subject = Subject(f"gateway.{name}", kind, path)
        described, *details = str(inspect.getdoc(kind)).split("\n\n")
        lines = [f"# gateway.{name}", ""]
        lines += ["```{eval-rst}", f".. subject:: {subject.name} {path}", "```", ""]
        lines += [described, ""]
        lines += called_methods(subject, name, details)
        if records := exported_names(f"gateway_async.models.{name}"):
            lines += ["## Records and requests", ""]
            for record in records:
                path = f"gateway_async.{record}"
                lines += description(path, getattr(gateway_async, record))
        yield name, "\n".join(lines)


def resource_classes() -> Iterator[tuple[str, type]]:
    """Yield each resource: the attribute of the client, and its class."""
    yield from sorted(RESOURCES.items())


def called_methods(subject: Subject, page: str, details: list[str]) -> Iterator[str]:
    """Yield the methods of an object: a table of them all, then a section for each."""
    examples = read_examples(page)
    yield from method_table(subject)
    for paragraph in details:
        yield from (paragraph, "")
    yield from (INTRODUCTION, "", examples.preparation, "")
    yield from method_sections(subject, examples.by_method)


def part_lines(name: str, part: Part) -> Iterator[str]:
    """Yield the lines of the page of a part: first the object that it is about."""
    found = dict(_objects_of(part))
    yield from (f"# {part.title}", "")
    if part.subject:
        path = next(each for each in found if each.endswith(f".{part.subject_class}"))
        kind = found.pop(path)
        subject = Subject(part.subject, kind, path)
        yield from _class_lines(kind, path, exclude=subject.methods())
        yield from called_methods(subject, name, [])
        yield from ("## More names", "")
    for path, value in found.items():
        yield from description(path, value)


def _objects_of(part: Part) -> Iterator[tuple[str, Any]]:
    """Yield the full names and the values of the public names of a part."""
    for module in part.modules:
        for name in exported_names(f"gateway_async.{module}"):
            yield f"gateway_async.{name}", getattr(gateway_async, name)
    for package in part.packages:
        found = import_module(f"gateway_async.{package}")
        for name in found.__all__:
            if not _is_of_another_page(found, name):
                yield f"{found.__name__}.{name}", getattr(found, name)


def resource_table() -> Iterator[str]:
    """Yield the lines of a table with the resources of the client."""
    yield from ("## Resources", "", "| attribute | what it is |", "|---|---|")
    for name, kind in resource_classes():
        yield f"| `gateway.{name}` | {str(inspect.getdoc(kind)).splitlines()[0]} |"


def description(path: str, value: object) -> Iterator[str]:
    """Yield the directive that describes a public name."""
    if inspect.isclass(value):
        yield from _class_lines(value, path)
    else:
        yield from directive("autofunction" if callable(value) else "autodata", path)


def _class_lines(kind: type, path: str, exclude: Iterable[str] = ()) -> Iterator[str]:
    """Yield the description of a class: its fields in a table, its other members below it."""
    hidden = {*names_in_table(kind), *exclude}
    options = [f"exclude-members: {', '.join(sorted(hidden))}"] if hidden else []
    yield from directive("autoclass", path, *options, content=field_table(kind, path))


def directive(
    kind: str, name: str, *options: str, content: Iterable[str] = ()
) -> list[str]:
    """Return the lines of an autodoc directive."""
    return [
        "```{eval-rst}",
        f".. {kind}:: {name}",
        *(f"   :{option}" for option in options),
        "",
        *(f"   {line}".rstrip() for line in content),
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
    """Return the first page: the client, its resources, and what is around it."""
    resources = [name for name in pages if name not in PARTS]
    first, others = list(PARTS)[:OF_THE_CLIENT], list(PARTS)[OF_THE_CLIENT:]
    toctree = "```{toctree}\n:caption: %s\n:maxdepth: 1\n\n%s\n```\n"
    short = [f"{name} <{name}>" for name in resources]
    groups = {"The client": first, "Resources": short, "More": [*others, CONTRACT]}
    lines = (toctree % (caption, "\n".join(names)) for caption, names in groups.items())
    return (
        "# Classes and functions\n\nEvery public name, made from the docstrings of the package.\n\n"
        + "\n".join(lines)
    )


def _write(path: Path, text: str) -> None:
    """Write a page if it changed. Sphinx reads only changed pages again."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the pages when the build begins."""
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True}
