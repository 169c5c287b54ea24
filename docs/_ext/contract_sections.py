"""Say which section of the contract (the gateway's API document) each method implements, as the docstrings do."""

import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final

from sphinx.errors import ExtensionError

PAGE: Final = "contract"

_SECTION: Final = re.compile(r"\(contract,\s\*([^*]+)\*")
_OF_EVERY_RESOURCE: Final = {
    "list": "Pagination, sorting",
    "create_once": "Integrator primary key",
    "existing": "Integrator primary key",
}


def section_of(kind: type, method: str) -> str:
    """Return the section of a method of a resource, which the docstring of its module or class names."""
    if section := _OF_EVERY_RESOURCE.get(method):
        return section
    text = f"{sys.modules[kind.__module__].__doc__} {kind.__doc__}"
    if found := _SECTION.search(text):
        return found[1]
    msg = (
        f"{kind.__name__}: no section (expected in a docstring: (contract, *Section*))"
    )
    raise ExtensionError(msg)


def section_id(section: str) -> str:
    """Return the id that the heading of a section gets on its page."""
    return re.sub(r"[^\w -]", "", section).lower().replace(" ", "-")


def section_lines(methods: Iterable[tuple[str, type, str]]) -> Iterator[str]:
    """Yield the lines of the page: each section with its methods.

    Args:
        methods: the resource, its class, and the name of each method.
    """
    found: defaultdict[str, list[str]] = defaultdict(list)
    for resource, kind, method in methods:
        link = f"[`{resource}.{method}`]({resource}.md#{method.replace('_', '-')})"
        found[section_of(kind, method)].append(link)
    yield from ("# Sections of the contract", "")
    yield "The contract is the gateway's API document. These methods implement its sections:"
    for section, links in sorted(found.items()):
        yield from ("", f"## {section}", "", ", ".join(links))
