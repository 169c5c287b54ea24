"""The built documentation site: its links, and what it loads."""

import os
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

SITE = os.environ.get("GATEWAY_TEST_SITE")
pytestmark = pytest.mark.skipif(SITE is None, reason="set GATEWAY_TEST_SITE=docs/_build after nox -s docs")

LINK = re.compile(r'<a [^>]*?href="([^"]+)"')
LOADED = re.compile(r'<(?:link|script|img|source|iframe)\b[^>]*?(?:href|src)="([^"]+)"')
OF_SPHINX = {"search.html", "genindex.html"}
"""Pages without a text of ours."""


@pytest.fixture(scope="module")
def pages() -> dict[Path, str]:
    return {path: path.read_text(encoding="utf-8") for path in Path(str(SITE)).resolve().rglob("*.html")}


def test_links(pages: dict[Path, str]) -> None:
    """Each link within the site names a file of it, and each fragment an element of that file."""
    ids = {path: set(re.findall(r'\bid="([^"]+)"', text)) for path, text in pages.items()}
    broken = []
    for path, text in pages.items():
        for link in set(LINK.findall(text)) if path.name not in OF_SPHINX else ():
            parts = urlsplit(link)
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not parts.scheme and not (
                target.exists() and (not parts.fragment or unquote(parts.fragment) in ids.get(target, ()))
            ):
                broken.append(f"{path.name}: {link}")
    assert broken == []
    assert len(pages) > 1


def test_references() -> None:
    """A class in a text and a method in a program are links into the reference."""
    page = Path(str(SITE), "guides/lost-responses.html").read_text(encoding="utf-8")
    links = {link.rpartition("#")[2] for link in LINK.findall(page)}
    in_text, in_program = "OutcomeUnknownError", "resources.transactions.Transactions.create"
    assert {f"gateway_async.{in_text}", f"gateway_async.{in_program}"} <= links


def test_pages_load_nothing_from_another_host(pages: dict[Path, str]) -> None:
    loaded = {link for text in pages.values() for link in LOADED.findall(text)}
    assert {link for link in loaded if urlsplit(link).netloc} == set()
    styles = [path.read_text(encoding="utf-8") for path in Path(str(SITE)).rglob("*.css")]
    assert [style for style in styles if re.search(r"url\(.?https?:|@import", style)] == []
