"""Every program of the README and of the pages in docs/ runs as it is printed, against a sandbox."""

import csv
import io
import os
import re
import runpy
import subprocess
import sys
import tokenize
from itertools import zip_longest
from pathlib import Path
from typing import Any

import httpx
import pytest
from aiohttp.test_utils import TestClient, TestServer

from gateway_async import AsyncGateway, CardVaultCreate, Secret
from gateway_async.postbacks import PostbackReceiver
from gateway_async.sandbox import Sandbox
from tests.support.waiting import PATIENCE

from .documents import DOCUMENTS, ROOT, Block, blocks, read, run_block
from .typed_blocks import GIVEN

pytest_plugins = ["pytester"]

MAX_README_LINES = 200

PYTHON = [
    block
    for document in DOCUMENTS
    if document != "README.md" and not document.startswith("docs/tutorials/")  # test_tutorials.py runs these
    for block in blocks(document, "python")
]
START_PAGE = ("docs/index.md", "A sale whose response is lost")
FIRST_CALL = ("docs/start/first-call.md", "2. Write the program")  # test_shell_blocks.py runs it
FASTAPI_SERVICE = ("docs/guides/fastapi.md", "One client")
AIOHTTP_SERVICE = ("docs/guides/aiohttp.md", "An aiohttp service")
DEPLOYED_SERVICE = ("docs/guides/deployment.md", "A service with several workers")
SCRIPT = ("docs/guides/lists.md", "A script that streams vaults")
SEVERAL_CALLS = ("docs/guides/concurrency.md", "Charge several stored cards")
SYNCHRONOUS_SCRIPT = ("docs/guides/synchronous.md", "A script")
PORTAL = ("docs/guides/synchronous.md", "One portal for each process")
LOG_STEPS = ("docs/guides/logs-and-events.md", "See what the SDK does")
LOG_SETUP = ("docs/guides/logs-and-events.md", "In production")
TESTS = (("docs/guides/testing.md", "Testing"), ("docs/guides/crash-tests.md", "Crash tests"))
SHOWN = (SEVERAL_CALLS, LOG_STEPS, LOG_SETUP)
"""The programs whose output is the text block under the same headline."""
SYNCHRONOUS = (SYNCHRONOUS_SCRIPT, PORTAL)
SERVED = (FIRST_CALL, FASTAPI_SERVICE, AIOHTTP_SERVICE, DEPLOYED_SERVICE, SCRIPT)
PROGRAMS = (START_PAGE, *SERVED, *SHOWN, *SYNCHRONOUS, *TESTS)
CLIENTS = [block for block in PYTHON if "api.example.test" in block.text]
PIECES = [block for block in PYTHON if (block.document, block.headline) not in PROGRAMS and block not in CLIENTS]
CARD = CardVaultCreate(account_number="4111111111111111", exp_date="0930")


def program(place: tuple[str, str]) -> Block:
    """Return the first Python block under a headline of a document."""
    return next(block for block in PYTHON if (block.document, block.headline) == place)


def output_of(block: Block) -> str:
    """Run a program with warnings as errors, and return its standard output."""
    return _run(block).stdout


def _run(block: Block) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-c", block.text]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE)  # noqa: S603


def shown_lines(text: str, shown: str) -> list[str]:
    """Return the lines of an output as a document shows them: without times, and shortened where it shortens them."""
    lines = _without_times(text).splitlines()
    ends = [line.removesuffix("…") if line.endswith("…") else None for line in _without_times(shown).splitlines()]
    return [
        f"{end}…" if end is not None and line.startswith(end) else line
        for line, end in zip_longest(lines, ends, fillvalue="")
    ]


def _without_times(text: str) -> str:
    return re.sub(r"\d+\.\d{3} s", "0.000 s", text)


def load(block: Block, folder: Path) -> dict[str, Any]:
    """Run a block as a module, and return the names that it defines."""
    path = folder / "service.py"
    path.write_text(block.placed, encoding="utf-8")
    return runpy.run_path(str(path))


def test_the_programs_of_the_readme_are_those_of_the_first_tutorial() -> None:
    shown = [block.text for block in blocks("docs/tutorials/checkout.md", "python")]
    programs = [block.text for block in blocks("README.md", "python")]
    assert [text for text in programs if text not in shown] == []
    assert len(programs) == 2


def test_start_page() -> None:
    """The lost response of the start page leads to one payment."""
    (shown,) = blocks(START_PAGE[0], "text")
    assert output_of(program(START_PAGE)) == shown.text


@pytest.mark.parametrize("place", SHOWN, ids=str)
def test_output(place: tuple[str, str]) -> None:
    """The text under the program is its output; only times differ, and long lines may be shortened."""
    (shown,) = (block.text for block in blocks(place[0], "text") if block.headline == place[1])
    ended = _run(program(place))
    assert shown_lines(ended.stdout + ended.stderr, shown) == _without_times(shown).splitlines()


@pytest.mark.usefixtures("environment")
def test_synchronous(sandbox: Sandbox) -> None:
    """The portal charges a card once and closes the client at the exit; the script then lists the payment."""
    assert output_of(program(PORTAL)) == "paid\n"
    assert sandbox.ledger()["charged"] == {"1001-1": 1}
    assert output_of(program(SYNCHRONOUS_SCRIPT)).endswith(" 12.50\n")


@pytest.mark.parametrize("block", CLIENTS, ids=str)
def test_other_gateway(block: Block) -> None:
    """The client for another gateway is made with real arguments, without a request to it."""
    namespace: dict[str, Any] = {}
    exec(block.placed, namespace)  # noqa: S102  our own documents
    assert repr(namespace["gateway"]) == "AsyncGateway('https://api.example.test')"


