"""The page of a running migration: seen in a browser until the migration ends."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from subprocess import PIPE

import anyio
import pytest
import pytest_asyncio
from playwright.async_api import expect

from gateway_async.sandbox import Sandbox
from tests.support.browser import IN_BROWSER, Visitor, find_barriers
from tests.support.processes import Process, start_command

pytestmark = IN_BROWSER

CARD = "4111111111111111"
SIZES = [
    {"viewport": {"width": 1280, "height": 800}, "color_scheme": "light"},
    {"viewport": {"width": 375, "height": 800}, "color_scheme": "dark"},
]


@pytest_asyncio.fixture(loop_scope="module")
async def migration(sandbox: Sandbox, tmp_path: Path) -> AsyncIterator[Process]:
    """Start a migration of the rows that the test writes."""
    files = ("--journal", str(tmp_path / "journal"), "--report", str(tmp_path / "report.html"))
    command = ("migrate", "-", "--format", "csv", "--serve", "0", *files)
    with start_command(command, sandbox.environment(), stdin=PIPE, bufsize=1) as process:
        assert process.stdin
        process.stdin.write("key,account_number,exp_date\n")
        yield process


@pytest.fixture
def base_url(migration: Process) -> str:
    """Return the address of the page of the migration."""
    assert migration.stderr
    return migration.stderr.readline().removeprefix("Live page: ").strip()


@pytest.mark.parametrize("visitor", SIZES, indirect=True, ids=["wide", "phone and dark"])
async def test_migration(visitor: Visitor, migration: Process, tmp_path: Path) -> None:
    """The open page shows each state and the counts, and becomes the report when the command ends."""
    page = await visitor.open()
    status = page.get_by_role("status")
    await expect(status).to_have_text("Running.")
    assert migration.stdin
    migration.stdin.writelines(f"<b>{row}</b>,{CARD},{'13/30' if row < 2 else '12/30'}\n" for row in range(60))
    await expect(page.get_by_role("heading", name="Newest rejects")).to_be_visible()
    await expect(page.get_by_text("line 3 · <b>1</b>")).to_be_visible()
    assert await find_barriers(page) == []
    await expect(page.get_by_role("img", name="Progress")).to_be_visible()
    migration.stdin.close()
    await expect(status).to_have_text("Every row has ended; 2 of 60 were rejected.")
    await expect(page.locator("dl.tiles")).to_have_text(re.compile(r"Stored\s*58\s*Rejected\s*2"))
    await expect(page.get_by_role("heading", name="Now")).to_have_count(0)
    assert await find_barriers(page) == []
    assert await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0
    assert CARD not in await page.content()
    assert await anyio.to_thread.run_sync(migration.wait) == 3
    shown = await page.locator("main").inner_text()
    await page.goto("about:blank")
    await page.set_content((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert _lines(await page.locator("main").inner_text()) == _lines(shown)


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]
