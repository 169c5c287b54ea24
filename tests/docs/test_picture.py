"""The picture of the demo in the README is that of today's demo."""

import ast
import html
import re
from collections import defaultdict

from .documents import PACKAGE, read

PICTURE = "docs/pictures/demo.svg"


def picture_lines() -> list[str]:
    """Return the text of the picture, line by line."""
    lines: dict[int, str] = defaultdict(str)
    for number, text in re.findall(r'#demo-line-(\d+)\)">([^<]*)</text>', read(PICTURE)):
        lines[int(number)] += html.unescape(text).replace("\xa0", " ").rstrip("\n")
    return [lines[number] for number in sorted(lines)]


def texts_of_the_demo() -> set[str]:
    """Return the string literals of the demo."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in (PACKAGE / "cli" / "demo").glob("*.py")]
    values = (node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return {value for value in values if isinstance(value, str)}


def test_the_readme_shows_the_picture() -> None:
    """The README has the picture, which loads nothing from elsewhere."""
    assert f"]({PICTURE})" in read("README.md")
    assert re.findall(r"url\((?!#)|<script|@import", read(PICTURE)) == []


def test_the_picture_is_current() -> None:
    """The summary in the picture lists the chapters of the demo; `nox -s demo` draws it again."""
    lines = picture_lines()
    summary = lines[next(number for number, line in enumerate(lines) if line.startswith("Summary")) :]
    rows = [match for line in summary if (match := re.match(r" *(\d+) +(\S.*?)  ", line))]
    assert [int(row[1]) for row in rows] == list(range(1, 13))
    titles = [row[2].lstrip("0123456789,") for row in rows]  # a number comes from a constant
    assert set(titles) - texts_of_the_demo() == set()
