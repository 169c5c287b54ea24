"""Highlight console sessions: `$ ` is the only prompt, and `# ` begins a comment."""

import re
from typing import ClassVar

from pygments.lexers.shell import BashSessionLexer
from sphinx.application import Sphinx


class ConsoleLexer(BashSessionLexer):  # type: ignore[misc]  # it has no types
    """A shell session. Pygments would take `# ` for the prompt of the administrator, and a comment for a command."""

    _ps1rgx: ClassVar = re.compile(r"^(\$ |(?=# ))(.*\n?)")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the lexer with Sphinx."""
    app.add_lexer("console", ConsoleLexer)
    return {"parallel_read_safe": True}
