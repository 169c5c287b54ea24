"""Help texts of commands, from docstrings."""

from collections.abc import Callable
from inspect import getdoc
from typing import Any

__all__ = ["help_of"]


def help_of(command: Callable[..., Any]) -> str:
    """Return a command's docstring with one line for each paragraph.

    A terminal then wraps the paragraphs by its own width.
    """
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in (getdoc(command) or "").split("\n\n"))
