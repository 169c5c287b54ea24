"""Every program of the README runs as it is printed, against a sandbox."""

import csv
import os
import re
import runpy
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from aiohttp.test_utils import TestClient, TestServer

from gateway_async import AsyncGateway, CardVaultCreate
from gateway_async.postbacks import PostbackReceiver
from gateway_async.sandbox import Sandbox

from .documents import ROOT, Block, blocks, run_block

pytest_plugins = ["pytester"]

PYTHON = blocks("README.md", "python")
PROGRAMS = ("A first call", "A FastAPI service", "An aiohttp service", "A script that streams vaults", "Your tests")
PIECES = [block for block in PYTHON if block.headline not in PROGRAMS]
CARD = CardVaultCreate(account_number="4111111111111111", exp_date="0930")


def program(headline: str) -> Block:
    """The first Python block under a headline."""
    return next(block for block in PYTHON if block.headline == headline)


def printed_by(block: Block) -> str:
    """What a program writes to standard output, run by itself, with warnings as errors."""
    command = [sys.executable, "-W", "error", "-c", block.text]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout  # noqa: S603


def loaded(block: Block, folder: Path) -> dict[str, Any]:
    """The names that a module defines."""
    path = folder / "service.py"
    path.write_text(block.placed, encoding="utf-8")
    return runpy.run_path(str(path))


@asynccontextmanager
async def shop(block: Block, folder: Path) -> AsyncIterator[httpx.AsyncClient]:
    """A client of an ASGI service between its start and its end."""
    app = loaded(block, folder)["app"]
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://shop.test") as client,
    ):
        yield client


def test_the_first_call_stores_a_card_and_charges_it() -> None:
    """The first program needs nothing but the package, and prints an approved payment."""
    assert printed_by(program("A first call")) == "visa 1111: 12.50 approved: True\n"


def test_the_other_way_to_make_a_client_names_real_arguments() -> None:
    """The client for a gateway elsewhere is made without a word to that gateway."""
    namespace: dict[str, Any] = {}
    exec(next(block for block in PYTHON if "api.example.test" in block.text).placed, namespace)  # noqa: S102
    assert repr(namespace["gateway"]) == "AsyncGateway('https://api.example.test')"


@pytest.mark.parametrize(("total", "status"), [("12.50", "paid"), ("6.16", "declined")])
@pytest.mark.asyncio
@pytest.mark.usefixtures("environment")
async def test_the_fastapi_service_tells_how_a_payment_ended(
    gateway: AsyncGateway, tmp_path: Path, total: str, status: str
) -> None:
    """An order is paid or declined, and answered with 200 either way."""
    card = await gateway.account_vaults.create(CARD)
    async with shop(program("A FastAPI service"), tmp_path) as client:
        answer = await client.post("/payments", json={"number": "1001", "card": card.id, "total": total})
    assert (answer.status_code, answer.json()["status"]) == (200, status)


@pytest.mark.asyncio
@pytest.mark.usefixtures("environment")
async def test_the_fastapi_service_does_not_guess(sandbox: Sandbox, gateway: AsyncGateway, tmp_path: Path) -> None:
    """An order whose outcome is unknown is answered with 202 and its number."""
    card = await gateway.account_vaults.create(CARD)
    sandbox.fault("POST /v2/transactions", "close_after_commit")
    sandbox.fault("GET /v2/transactions/{id}", "error_before_commit", times=100)
    async with shop(program("A FastAPI service"), tmp_path) as client:
        answer = await client.post("/payments", json={"number": "1001", "card": card.id, "total": "12.50"})
    assert answer.status_code == 202
    assert answer.json() == {"order": "1001", "status": "not known yet"}


@pytest.mark.asyncio
@pytest.mark.usefixtures("environment")
async def test_the_aiohttp_service_shows_a_card(gateway: AsyncGateway, tmp_path: Path) -> None:
    """A card is shown without its number, and an unknown one is not found."""
    card = await gateway.account_vaults.create(CARD)
    app = loaded(program("An aiohttp service"), tmp_path)["make_app"]()
    async with TestClient(TestServer(app)) as shop:
        found, missing = await shop.get(f"/cards/{card.id}"), await shop.get("/cards/nobody")
        assert await found.json() == {"brand": "visa", "last_four": "1111", "expires": "0930"}
        assert missing.status == 404


@pytest.mark.usefixtures("environment")
def test_the_script_writes_a_row_for_each_vault(sandbox: Sandbox) -> None:
    """The stream of vaults ends as CSV, one row for each."""
    sandbox.add_vaults(6000)
    rows = list(csv.reader(printed_by(program("A script that streams vaults")).splitlines()))
    assert len({vault_id for vault_id, *_ in rows}) == 6000


@pytest.mark.parametrize("piece", PIECES, ids=str)
@pytest.mark.asyncio
@pytest.mark.usefixtures("environment")
async def test_a_piece_runs_where_the_readme_says_it_stands(
    piece: Block, sandbox: Sandbox, gateway: AsyncGateway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a client, a stored card and a terminal at hand, the piece runs as it is printed, in a folder of its own."""
    if "redis://" in piece.text and not os.environ.get("GATEWAY_TEST_REDIS"):
        pytest.skip("start a Redis on 127.0.0.1 and set GATEWAY_TEST_REDIS=redis://127.0.0.1:6379/0")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cards.csv").write_text(f"Customer,Card No,Valid until\n7,{CARD.account_number.reveal()},12/30\n")  # type: ignore[union-attr]  it has one
    card = await gateway.account_vaults.create(CARD)
    ids = {name: getattr(sandbox, name) for name in ("terminal_id", "contact_id")}
    ids["product_transaction_id"] = sandbox.cc_product_transaction_id
    given = {"gateway": gateway, "card": card, "receiver": PostbackReceiver(None, None), **ids}
    await run_block(piece, given)


def test_the_tests_in_the_readme_pass(pytester: pytest.Pytester) -> None:
    """The plugin's fixtures do what the examples say, without any configuration."""
    for place, block in enumerate(block for block in PYTHON if block.headline == "Your tests"):
        pytester.makepyfile(**{f"test_{place}": block.text})
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=3)


def test_ci_runs_the_commands_of_the_readme() -> None:
    """Each shell line of the README is found by `.ci/run`, which runs nothing else before ruff, mypy and pyright."""
    commands = [block.text.rstrip("\n") for block in blocks("README.md", "sh")]
    asked_for = re.findall(r"readme_command '(.+?)'", (ROOT / ".ci/run").read_text(encoding="utf-8"))
    assert [command.endswith(end) for command, end in zip(commands, asked_for, strict=True)] == [True, True]
