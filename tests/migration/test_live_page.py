"""The page of a running migration: what is served, who can read it, and how it ends."""

import socket

import anyio
import attrs
import httpx
import pytest

from gateway_async.cli.migrate.display import serve_live_page
from gateway_async.migration import Report, RowResult, RowState, Sample
from gateway_async.migration.output import live_page
from gateway_async.migration.output.page import render_page
from gateway_async.migration.output.summary import RunContext, RunProgress
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.asyncio

CARD = "4111111111111111"
REJECTS = (
    RowResult(key=CARD, api_id="", state=RowState.REJECTED, fingerprint="", line=7, reasons=("<script>alert(1)",)),
)
RUNNING = RunContext(input="cards.csv", newest_rejects=REJECTS, progress=RunProgress(rate=120.0, share=0.25, eta=90.0))


class Run:
    """A migration whose numbers the test sets."""

    def __init__(self) -> None:
        samples = [Sample(part * 0.5, part * 60, 0, 16) for part in range(20)]
        self.report = Report("cards", stored=1234, rejected=1, seconds=9.5, limit=16, in_flight=9, samples=samples)
        self.context = RUNNING
        self.times_read = 0

    def read(self) -> tuple[Report, RunContext]:
        self.times_read += 1
        return self.report, self.context

    def end(self) -> None:
        self.context = attrs.evolve(RUNNING, progress=None)


async def test_the_page_shows_a_running_migration() -> None:
    run = Run()
    async with serve_live_page(0, run.read) as url, httpx.AsyncClient(base_url=url) as browser:
        page = await browser.get("/")
    for shown in ("Running.", "1,234", "1,235", ">120<", "25%", "about 1 min 30 s", "9 of 16", "line 7"):
        assert shown in page.text
    assert CARD not in page.text
    assert "&lt;script&gt;alert(1)" in page.text
    assert page.headers["cache-control"] == "no-store"
    assert "frame-ancestors 'none'" in page.headers["content-security-policy"]


async def test_the_last_page_is_the_report() -> None:
    run = Run()
    async with serve_live_page(0, run.read) as url, httpx.AsyncClient(base_url=url) as browser:
        run.end()
        page = await browser.get("/")
    assert page.text == render_page(*run.read())
    assert "live" not in page.text.partition("</style>")[2]
    assert "script" not in page.text.replace("&lt;script&gt;", "")


@pytest.mark.parametrize("host", ["example.test", "example.test:8081", "127.0.0.1.example.test"])
async def test_a_foreign_name_of_this_machine_gets_nothing(host: str) -> None:
    async with serve_live_page(0, Run().read) as url, httpx.AsyncClient(base_url=url) as browser:
        for path in ("/", "/events"):
            refused = await browser.get(path, headers={"host": host})
            assert (refused.status_code, "1,234" in refused.text) == (400, False)
        assert (await browser.post("/")).status_code == 405


async def test_a_browser_that_does_not_read_delays_nothing() -> None:
    run = Run()
    with socket.socket() as hanging:
        hanging.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        with anyio.fail_after(PATIENCE):
            async with serve_live_page(0, run.read) as url:
                hanging.connect(("127.0.0.1", int(url.rpartition(":")[2])))
                hanging.sendall(b"GET /events HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
                async with httpx.AsyncClient(base_url=url) as browser:
                    assert "Running." in (await browser.get("/")).text
                run.end()


async def test_a_page_that_does_not_close_gets_a_whole_response() -> None:
    run = Run()
    is_open = anyio.Event()
    lines: list[str] = []

    async def read(url: str) -> None:
        async with httpx.AsyncClient(timeout=PATIENCE) as browser, browser.stream("GET", f"{url}/events") as response:
            is_open.set()
            lines.extend([line async for line in response.aiter_lines()])

    async with anyio.create_task_group() as pages, serve_live_page(0, run.read) as url:
        pages.start_soon(read, url)
        await is_open.wait()
        run.end()
    assert lines[-2:] == ["data: </main></body></html>", ""]


async def test_open_pages_share_one_rendering(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_page, "_UPDATE_SECONDS", 1000)  # however long they take to open
    run = Run()
    async with serve_live_page(0, run.read) as url, httpx.AsyncClient(base_url=url) as browser:
        async with anyio.create_task_group() as tasks:
            for _ in range(20):
                tasks.start_soon(browser.get, "/")
        assert run.times_read == 1
        run.end()
