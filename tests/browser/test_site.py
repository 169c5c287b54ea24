"""The documentation site, as `nox -s docs` builds it: its search, its colors and its width."""

import os
import re
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlencode

import pytest
from playwright.async_api import Locator, Page, expect

from tests.support.browser import IN_BROWSER, Visitor, find_barriers

SITE = os.environ.get("GATEWAY_TEST_SITE")
pytestmark = [
    *IN_BROWSER,
    pytest.mark.skipif(SITE is None, reason="set GATEWAY_TEST_SITE=docs/_build after nox -s docs"),
]

PAGES = (
    "index",
    "search",
    "tutorials/checkout",
    "guides/operations",
    "sandbox/amounts",
    "sandbox/pages",
    "sandbox/states",
    "reference/errors",
    "reference/api/contract",
    "reference/api/transactions",
    "reference/commands/migrate",
    "why/benchmarks",
)
"""One of each kind."""
MORE_PAGES = (
    "guides/payments",
    "guides/upgrading",
    "sandbox/containers",
    "reference/api/codes",
    "reference/api/sandbox",
    "reference/commands/list",
    "why/money-rules",
    "why/reliability",
)
DESKTOP = {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"}
PAGES_ON_A_DESKTOP = ("index", "guides/operations", "reference/errors")
PHONE_WIDTH = 375
PHONE = {"viewport": {"width": PHONE_WIDTH, "height": 760}, "color_scheme": "dark"}


class _QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002  the name of the base class
        """Write nothing."""


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    """Serve the site, and return its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_QuietHandler, directory=SITE)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


FIRST_RESULTS = {
    "refund": "guides/payments.html#refund",
    "lost response": "guides/lost-responses.html",
    "timeout": "guides/timeouts-and-cancellation.html",
    "webhook": "guides/postbacks.html",
    "postback": "guides/postbacks.html",
    "card declined": "guides/payments.html",
    "install": "start/installation.html",
    "fastapi": "guides/fastapi.html",
    "migrate cards": "guides/migration.html",
    "testing with pytest": "guides/testing.html",
    "terminal": "guides/terminals.html",
    "recurring payments": "guides/recurring-payments.html",
    "subscription": "guides/recurring-payments.html",
    "gateway.transactions.create": "reference/api/transactions.html#gateway.transactions.create",
    "contacts.list": "reference/api/contacts.html#gateway.contacts.list",
    "OutcomeUnknownError": "reference/errors.html#outcomeunknownerror",
}
"""Words of a question → the result that stands first."""
AMONG_FIRST_RESULTS = {
    "declined card": "sandbox/amounts.html#approved-or-declined-cards",
    "charged twice": "guides/operations.html#a-card-is-charged-twice",
    "CA": "guides/payments.html",
    "country": "guides/payments.html",
    "idempotency": "guides/idempotent-checkout.html",
    "cents": "guides/payments.html",
}
"""Words of a question → a result that is one of the first three."""


@pytest.mark.timeout(300)
async def test_search(visitor: Visitor) -> None:
    """The page that answers a question is its first result, and a method is the first result of its name."""
    first = {}
    page = await visitor.open("/index.html")
    for words in FIRST_RESULTS:
        first[words] = await address_of((await search(page, words)).first)
    assert first == FIRST_RESULTS


async def test_common_words(visitor: Visitor) -> None:
    """Where several pages have the words, the one that most readers want is among the first three results."""
    page = await visitor.open("/index.html")
    first = {}
    for words in AMONG_FIRST_RESULTS:
        links = await search(page, words)
        first[words] = [await address_of(links.nth(place)) for place in range(3)]
    assert {words: found for words, found in first.items() if AMONG_FIRST_RESULTS[words] not in found} == {}


async def search(page: Page, words: str) -> Locator:
    """Search the site as a reader does, and return the links of the results."""
    await page.get_by_role("textbox", name="Search").fill(words)
    await page.keyboard.press("Enter")
    await expect(page).to_have_url(re.compile(re.escape(urlencode({"q": words}))))
    return page.locator("#search-results li > a")


async def address_of(link: Locator) -> str:
    """Return the address of a result, without the words to highlight."""
    return re.sub(r"\?[^#]*", "", await link.get_attribute("href") or "")


async def test_result_order(visitor: Visitor) -> None:
    """Guides come first, then the method of this name, and fields last."""
    page = await visitor.open("/search.html?q=refund")
    await expect(page.locator("#search-results li.kind-object").last).to_be_visible()
    results = await page.locator("#search-results li a").all_text_contents()
    fields = [index for index, text in enumerate(results) if text.startswith("gateway_async.") and "_" in text[14:]]
    assert results.index("Payments") < results.index("gateway.transactions.refund") < min(fields, default=999)


@pytest.mark.parametrize("visitor", [PHONE], indirect=True, ids=["375 px"])
async def test_section_link(visitor: Visitor) -> None:
    """The address of a section shows it, although tables above it have become cards."""
    page = await visitor.open("/guides/operations.html#after-a-crash")
    is_at_top = "() => document.getElementById('after-a-crash').getBoundingClientRect().top < 200"
    await page.wait_for_function(is_at_top)


async def test_required_fields(visitor: Visitor) -> None:
    """The required fields of a request are seen without opening a table."""
    page = await visitor.open("/reference/api/transactions.html")
    await expect(page.locator('[id="gateway_async.TransactionCreate.action"]')).to_be_visible()
    await expect(page.locator('[id="gateway_async.TransactionCreate.transaction_amount"]')).to_be_hidden()


async def test_field_link(visitor: Visitor) -> None:
    """The address of a field opens the table that has it."""
    page = await visitor.open("/reference/api/transactions.html#gateway_async.Transaction.auth_amount")
    await expect(page.locator('[id="gateway_async.Transaction.auth_amount"]')).to_be_in_viewport()
    await expect(page.locator('[id="gateway_async.TransactionCreate.order_num"]')).to_be_hidden()


@pytest.mark.parametrize(
    ("visitor", "name"),
    [*((PHONE, name) for name in PAGES), *((DESKTOP, name) for name in PAGES_ON_A_DESKTOP)],
    indirect=["visitor"],
    ids=[*PAGES, *(f"{name}, desktop" for name in PAGES_ON_A_DESKTOP)],
)
async def test_accessibility(visitor: Visitor, name: str) -> None:
    """Pages have no barriers, with their tables open: all of them on a dark phone, some on a light desktop."""
    page = await visitor.open(f"/{name}.html")
    await page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true })")
    assert await find_barriers(page) == []


@pytest.mark.parametrize("visitor", [PHONE], indirect=True, ids=["375 px"])
async def test_phone(visitor: Visitor) -> None:
    """No page is wider than a phone; wide tables and programs scroll by themselves."""
    widths = {}
    for name in (*PAGES, *MORE_PAGES):
        page = await visitor.open(f"/{name}.html")
        widths[name] = await page.evaluate("document.documentElement.scrollWidth")
        await page.close()
    assert {name: width for name, width in widths.items() if width > PHONE_WIDTH} == {}


@pytest.mark.parametrize("visitor", [PHONE], indirect=True, ids=["375 px"])
async def test_cards(visitor: Visitor) -> None:
    """On a phone, a row of a wide table is a card, with the names of its columns; figures stay in columns."""
    page = await visitor.open("/guides/operations.html")
    cell = page.locator("table.cards td:last-child").first
    box = await cell.bounding_box()
    assert box
    assert box["x"] + box["width"] <= PHONE_WIDTH
    assert await cell.get_attribute("data-column") == "what to do"
    page = await visitor.open("/why/reliability.html")
    await expect(page.locator("table:has(td.text-right)")).not_to_have_class("cards")


@pytest.mark.parametrize(
    "visitor", [{"color_scheme": "light"}, {"color_scheme": "dark"}], indirect=True, ids=["light", "dark"]
)
async def test_colors(visitor: Visitor, request: pytest.FixtureRequest) -> None:
    """A page and its screenshots are dark in a dark browser, and light in a light one."""
    page = await visitor.open("/guides/terminals.html")
    color = await page.evaluate("getComputedStyle(document.body).backgroundColor")
    brightness = sum(map(int, re.findall(r"\d+", color)[:3]))
    assert (brightness < 3 * 128) == ("dark" in request.node.name)
    screenshot = await page.locator("article img[src$='.png']:visible").get_attribute("src")
    assert screenshot
    assert ("dark" in screenshot) == ("dark" in request.node.name)
