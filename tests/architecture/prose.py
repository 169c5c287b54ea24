"""Check names and words against the writing rules: `python tests/architecture/prose.py [PATH …]`.

The check covers identifiers, docstrings and comments everywhere, string literals outside the tests, and Markdown.
"""

import ast
import inspect
import io
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PATHS = (
    "gateway_async",
    "tests",
    "examples",
    "benchmarks",
    "docs",
    "hatch_build.py",
    "noxfile.py",
    "pyproject.toml",
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
)
BUILT = ("docs/_build/", "docs/reference/api/", "docs/reference/commands/")
"""Folders that the build of the site writes, from texts that are checked elsewhere."""

METAPHORS = ["scribe", "crew", "shelf", "shelves", "courier", "witness", "deed", "lane", "mishap", "night", "nightly"]
UNUSUAL = ["whom", "whoever", "nobody", "somebody", "bears", "anew", "mend", "lies"]
PHRASES = (
    *(rf"{word}s?" for word in METAPHORS),
    *UNUSUAL,
    r"(?:the|its|own|two|three) books?",
    r"(?:keeps?|in|for) company",
    r"(?:its|a|own) (?:life|lives)",
    r"of late",
    r"what bec(?:ame|omes?) of",
    r"told of",
    r"hears? of",
    r"lets? go of",
    r"in one go",
    r"goes by how",
)
BANNED = re.compile(r"(?i)\b(?:" + "|".join(phrase.replace(" ", r"\s+") for phrase in PHRASES) + r")\b")
BANNED_NAMES = re.compile(
    r"(?i)(?<![a-z])(?:" + "|".join([*METAPHORS, *UNUSUAL, "books?", "letters?", "turns?"]) + r")(?![a-z])"
)
STANDARD_NAMES = {"letters", "ascii_letters"}
"""Names from Python's own modules, and of letters of the alphabet."""


class Finding(NamedTuple):
    """One break of a rule."""

    path: Path
    line: int
    rule: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.rule}: {self.text}"


class Passage(NamedTuple):
    """A text for readers: a docstring, a comment, a string literal or a whole document."""

    line: int
    text: str

    def line_of(self, position: int) -> int:
        """Return the line of a position in the text."""
        return self.line + self.text.count("\n", 0, position)


def check(path: Path) -> Iterator[Finding]:
    """Check one file."""
    text = path.read_text(encoding="utf-8")
    path = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    if path.suffix == ".py":
        yield from check_python(path, text)
    else:
        yield from check_passage(path, Passage(1, text))


def check_python(path: Path, text: str) -> Iterator[Finding]:
    """Check the names and the texts of a Python file."""
    nodes = [*ast.walk(ast.parse(text))]
    yield from (Finding(path, line, "name", name) for line, name in banned_names(path, nodes))
    documentation = [*docstrings(nodes)]
    passages = [Passage(node.lineno, inspect.cleandoc(str(node.value))) for node in documentation]
    passages += strings(nodes, documentation) if path.parts[0] != "tests" else ()
    if BANNED.search(re.sub(r"\n\s*#[# ]*", " ", text)):  # tokenizing takes long, and most comments have no such word
        passages += comments(text)
    for passage in passages:
        yield from check_passage(path, passage)


def check_passage(path: Path, passage: Passage) -> Iterator[Finding]:
    """Check the words of a text."""
    for match in BANNED.finditer(passage.text):
        yield Finding(path, passage.line_of(match.start()), "word", re.sub(r"\s+", " ", match[0]))


def docstrings(nodes: Iterable[ast.AST]) -> Iterator[ast.Constant]:
    """Yield every docstring, those of attributes too."""
    for node in nodes:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value


def strings(nodes: Iterable[ast.AST], documentation: Iterable[ast.Constant]) -> Iterator[Passage]:
    """Yield the string literals that are no docstrings."""
    known = {id(node) for node in documentation}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in known:
            yield Passage(node.lineno, node.value)


def comments(text: str) -> Iterator[Passage]:
    """Yield the comments, with those on consecutive lines as one."""
    lines: list[str] = []
    first = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type != tokenize.COMMENT or re.match(r"# (?:noqa|type:|pyright:)|#!", token.string):
            continue
        if lines and token.start[0] != first + len(lines):
            yield Passage(first, "\n".join(lines))
            lines = []
        first = first if lines else token.start[0]
        lines.append(token.string.lstrip("# "))
    if lines:
        yield Passage(first, "\n".join(lines))


def banned_names(path: Path, nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """Yield the banned names that a module defines, and its own if it is one."""
    for line, name in [(1, path.stem), *defined_names(nodes)]:
        words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).replace("_", " ")
        if BANNED_NAMES.search(words) and name not in STANDARD_NAMES:
            yield line, name


def defined_names(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """Yield the names that a module defines: functions, classes, arguments, variables and attributes."""
    for node in nodes:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield node.lineno, name
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield node.lineno, name


def files(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield the files to check below some paths."""
    for path in paths:
        found = [path] if path.is_file() else sorted(path.rglob("*"))
        checked = (file for file in found if not file.is_relative_to(ROOT) or not _is_built(file))
        yield from (file for file in checked if file.suffix in {".py", ".md", ".html", ".j2", ".toml"})


def _is_built(file: Path) -> bool:
    return file.relative_to(ROOT).as_posix().startswith(BUILT)


def main(arguments: list[str]) -> int:
    """Print all findings and return the exit status."""
    paths = [Path(argument).resolve() for argument in arguments] or [ROOT / path for path in PATHS]
    findings = [finding for path in files(paths) for finding in check(path)]
    print(*findings, sep="\n")  # noqa: T201  its output
    print(f"{len(findings)} findings", file=sys.stderr)  # noqa: T201
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
