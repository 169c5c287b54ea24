"""Code in docstrings is valid Python."""

import ast
import re
from collections.abc import Iterator
from itertools import groupby
from textwrap import dedent

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


def examples() -> Iterator[tuple[str, str]]:
    """Yield every example of a docstring with its position."""
    for position, docstring in docstrings():
        for introduction, piece in indented(docstring):
            if not SECTION.match(introduction) and not DRAWING.search(piece):
                yield position, piece


def test_examples() -> None:
    """Every example compiles as the body of an async function; the client has one."""
    compiled = {position: compile_async(example, position) for position, example in examples()}
    assert any(position.startswith("client.py") for position in compiled)
