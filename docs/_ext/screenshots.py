"""Show each screenshot in the colors of the page: `…-light.png` on a light page, `…-dark.png` on a dark one."""

from docutils import nodes
from sphinx.application import Sphinx

_BEFORE_IMAGES_ARE_COLLECTED = 400
"""Sphinx collects the files of images with the default priority, 500."""


def add_dark_screenshots(_app: Sphinx, doctree: nodes.document) -> None:
    """Put the dark screenshot beside each light one. The theme hides one of them, and browsers do not load that."""
    for light in list(doctree.findall(nodes.image)):
        if light["uri"].endswith("-light.png"):
            light["loading"] = "lazy"
            dark = light.deepcopy()
            dark["uri"] = light["uri"].replace("-light.png", "-dark.png")
            light["classes"].append("only-light")
            dark["classes"].append("only-dark")
            light.parent.insert(light.parent.index(light) + 1, dark)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the change with Sphinx."""
    app.connect("doctree-read", add_dark_screenshots, _BEFORE_IMAGES_ARE_COLLECTED)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
