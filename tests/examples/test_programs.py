"""The shorter programs in `examples/`: each runs as a process, as a user would run it, against a real sandbox."""

import asyncio
import contextlib
import json
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from gateway_async import AsyncGateway, CardVaultCreate
from gateway_async.sandbox import Sandbox
from tests.support.waiting import PATIENCE

EXAMPLES = Path(__file__).parents[2] / "examples"
RUNNING = re.compile(rb"running on (http://127\.0\.0\.1:\d+)")
POINT_OF_SALE = ("-m", "uvicorn", "--app-dir", str(EXAMPLES), "point_of_sale:app", "--port", "0")
MOVE_CARDS = str(EXAMPLES / "move_cards.py")
HEADER = "Customer;Card No;Valid until;Holder;Remark"
CARD = "4111111111111111"
LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=0)
"""uvicorn closes an idle connection after five seconds, which a busy machine may reach before its next request."""

pytestmark = pytest.mark.asyncio


@contextlib.asynccontextmanager
async def running(
    sandbox: Sandbox, *arguments: str, folder: Path | None = None, **environment: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run Python with an example until the end of the block."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-u", *arguments),
        cwd=folder,
        env=os.environ | sandbox.environment() | environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.communicate()


async def url_of(process: asyncio.subprocess.Process) -> str:
    """Read the output until the server names its address."""
    assert process.stdout
    with anyio.fail_after(PATIENCE):
        async for line in process.stdout:
            if found := RUNNING.search(line):
                return found[1].decode()
    pytest.fail("it did not start")


@contextlib.asynccontextmanager
async def point_of_sale(sandbox: Sandbox, folder: Path) -> AsyncIterator[httpx.AsyncClient]:
    """Run the point of sale with a ledger in a folder, and yield the client of a till."""
    async with (
        running(sandbox, *POINT_OF_SALE, LEDGER=str(folder / "payments.db")) as process,
        httpx.AsyncClient(base_url=await url_of(process), trust_env=False, timeout=PATIENCE, limits=LIMITS) as till,
    ):
        yield till


async def start(client: httpx.AsyncClient, name: str, terminal_id: str, amount: str) -> int:
    return (await client.put(f"/sales/{name}", json={"terminal_id": terminal_id, "amount": amount})).status_code


async def events_of(client: httpx.AsyncClient, name: str) -> list[dict[str, Any]]:
    async with client.stream("GET", f"/sales/{name}/events") as response:
        return [json.loads(line.removeprefix("data: ")) async for line in response.aiter_lines() if line]


async def sell(client: httpx.AsyncClient, name: str, terminal_id: str, amount: str) -> list[dict[str, Any]]:
    """Sell at a terminal, again if the backend asks for it, and return all events of the last try."""
    while True:
        assert await start(client, name, terminal_id, amount) == 202
        events = await events_of(client, name)
        if events[-1]["result"] != "try again":
            return events
        await anyio.sleep(0.2)


async def test_two_hundred_terminals(sandbox: Sandbox, tmp_path: Path) -> None:
    """All sales wait at the same time, show their progress, and are charged once."""
    terminals = [sandbox.add_terminal(f"Till {number}") for number in range(200)]
    results: list[list[dict[str, Any]]] = []
    async with point_of_sale(sandbox, tmp_path) as tills:

        async def sell_one(name: str, terminal_id: str, amount: str) -> None:
            results.append(await sell(tills, name, terminal_id, amount))

        async with anyio.create_task_group() as tasks:
            for number, terminal_id in enumerate(terminals):
                amount = "6.16" if number % 10 == 0 else "12.50"
                tasks.start_soon(sell_one, f"till-{number}", terminal_id, amount)
        # At 8.04, the customer takes four seconds.
        slow = await sell(tills, "slow", terminals[0], "8.04")
        assert (await tills.put("/sales/empty", json={})).status_code == 422
        assert (await tills.get("/sales/none/events")).status_code == 404
    assert sorted(events[-1]["result"] for events in results) == ["approved"] * 180 + ["declined"] * 20
    assert "at the terminal" in {event.get("state") for event in slow}
    assert set(sandbox.ledger()["charged"].values()) <= {0, 1}
    assert sum(sandbox.ledger()["charged"].values()) == 181


async def test_repeated_sale(sandbox: Sandbox, tmp_path: Path) -> None:
    """A name is charged once by any number of requests and processes; another amount under it is a conflict."""
    for _ in range(2):
        async with point_of_sale(sandbox, tmp_path) as till:
            assert await start(till, "a", sandbox.terminal_id, "12.50") == 202
            assert (await sell(till, "a", sandbox.terminal_id, "12.50"))[-1]["result"] == "approved"
            assert await start(till, "a", sandbox.terminal_id, "3.00") == 409
    async with point_of_sale(sandbox, tmp_path) as till:
        assert (await sell(till, "a", sandbox.terminal_id, "3.00"))[-1]["result"] == "conflict"
    assert sandbox.ledger()["charged"] == {"a": 1}


