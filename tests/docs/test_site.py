"""The built documentation site: its links, and what it loads."""

import html
import os
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from gateway_async.upgrade import CHANGES, NameKind

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
            target = Path(os.path.normpath(path.parent / unquote(parts.path))) if parts.path else path
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
    assert {"gateway_async.OutcomeUnknownError", "gateway.transactions.create"} <= links


def test_pages_load_nothing_from_another_host(pages: dict[Path, str]) -> None:
    loaded = {link for text in pages.values() for link in LOADED.findall(text)}
    assert {link for link in loaded if urlsplit(link).netloc} == set()
    styles = [path.read_text(encoding="utf-8") for path in Path(str(SITE)).rglob("*.css")]
    assert [style for style in styles if re.search(r"url\(.?https?:|@import", style)] == []


def test_method_headings(pages: dict[Path, str]) -> None:
    """The page of a resource has a heading for each method, and its side bar their names but no fields."""
    page = next(text for path, text in pages.items() if path.match("api/transactions.html"))
    headings = [re.sub("<[^>]+>", "", found) for found in re.findall(r"<h2>(.*?)<a", page)]
    assert {"gateway.transactions.create(new)", "gateway.transactions.refund(id, …)"} <= {*headings}
    side_bar = page.partition('class="toc-tree"')[2].partition("</aside>")[0]
    assert ">refund<" in side_bar
    assert "auth_amount" not in side_bar


def test_comments_of_commands(pages: dict[Path, str]) -> None:
    """A line that begins with `# ` on a console is a comment, and no command of an administrator."""
    prompts = {prompt for text in pages.values() for prompt in re.findall(r'<span class="gp">(.*?)</span>', text)}
    assert {"$ "} <= prompts
    assert {prompt for prompt in prompts if "#" in prompt} == set()


def test_change_notes(pages: dict[Path, str]) -> None:
    """The reference notes each name that the last version changed, where it describes what has that name."""
    notes = re.findall(r'<div class="versionchanged">(.*?)</div>', "".join(pages.values()), re.DOTALL)
    shown = html.unescape(re.sub("<[^>]+>", "", " ".join(notes)))
    changed = {change.old for change in CHANGES if change.kind is not NameKind.MESSAGE}
    assert {old for old in changed if old not in shown} == set()


def test_contract_sections(pages: dict[Path, str]) -> None:
    """Each method of a resource links the section of the contract that it implements."""
    page = next(text for path, text in pages.items() if path.match("api/transactions.html"))
    methods = page.count('class="sig sig-object py" id="gateway.transactions.')
    assert page.count('href="contract.html#') == methods > 10


def test_older_addresses(pages: dict[Path, str]) -> None:
    """Methods and fields have anchors by the names that the code has, for links and for other projects."""
    page = next(text for path, text in pages.items() if path.match("api/transactions.html"))
    names = ("resources.transactions.Transactions.create", "resources.transactions.Transactions", "Transaction.tax")
    assert [name for name in names if f'id="gateway_async.{name}"' not in page] == []
    from sphinx.util.inventory import InventoryFile  # not installed with the extra `tests` alone

    inventory = InventoryFile.loads(Path(str(SITE), "objects.inv").read_bytes(), uri="").data
    known = {name for kind, names in inventory.items() if kind.startswith("py:") for name in names}
    assert {f"gateway_async.{name}" for name in names} | {"gateway.transactions.create"} <= known


def test_column_names(pages: dict[Path, str]) -> None:
    """Each column of a table has a name: a screen reader says it before each cell."""
    nameless = re.compile(r'<th class="head[^"]*">(?:<p></p>)?</th>')
    assert {path.name: count for path, text in pages.items() if (count := len(nameless.findall(text)))} == {}


def test_page_size(pages: dict[Path, str]) -> None:
    """A page takes less than 400 kB, so that a phone shows it quickly."""
    assert {path.name: len(text) for path, text in pages.items() if len(text) > 400_000} == {}
