"""Link names of the package to their descriptions in the reference, in text and in programs.

`sphinx_codeautolink` links the programs. It reads `gateway` as the client that most examples have without making it.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final

from docutils import nodes
from sphinx.addnodes import desc_signature
from sphinx.application import Sphinx

from gateway_async import AsyncGateway
from gateway_async.resources import RESOURCES

_ATTRIBUTES: Final = {kind.__name__: name for name, kind in RESOURCES.items()}
"""Class of a resource → the attribute of the client."""

_NAME: Final = re.compile(r"(?:await )?([A-Za-z_][\w.]*)(?:\(.*\))?")
_NOT_LINKED: Final = (nodes.reference, nodes.title, desc_signature)

gateway: Final = type("gateway", (AsyncGateway,), dict(RESOURCES))
"""The client of the examples, for `sphinx_codeautolink`: a class, because that follows attributes of classes only."""


def link_names(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Link inline code that names a part of the public interface."""
    objects = app.env.domains.python_domain.objects
    targets = _targets(name for name, entry in objects.items() if not entry.aliased)
    for literal in list(doctree.findall(nodes.literal)):
        name = _NAME.fullmatch(literal.astext())
        target = targets.get(name[1]) if name else None
        if (
            target
            and literal.parent
            and not any(isinstance(each, _NOT_LINKED) for each in _ancestors(literal))
        ):
            entry = objects[target]
            address = (
                f"{app.builder.get_relative_uri(page, entry.docname)}#{entry.node_id}"
            )
            link = nodes.reference(
                "", "", internal=True, refuri=address, reftitle=target
            )
            literal.replace_self(link)
            link += literal


def _targets(full_names: Iterable[str]) -> dict[str, str]:
    """Return the object of each short name; a name that two objects have is left out."""
    found: dict[str, set[str]] = defaultdict(set)
    for full_name in full_names:
        for short_name in _short_names(full_name):
            found[short_name].add(full_name)
    return {
        short_name: names.pop()
        for short_name, names in found.items()
        if len(names) == 1
    }


def _short_names(full_name: str) -> Iterator[str]:
    """Yield the names of an object without its packages; a resource has the name of the client's attribute."""
    parts = full_name.split(".")
    yield full_name
    for index, part in enumerate(parts):
        if part[0].isupper():
            yield ".".join(parts[index:])
            if resource := _ATTRIBUTES.get(part):
                yield ".".join((resource, *parts[index + 1 :]))
                yield ".".join(("gateway", resource, *parts[index + 1 :]))
            elif part == "AsyncGateway":
                yield ".".join(("gateway", *parts[index + 1 :]))
            return
    yield parts[-1]


def _ancestors(node: nodes.Node) -> Iterator[nodes.Node]:
    while node.parent:
        node = node.parent
        yield node


def setup(app: Sphinx) -> dict[str, bool]:
    """Link the names when a page is written."""
    app.connect("doctree-resolved", link_names)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
