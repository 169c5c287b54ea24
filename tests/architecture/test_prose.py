"""Names, docstrings, comments, messages and documents are in plain English."""

import ast
import itertools
import re
from pathlib import Path

import pytest

from gateway_async._text import pluralize

from . import prose
from .source import modules, tree

PLANTED = '''"""Things that nobody needs."""

TEXT = "What became of it is not known."
STANDARD = ("midnight", "a letterhead", "on behalf", "amends")


class Courier:
    """Bring a letter."""

    def open_lane(self, the_deed: int) -> None:
        """It opens the gate."""
        self.book = the_deed  # all in
                              # one go

'''


def found_in(folder: Path, name: str, text: str) -> list[str]:
    """Return the findings in a file of this text, without its path."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return [str(finding).removeprefix(f"{path}:") for finding in prose.check(path)]


@pytest.mark.parametrize("path", prose.PATHS)
def test_the_repository_is_in_plain_english(path: str) -> None:
    assert [str(finding) for file in prose.files([prose.ROOT / path]) for finding in prose.check(file)] == []


def test_module(tmp_path: Path) -> None:
    """Banned names and words are reported."""
    assert sorted(found_in(tmp_path, "planted.py", PLANTED)) == [
        "10: name: open_lane",
        "10: name: the_deed",
        "12: name: book",
        "12: word: in one go",
        "1: word: nobody",
        "3: word: What became of",
        "7: name: Courier",
    ]


COUNTED = re.compile(
    r" (?:(?:concurrent|open|postback) )?(?:accounts|attempts|calls|configs|days|payments|postbacks|records|results"
    r"|rows|vaults)\b(?!/| per second)"
)


def test_pluralize() -> None:
    """A number that may be 1 gets its noun from `pluralize`. The sandbox cannot, and the demo's are known."""
    found = [
        f"{path}:{text.lineno}: {ast.unparse(text)}"
        for path in modules()
        if path.parts[0] != "sandbox" and "demo" not in path.parts
        for text in ast.walk(tree(path))
        if isinstance(text, ast.JoinedStr)
        for value, words in itertools.pairwise(text.values)
        if isinstance(value, ast.FormattedValue) and isinstance(words, ast.Constant) and COUNTED.match(str(words.value))
        if not ast.unparse(value.value).strip("_").isupper()
    ]
    assert found == []


def test_only_the_noun_after_one_is_singular() -> None:
    assert [pluralize(number, "call") for number in (0, 1, 1.0, 1.5, 2)] == ["calls", "call", "call", "calls", "calls"]
    assert [pluralize(number, "call is", "calls are") for number in (1, 2)] == ["call is", "calls are"]
