"""The links of the documents work, and their lists agree with the code."""

import inspect
import re
from importlib import import_module
from pathlib import Path

import gateway_async
from gateway_async import GatewayError

from .documents import DOCUMENTS, PACKAGE, ROOT, blocks, read

MAX_TERMS = 40
PAGES = (*DOCUMENTS, "tests/README.md")
LINKING = sorted({path.name for path in ROOT.glob("*.md")} | {*PAGES})
BRANCH = re.compile(r"^(?P<indent>[│├└─ ]*)(?P<name>\w+)", re.MULTILINE)


def test_files() -> None:
    """Every link within the project names a file of it, relative to the document."""
    wrong = [
        (document, target)
        for document in LINKING
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", read(document))
        if not ((ROOT / document).parent / target).is_file()
    ]
    assert wrong == []


def test_headlines() -> None:
    """Every fragment of a link names a headline of the file that it points to."""
    wrong = [
        (document, f"{target}#{fragment}")
        for document in PAGES
        for target, fragment in re.findall(r"\]\((?!https?:)([^)#]*)#([^)]+)\)", read(document))
        if fragment not in headlines((ROOT / document).parent / target if target else ROOT / document)
    ]
    assert wrong == []


def headlines(path: Path) -> set[str]:
    """Return the fragments by which the headlines of a document can be linked."""
    found = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", headline).lower().replace(" ", "-") for headline in found}


def test_glossary() -> None:
    """The glossary has 40 terms at most, each once, in alphabetical order."""
    terms = re.findall(r"^\| (?!term|-)([^|]+) \|", read("docs/start/glossary.md"), re.MULTILINE)
    assert terms == sorted(set(terms), key=str.lower)
    assert len(terms) <= MAX_TERMS


def test_the_error_tree_of_the_documents_is_the_tree_of_the_classes() -> None:
    (drawing,) = blocks("docs/reference/errors.md", "text")
    parents: dict[str, str] = {}
    path: list[str] = []
    for branch in BRANCH.finditer(drawing.text):
        path[len(branch["indent"]) // 4 :] = [branch["name"]]
        parents[branch["name"]] = path[-2] if len(path) > 1 else "Exception"
    public = [getattr(gateway_async, name) for name in import_module("gateway_async").__all__ if name.endswith("Error")]
    errors = {error.__name__: {base.__name__ for base in error.__bases__} for error in public}
    assert parents.keys() == errors.keys()
    assert {name: parent for name, parent in parents.items() if parent not in errors[name]} == {}
    assert all(issubclass(error, GatewayError) for error in public)


def test_the_newest_version_in_the_changelog_is_the_packages() -> None:
    versions = re.findall(r"^## \[(\d[^]]*)\]", read("CHANGELOG.md"), re.MULTILINE)
    assert versions[0] == gateway_async.__version__


def test_the_names_in_the_changelog_exist_today() -> None:
    names = {part for name in re.findall(r"`([A-Za-z_][\w.]*)", read("CHANGELOG.md")) for part in name.split(".")}
    words = {word for path in PACKAGE.rglob("*.py") for word in re.findall(r"\w+", path.read_text(encoding="utf-8"))}
    assert sorted(names - words - {"nox"}) == []
    assert "AsyncGateway" in names


def test_the_options_of_the_documents_are_the_options_of_the_client() -> None:
    parameters = inspect.signature(gateway_async.AsyncGateway).parameters.values()
    options = {option.name: option.default for option in parameters if option.default is not option.empty}
    table = read("docs/reference/configuration.md").partition("\n## Options\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| `([^`]+)` \|", table, re.MULTILINE)
    assert dict(rows) == {name: repr(default) for name, default in options.items()}
