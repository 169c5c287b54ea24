"""Code in docstrings is valid Python."""

import ast
import re
from collections.abc import Iterator
from itertools import groupby
from textwrap import dedent

import pytest

from .documents import PACKAGE, compile_async

SECTION = re.compile(r"(Args|Attributes|Returns|Raises|Yields):$")
DRAWING = re.compile(r"[─-╿→]")
Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def docstrings() -> Iterator[tuple[str, str]]:
    """Yield every docstring of the package with its position."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, Documented):
                yield f"{path.relative_to(PACKAGE)}:{getattr(node, 'lineno', 1)}", ast.get_docstring(node) or ""


def indented(docstring: str) -> Iterator[tuple[str, str]]:
    """Yield the indented pieces of a docstring, each with the line before it."""
    introduction = ""
    for inside, group in groupby(docstring.splitlines(), lambda line: not line or line.startswith("    ")):
        lines = list(group)
        if not inside:
            introduction = lines[-1]
        elif any(lines):
            yield introduction, dedent("\n".join(lines))


EXAMPLES = {
    place: piece
    for place, docstring in docstrings()
    for introduction, piece in indented(docstring)
    if not SECTION.match(introduction) and not DRAWING.search(piece)
}


@pytest.mark.parametrize("place", EXAMPLES)
def test_examples(place: str) -> None:
    """Every example compiles as the body of an async function."""
    assert compile_async(EXAMPLES[place], place) is not None


def test_the_docstring_of_the_client_has_an_example() -> None:
    assert [place for place in EXAMPLES if place.startswith("client.py")] != []
