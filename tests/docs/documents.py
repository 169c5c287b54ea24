"""The code blocks of the documents, each with its headline."""

import ast
import inspect
import re
from pathlib import Path
from textwrap import dedent
from types import CodeType
from typing import Any

import attrs

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "gateway_async"
GENERATED = ("docs/reference/api", "docs/reference/commands")
"""Folders whose pages the build of the site writes."""

_PAGES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))
_EXAMPLES = "docs/reference/examples"
DOCUMENTS = ("README.md", *(page for page in _PAGES if not page.startswith((*GENERATED, _EXAMPLES, "docs/_build"))))
"""The documents for users, by their paths from the root: their programs run, and their links are followed."""
EXAMPLE_PAGES = tuple(page for page in _PAGES if page.startswith(_EXAMPLES))
"""The examples of the reference, which its pages include."""

_FENCE = re.compile(r" *```(?P<language>\S*)")


@attrs.frozen
class Block:
    """A fenced block of a document.

    Attributes:
        document, headline, line: its position; `line` is the number of its first line.
        language: the word after the fence, such as `console`, or `{toctree}` for a directive.
        text: its content.
        introduction: the paragraph above it.
    """

    document: str
    headline: str
    line: int
    language: str
    text: str = attrs.field(repr=False)
    introduction: str = attrs.field(default="", repr=False)

    def __str__(self) -> str:
        return f"{self.document}:{self.line} {self.headline}"

    @property
    def placed(self) -> str:
        """The text at its line number, so that a traceback points into the document."""
        return "\n" * (self.line - 1) + self.text


def read(document: str) -> str:
    """Return the text of a document, by its path from the root."""
    return (ROOT / document).read_text(encoding="utf-8")


def blocks(document: str, language: str) -> list[Block]:
    """Return the blocks of one language in a document, in order."""
    return [block for block in all_blocks(document) if block.language == language]


def languages_of(document: str) -> set[str]:
    """Return the languages of the blocks in a document."""
    return {block.language for block in all_blocks(document)}


def all_blocks(document: str) -> list[Block]:
    """Return the blocks of a document, in order."""
    lines = read(document).splitlines()
    found, headline, paragraph, opened = [], "", "", None
    for number, line in enumerate(lines, 1):
        fence = _FENCE.match(line)
        if fence and opened:
            opening, word = opened
            text = dedent("\n".join(lines[opening : number - 1]) + "\n")
            found.append(Block(document, headline, opening + 1, word, text, paragraph.strip()))
            paragraph, opened = "", None
        elif fence:
            opened = number, fence["language"]
        elif line.startswith("#") and not opened:
            headline, paragraph = line.lstrip("# "), ""
        elif not opened and line:
            paragraph = f"{paragraph} {line}" if lines[number - 2] else line
    return found


def compile_async(text: str, place: str) -> CodeType:
    """Compile a piece of code as the body of an async function."""
    code: CodeType = compile(text, f"<{place}>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    return code


async def run_block(block: Block, namespace: dict[str, Any]) -> None:
    """Run a block with the names of `namespace`."""
    result = eval(compile_async(block.placed, block.document), namespace)  # noqa: S307  our own documents
    if inspect.isawaitable(result):
        await result
