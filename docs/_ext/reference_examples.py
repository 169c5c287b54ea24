"""Read the examples of the reference: a file for each page in `docs/reference/examples`.

A section has the name of a method, a program, and the output of the program. The text before the first section creates
what the programs of the page use. The tests run them all.
"""

import re
from pathlib import Path
from typing import Final

import attrs

FOLDER: Final = Path(__file__).parents[1] / "reference/examples"

EXAMPLES_OF_COMMANDS: Final = "commands"
"""The page with the examples of the commands."""

_SECTION: Final = re.compile(r"^## ([\w ]+)\n+", re.MULTILINE)
_PREPARATION: Final = re.compile(r"```python\n.*?```", re.DOTALL)
_OUTPUT: Final = re.compile(r"```text\n(.*?)```", re.DOTALL)


@attrs.frozen
class PageExamples:
    """The examples of a page.

    Attributes:
        preparation: the text that introduces them, with the program that runs before each.
        by_method: name of a method → its example, as Markdown.
    """

    preparation: str = ""
    by_method: dict[str, str] = attrs.field(factory=dict)


def read_examples(page: str) -> PageExamples:
    """Return the examples of a page; none if it has no file."""
    path = FOLDER / f"{page}.md"
    if not path.exists():
        return PageExamples()
    preparation, *parts = _SECTION.split(path.read_text(encoding="utf-8"))
    texts = [_OUTPUT.sub(_as_output, text.strip()) for text in parts[1::2]]
    introduction = preparation.partition("\n")[2].strip()
    return PageExamples(
        _PREPARATION.sub(_as_details, introduction),
        dict(zip(parts[::2], texts, strict=True)),
    )


def _as_details(block: re.Match[str]) -> str:
    opening = '<details class="fields"><summary>What they start with</summary>'
    return f"{opening}\n\n{block[0]}\n\n</details>"


def _as_output(block: re.Match[str]) -> str:
    return f"```{{code-block}} text\n:class: output\n\n{block[1]}```"
