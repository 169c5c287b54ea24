"""Link names of the package to their descriptions in the reference, in text and in programs.

`sphinx_codeautolink` links the programs. It reads `gateway` as the client that most examples have without making it.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from typing import Final

from docutils import nodes
from sphinx.addnodes import desc_signature
from sphinx.application import Sphinx
from sphinx.domains.python import PythonDomain

from gateway_async import AsyncGateway
from gateway_async.resources import RESOURCES

_NAME: Final = re.compile(r"(?:await )?([A-Za-z_][\w.]*)(?:\(.*\))?")
_NOT_LINKED: Final = (nodes.reference, nodes.title, desc_signature)

gateway: Final = type("gateway", (AsyncGateway,), dict(RESOURCES))
"""The client of the examples, for `sphinx_codeautolink`: a class, because that follows attributes of classes only."""


def link_names(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Link inline code that names a part of the public interface."""
    targets = _targets(app.env.domains.python_domain)
    for literal in list(doctree.findall(nodes.literal)):
        name = _NAME.fullmatch(literal.astext())
        target = targets.get(name[1]) if name else None
        if (
            target
            and literal.parent
            and not any(isinstance(each, _NOT_LINKED) for each in _ancestors(literal))
        ):
            docname, node_id = target
            address = f"{app.builder.get_relative_uri(page, docname)}#{node_id}"
            link = nodes.reference(
                "", "", internal=True, refuri=address, reftitle=node_id
            )
            literal.replace_self(link)
            link += literal


@cache
def _targets(domain: PythonDomain) -> dict[str, tuple[str, str]]:
    """Return the page and the anchor of each short name; a name that two objects have is left out."""
    found: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for full_name, entry in domain.objects.items():
        for short_name in _short_names(full_name):
            found[short_name].add((entry.docname, entry.node_id))
    return {
        short_name: places.pop()
        for short_name, places in found.items()
        if len(places) == 1
    }


def _short_names(full_name: str) -> Iterator[str]:
    """Yield the names of an object without its packages, and without `gateway` for a resource."""
    parts = full_name.split(".")
    yield full_name
    for index, part in enumerate(parts):
        if part[0].isupper():
            yield ".".join(parts[index:])
            return
    if parts[0] == "gateway_async":
        yield parts[-1]
    elif parts[0] == "gateway" and len(parts) > 2:  # noqa: PLR2004  gateway.transactions.create
        yield ".".join(parts[1:])


def _ancestors(node: nodes.Node) -> Iterator[nodes.Node]:
    while node.parent:
        node = node.parent
        yield node


def setup(app: Sphinx) -> dict[str, bool]:
    """Link the names when a page is written."""
    app.connect("doctree-resolved", link_names)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
