"""A person at a real browser, which asks no other host and writes nothing on its console."""

import os
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import BrowserContext, ConsoleMessage, Page, Request, Route

CHROMIUM = os.environ.get("GATEWAY_TEST_CHROMIUM")

IN_BROWSER = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(CHROMIUM is None, reason="GATEWAY_TEST_CHROMIUM names no browser"),
]
"""The marks of a module of tests that use the fixtures of `tests/browser`."""


class Visitor:
    """A person at a browser, and what the browser complained about."""

    def __init__(self, context: BrowserContext, base_url: str) -> None:
        self.context = context
        self.base_url = base_url
        self.complaints: list[str] = []

    async def open(self, path: str = "/") -> Page:
        """Open a path of the sandbox, or a whole URL, in a new tab."""
        page = await self.context.new_page()
        page.on("console", self._note)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        await page.goto(path if path.startswith("http") else self.base_url + path)
        return page

    async def route(self, route: Route, request: Request) -> None:
        """Refuse requests to other hosts."""
        if urlsplit(request.url).netloc != urlsplit(self.base_url).netloc:
            self.complaints.append(f"a request to {request.url}")
            await route.abort()
        else:
            await route.continue_()

    def _note(self, message: ConsoleMessage) -> None:
        # Chromium logs every 4xx and 5xx status, which some tests want.
        if "the server responded with a status of" not in message.text:
            self.complaints.append(message.text)


async def find_barriers(page: Page, exclude: str = "") -> list[str]:
    """Return what axe finds that keeps people with disabilities from using a page, but for one of its elements."""
    await page.wait_for_load_state()  # the styles too: a heading is there before them
    # With "preload", axe would add imported styles inline, which the pages forbid. Most elements violate nothing.
    options = {"preload": False, "resultTypes": ["violations"]}
    found = await Axe().run(page, {"exclude": [[exclude]]} if exclude else None, options)
    return [
        f"{each['id']}: {node['html'][:120]}: {node['failureSummary']}"
        for each in found.response["violations"]
        for node in each["nodes"]
    ]
