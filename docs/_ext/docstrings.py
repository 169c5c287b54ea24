"""Convert this package's docstrings to reStructuredText, which Sphinx reads.

They have Markdown's single backticks for code, and indented examples.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

import attrs
from change_notes import change_notes
from sphinx.application import Sphinx
from sphinx.ext.napoleon import Config
from sphinx.ext.napoleon.docstring import GoogleDocstring

MAX_PARAMETERS: Final = 12
"""A class with more parameters is shown without them: its fields follow below it."""

INTERNAL: Final = frozenset({"spec", "rules", "uncertain", "implied"})
"""Class attributes of resources, requests and records that are no part of the public interface."""

NAPOLEON: Final[Any] = Config(napoleon_use_ivar=True, napoleon_use_rtype=False)

_CODE: Final = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_DRAWING: Final = re.compile("[├└→]")
_SECTION: Final = re.compile(
    r"(Args|Attributes|Example|Examples|Note|Raises|Returns|Yields):$"
)


def convert(lines: list[str]) -> Iterator[str]:
    """Yield the lines of a docstring as reStructuredText."""
    last, in_section, in_example = "", False, False
    for line in lines:
        indented = line.startswith("    ")
        if line and not indented:
            in_section, in_example = bool(_SECTION.match(line)), False
        elif indented and not in_section and not in_example and not last:
            in_example = True
            yield from (
                f".. code-block:: {'text' if _DRAWING.search(line) else 'python'}",
                "",
            )
        text = line if in_example and indented else _CODE.sub(r"``\1``", line)
        if line != "Returns:":
            # Napoleon would read the words before a colon as a type.
            yield f":returns: {text.strip()}" if last == "Returns:" else text
        last = line


def convert_docstring(
    app: Sphinx, what: Any, name: str, subject: object, options: Any, lines: list[str]
) -> None:
    """Convert the lines of one docstring in place."""
    converted = list(convert(lines))
    # Napoleon would read the words before a colon in the docstring of an attribute or a property as its type.
    if what not in ("attribute", "property"):
        converted = GoogleDocstring(
            converted, NAPOLEON, app, what, name, subject, options
        ).lines()
    if what == "class":
        converted += change_notes(name.rpartition(".")[2])
    lines[:] = converted


def hide_long_signature(
    _app: Sphinx,
    what: str,
    _name: str,
    subject: Any,
    _options: object,
    signature: str,
    returns: str,
) -> tuple[str, str] | None:
    """Leave out signatures of attrs classes with many or internal fields."""
    fields = attrs.fields(subject) if what == "class" and attrs.has(subject) else ()
    if len(fields) > MAX_PARAMETERS or any(
        field.name.startswith("_") for field in fields
    ):
        return "", ""
    return signature, returns


def skip_internal_member(
    _app: Sphinx,
    _what: str,
    name: str,
    _subject: object,
    _skipped: bool,
    _options: object,
) -> bool | None:
    """Leave out the class attributes that only this package reads; None leaves other members as they are."""
    return True if name in INTERNAL else None


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the conversions with Sphinx."""
    app.connect("autodoc-process-docstring", convert_docstring)
    app.connect("autodoc-skip-member", skip_internal_member)
    app.connect("autodoc-process-signature", hide_long_signature)
    return {"parallel_read_safe": True}
