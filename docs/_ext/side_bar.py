"""Make the side bar of a page from titles: Sphinx would copy all headings of the site for it, and drop them."""

from typing import Any, Final

from docutils import nodes
from sphinx.addnodes import toctree
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

_BEFORE_THE_THEME: Final = 400
"""The theme makes the side bar with the default priority, 500."""

_titles: Final[dict[str, nodes.bullet_list]] = {}


def collect_titles(_app: Sphinx, env: BuildEnvironment) -> None:
    """Copy the table of contents of each page, without its headings."""
    for page, contents in env.tocs.items():
        _titles[page] = contents.deepcopy()
        for item in _titles[page].findall(nodes.list_item):
            item[1:] = [nodes.bullet_list("", *item.findall(toctree))]


def use_titles(
    app: Sphinx, _page: str, _template: str, context: dict[str, Any], _tree: object
) -> None:
    """Let the theme find the titles when it asks for the table of contents of the site."""
    make_toctree, contents = context["toctree"], app.env.tocs

    def make_from_titles(**options: Any) -> str:
        app.env.tocs = _titles
        try:
            return str(make_toctree(**options))
        finally:
            app.env.tocs = contents

    context["toctree"] = make_from_titles


def setup(app: Sphinx) -> dict[str, bool]:
    """Collect the titles before the pages are written, from this process and its children."""
    app.connect("env-check-consistency", collect_titles)
    app.connect("html-page-context", use_titles, priority=_BEFORE_THE_THEME)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