@pytest.mark.asyncio
@pytest.mark.usefixtures("environment")
async def test_aiohttp_service(gateway: AsyncGateway, tmp_path: Path) -> None:
    """A card is shown without its number, and an unknown card gives 404."""
    card = await gateway.account_vaults.create(CARD)
    app = load(program(AIOHTTP_SERVICE), tmp_path)["make_app"]()
    async with TestClient(TestServer(app)) as shop:
        found, missing = await shop.get(f"/cards/{card.id}"), await shop.get("/cards/unknown")
        assert await found.json() == {"brand": "visa", "last_four": "1111", "expires": "0930"}
        assert missing.status == 404


@pytest.mark.asyncio
@pytest.mark.usefixtures("environment")
async def test_fastapi_service(gateway: AsyncGateway, tmp_path: Path) -> None:
    """A card is shown without its number, and an unknown card gives 404."""
    card = await gateway.account_vaults.create(CARD)
    app = load(program(FASTAPI_SERVICE), tmp_path)["app"]
    transport = httpx.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://shop.test") as shop,
    ):
        found, missing = await shop.get(f"/cards/{card.id}"), await shop.get("/cards/unknown")
    assert found.json() == {"brand": "visa", "last_four": "1111"}
    assert missing.status_code == 404


@pytest.mark.usefixtures("environment")
def test_the_script_writes_a_row_for_each_vault(sandbox: Sandbox) -> None:
    sandbox.add_vaults(6000)
    rows = list(csv.reader(output_of(program(SCRIPT)).splitlines()))
    assert len({vault_id for vault_id, *_ in rows}) == 6000


@pytest.mark.parametrize("piece", PIECES, ids=str)
@pytest.mark.asyncio
@pytest.mark.usefixtures("environment")
async def test_pieces(
    piece: Block,
    sandbox: Sandbox,
    gateway: AsyncGateway,
    ledger_database: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A block runs as it is printed, given a client, a stored card and a terminal."""
    if "PostgresLedger(" in piece.text and not ledger_database:
        pytest.skip("set GATEWAY_TEST_POSTGRES=postgresql://postgres@127.0.0.1:5432/test")
    if "redis://" in piece.text and not os.environ.get("GATEWAY_TEST_REDIS"):
        pytest.skip("start a Redis on 127.0.0.1 and set GATEWAY_TEST_REDIS=redis://127.0.0.1:6379/0")
    monkeypatch.chdir(tmp_path)
    number = CARD.account_number
    assert isinstance(number, Secret)
    (tmp_path / "cards.csv").write_text(f"Customer,Card No,Valid until\n7,{number.reveal()},12/30\n")
    card = await gateway.account_vaults.create(CARD)
    ids = {name: getattr(sandbox, name) for name in ("terminal_id", "contact_id")}
    ids["product_transaction_id"] = sandbox.cc_product_transaction_id
    given = {"gateway": gateway, "card": card, "sandbox": sandbox, **ids}
    assert given.keys() == GIVEN.keys()
    given["receiver"] = PostbackReceiver(allow_unauthenticated=True)  # of an earlier block
    await run_block(piece, given)


def test_the_tests_in_the_documents_pass(pytester: pytest.Pytester) -> None:
    for number, block in enumerate(block for block in PYTHON if (block.document, block.headline) in TESTS):
        text = block.text.replace("kills=5", "kills=1")  # each kill takes seconds
        pytester.makepyfile(**{f"test_{number}": text})
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=4)


@pytest.mark.parametrize("place", [place for place in PROGRAMS if place not in (*TESTS, START_PAGE)], ids=str)
def test_headlines(place: tuple[str, str]) -> None:
    """The headline of a program has one Python block only, so that every block is run."""
    assert [str(block) for block in PYTHON if (block.document, block.headline) == place] == [str(program(place))]


MARKS = re.compile(r"# (?:noqa|type:|pyright:)")
"""Comments for tools, which stay at the end of their line."""


@pytest.mark.parametrize("document", DOCUMENTS)
def test_comments(document: str) -> None:
    """Comments of programs and commands have lines of their own: on a phone, the end of a line is out of sight."""
    after_code = [
        f"{block}: {token.string}"
        for block in blocks(document, "python")
        for token in tokenize.generate_tokens(io.StringIO(block.text).readline)
        if token.type == tokenize.COMMENT and token.line[: token.start[1]].strip() and not MARKS.match(token.string)
    ]
    after_commands = [
        f"{block}: {line}"
        for block in blocks(document, "console")
        for line in block.text.splitlines()
        if re.match(r"\$ .*\s# ", line)
    ]
    assert after_code + after_commands == []


def test_the_readme_has_200_lines_at_most() -> None:
    assert len(read("README.md").splitlines()) <= MAX_README_LINES


def test_ci_runs_the_commands_of_the_readme() -> None:
    commands = [block.text.rstrip("\n") for document in DOCUMENTS for block in blocks(document, "sh")]
    asked_for = re.findall(r"readme_command '(.+?)'", (ROOT / ".ci/run").read_text(encoding="utf-8"))
    assert [command.endswith(end) for command, end in zip(commands, asked_for, strict=True)] == [True, True]


def test_deployed_service() -> None:
    """The program of docs/guides/deployment.md is a part of the example that the tests of deployment run."""
    shown = program(DEPLOYED_SERVICE).text
    assert shown[shown.index("logger = ") :] in read("examples/terminal_service.py")