async def test_unknown_sale(sandbox: Sandbox, tmp_path: Path) -> None:
    """The till gets "unknown" for a sale that cannot be looked up. A partial approval is not an approval."""
    async with point_of_sale(sandbox, tmp_path) as till:
        part = (await sell(till, "part", sandbox.terminal_id, "2.01"))[-1]
        assert (part["result"], part["amount"]) == ("partially approved", "1.00")
        sandbox.fault("GET /v2/transactions/{id}", "error_before_commit", times=100)
        sandbox.fault("POST /v2/routertransactions", "close_after_commit")
        assert (await sell(till, "lost", sandbox.add_terminal(), "12.50"))[-1]["result"] == "unknown"


async def test_shutdown(sandbox: Sandbox, gateway: AsyncGateway, tmp_path: Path) -> None:
    """A backend that is told to stop waits for the customer at its terminal."""
    async with running(sandbox, *POINT_OF_SALE, LEDGER=str(tmp_path / "payments.db")) as process:
        async with httpx.AsyncClient(base_url=await url_of(process), trust_env=False) as till:
            await start(till, "a", sandbox.terminal_id, "12.50")
            await sandbox.await_call()
        process.send_signal(signal.SIGTERM)
        with anyio.fail_after(PATIENCE):
            await process.wait()
    payment = await gateway.transactions.list().first()
    assert payment is not None
    assert payment.approved


async def test_moved_cards(sandbox: Sandbox, gateway: AsyncGateway, tmp_path: Path) -> None:
    """A script that was killed continues where it stopped; no card is stored twice."""
    cards, journal = tmp_path / "cards.csv", tmp_path / "moved.journal"
    rows = [f"c{number};{CARD};12/30;Zoë;-" for number in range(1500)]
    cards.write_text("\n".join([HEADER, *rows]), encoding="cp1252")
    async with running(sandbox, MOVE_CARDS, str(cards), str(journal)):
        with anyio.fail_after(PATIENCE):
            while await gateway.account_vaults.list().count() < 100:
                await anyio.sleep(0.05)
    async with running(sandbox, MOVE_CARDS, str(cards), str(journal)) as process:
        said = (await process.communicate())[0].decode()
    assert process.returncode == 0, said
    assert await gateway.account_vaults.list().count() == 1500
    assert re.search(r"\d+ stored, \d+ before\n0 rejected, 0 repeated\n0 unknown\n$", said)
    assert CARD not in said


async def test_rejected_cards(sandbox: Sandbox, tmp_path: Path) -> None:
    """The script names the lines of the first twenty rejected rows and their reasons, and no card number."""
    cards, journal = tmp_path / "cards.csv", tmp_path / "moved.journal"
    rows = [
        f"good;{CARD};12/30;Zoë;-",
        *(f"c{n};4111111111111112;12/30;;-" for n in range(22)),
        f"late;{CARD};13/30;;-",
    ]
    cards.write_text("\n".join([HEADER, *rows]), encoding="cp1252")
    async with running(sandbox, MOVE_CARDS, str(cards), str(journal)) as process:
        said = (await process.communicate())[0].decode()
    assert process.returncode == 1, said
    assert "1 stored, 0 before\n23 rejected, 0 repeated\n0 unknown\n" in said
    assert len(re.findall(r"(?m)^line \d+: account_number: ", said)) == 20
    assert said.endswith("and 3 more\n")
    assert "4111111111111112" not in said


async def test_members(sandbox: Sandbox, gateway: AsyncGateway, tmp_path: Path) -> None:
    """Each member is charged once a month, also if the script runs twice; a paused one is not."""

    async def run(*arguments: str) -> str:
        async with running(sandbox, str(EXAMPLES / "recurring_billing.py"), *arguments, folder=tmp_path) as process:
            return (await process.communicate())[0].decode()

    vault = await gateway.account_vaults.create(CardVaultCreate(account_number=CARD, exp_date="1230"))
    members = tmp_path / "members.csv"
    members.write_text(f"member,account_vault_id,amount\nann,{vault.id},12.50\nbob,{vault.id},8.00\n")
    assert (await run("start", str(members))).count("first charge on") == 2
    assert await run("start", str(members)) == ""
    assert await run("pause", "bob") == "bob: on hold\n"
    sandbox.advance(40 * 86_400)
    assert (await run("charges")).splitlines() == ["ann: 12.50 approved"] * 2
    assert await run("resume", "bob") == "bob: active\n"
    assert "no such member" in await run("pause", "eve")
