"""The documentation site, as `nox -s docs` builds it: its search, its colors and its width."""

import os
import re
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.async_api import expect

from tests.support.browser import IN_BROWSER, Visitor

SITE = os.environ.get("GATEWAY_TEST_SITE")
pytestmark = [
    *IN_BROWSER,
    pytest.mark.skipif(SITE is None, reason="set GATEWAY_TEST_SITE=docs/_build after nox -s docs"),
]

PAGES = (
    "index",
    "guides/payments",
    "sandbox/amounts",
    "sandbox/pages",
    "reference/api/transactions",
    "why/money-rules",
)
PHONE = {"viewport": {"width": 375, "height": 760}}


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


async def test_search_finds_a_guide(visitor: Visitor) -> None:
    page = await visitor.open("/index.html")
    await page.get_by_role("textbox", name="Search").fill("refund")
    await page.keyboard.press("Enter")
    await expect(page.locator("#search-results li a", has_text="Payments").first).to_be_visible()


@pytest.mark.parametrize("visitor", [PHONE], indirect=True, ids=["375 px"])
async def test_phone(visitor: Visitor) -> None:
    """No page is wider than a phone; wide tables and programs scroll by themselves."""
    widths = {}
    for name in PAGES:
        page = await visitor.open(f"/{name}.html")
        widths[name] = await page.evaluate("document.documentElement.scrollWidth")
        await page.close()
    assert {name: width for name, width in widths.items() if width > PHONE["viewport"]["width"]} == {}


@pytest.mark.parametrize(
    "visitor", [{"color_scheme": "light"}, {"color_scheme": "dark"}], indirect=True, ids=["light", "dark"]
)
async def test_colors(visitor: Visitor, request: pytest.FixtureRequest) -> None:
    """A page is dark in a dark browser, and light in a light one."""
    page = await visitor.open("/guides/payments.html")
    color = await page.evaluate("getComputedStyle(document.body).backgroundColor")
    brightness = sum(map(int, re.findall(r"\d+", color)[:3]))
    assert (brightness < 3 * 128) == ("dark" in request.node.name)
