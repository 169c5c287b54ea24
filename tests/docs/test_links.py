"""What the documents point at is there, and what they count agrees."""

import re
import tomllib

import pytest

import gateway_async
from gateway_async import GatewayError

from .documents import ROOT, blocks, read

DOCUMENTS = sorted(path.name for path in ROOT.glob("*.md"))
BRANCH = re.compile(r"^(?P<indent>[│├└─ ]*)(?P<name>\w+)", re.MULTILINE)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_lead_to_files(document: str) -> None:
    """Every link within the project names a file of it."""
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", read(document))
    assert [target for target in targets if not (ROOT / target).is_file()] == []


def test_the_error_tree_of_the_readme_is_the_tree_of_the_classes() -> None:
    """Every public error is drawn below a class that it is derived from."""
    (drawing,) = blocks("README.md", "text")
    parents: dict[str, str] = {}
    path: list[str] = []
    for branch in BRANCH.finditer(drawing.text):
        path[len(branch["indent"]) // 4 :] = [branch["name"]]
        parents[branch["name"]] = path[-2] if len(path) > 1 else "Exception"
    public = [getattr(gateway_async, name) for name in gateway_async.__all__ if name.endswith("Error")]
    errors = {error.__name__: {base.__name__ for base in error.__bases__} for error in public}
    assert parents.keys() == errors.keys()
    assert {name: parent for name, parent in parents.items() if parent not in errors[name]} == {}
    assert all(issubclass(error, GatewayError) for error in public)


def test_the_newest_version_in_the_changelog_is_the_packages() -> None:
    """A release has its entry before it has its version."""
    versions = re.findall(r"^## \[(\d[^]]*)\]", read("CHANGELOG.md"), re.MULTILINE)
    assert versions[0] == tomllib.loads(read("pyproject.toml"))["project"]["version"]


def test_the_options_of_the_readme_are_the_options_of_the_client() -> None:
    """The configuration table names every option of `AsyncGateway` with its default."""
    import inspect

    parameters = inspect.signature(gateway_async.AsyncGateway).parameters.values()
    options = {option.name: option.default for option in parameters if option.default is not option.empty}
    table = read("README.md").partition("## Configuration")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| `([^`]+)` \|", table, re.MULTILINE)
    assert dict(rows) == {name: repr(default) for name, default in options.items()}
