"""The fixtures of browser tests: a browser, a window in it, a sandbox and a client."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, async_playwright, expect

from gateway_async import AsyncGateway
from gateway_async.sandbox import Sandbox
from tests.support.browser import CHROMIUM, Visitor
from tests.support.sandboxes import manual_sandbox

MILLISECONDS = 60_000  # to wait for what a page shows; a busy machine needs more than Playwright's 5 seconds
expect.set_options(timeout=MILLISECONDS)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    """Run one browser for the tests of a module."""
    async with async_playwright() as playwright:
        options = ["--no-sandbox", "--renderer-process-limit=1"]  # a process for each tab costs more than its page
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=options)
        yield browser
        await browser.close()


sandbox = pytest.fixture(manual_sandbox)


@pytest_asyncio.fixture(loop_scope="module")
async def gateway(sandbox: Sandbox) -> AsyncIterator[AsyncGateway]:
    """Open a client of the sandbox."""
    async with sandbox.gateway() as gateway:
        yield gateway


@pytest.fixture
def base_url(sandbox: Sandbox) -> str:
    """Return the address of the pages that the visitor opens."""
    return sandbox.base_url


@pytest_asyncio.fixture(loop_scope="module")
async def visitor(browser: Browser, base_url: str, request: pytest.FixtureRequest) -> AsyncIterator[Visitor]:
    """Open a browser window; a module's or test's parameter may be options of the window, such as its size."""
    options: dict[str, Any] = getattr(request, "param", {})
    context = await browser.new_context(**options)
    context.set_default_timeout(MILLISECONDS)
    visitor = Visitor(context, base_url)
    await context.route("**", visitor.route)
    yield visitor
    await context.close()
    assert visitor.complaints == []
