"""Sales at terminals while real servers stop, and while their workers are killed: each sale is charged once."""

import asyncio
import inspect
import os
import re
import signal
from contextlib import AsyncExitStack
from importlib import import_module
from pathlib import Path

import httpx
import pytest
import redis

from gateway_async import AsyncGateway, SqliteLedger
from gateway_async._execution.recorder import RECORDING_SECONDS
from gateway_async._execution.state import LOOKUP_SECONDS
from gateway_async.sandbox import Sandbox
from tests.docs.documents import ROOT, read
from tests.support.sandboxes import manual_sandbox
from tests.support.servers import REDIS, redis_only
from tests.support.waiting import PATIENCE, until

from .service_process import SERVERS, serving

box = pytest.fixture(manual_sandbox)


@pytest.fixture
def environment(box: Sandbox, tmp_path: Path) -> dict[str, str]:
    """Return the settings of a service with a ledger in a file."""
    return {**box.environment(), "LEDGER": str(tmp_path / "payments.db"), "DATABASE": "", "REDIS": ""}


def sell(till: httpx.AsyncClient, box: Sandbox, name: str = "1001") -> asyncio.Task[httpx.Response]:
    """Start a sale at the first terminal."""
    body = {"terminal_id": box.terminal_id, "amount": "12.50"}
    return asyncio.create_task(till.put(f"/sales/{name}", json=body))


def charged(box: Sandbox) -> dict[str, int]:
    """Return how often each sale was charged."""
    times: dict[str, int] = box.ledger()["charged"]
    return times


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.asyncio
async def test_stop(server: str, box: Sandbox, environment: dict[str, str], tmp_path: Path) -> None:
    """With the grace of the document, the customer pays after SIGTERM, the till gets the response, the status is 0."""
    async with serving(server, tmp_path, environment) as (service, till):
        sale = sell(till, box)
        await box.await_call(timeout=PATIENCE)
        await service.until_stopping()
        box.present()
        assert (await sale).json() == {"sale": "1001", "status": "approved"}
        assert await service.exit_status() == 0
    assert charged(box) == {"1001": 1}


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.asyncio
async def test_short_grace(server: str, box: Sandbox, environment: dict[str, str], tmp_path: Path) -> None:
    """With a grace of one second, the server ends before the customer pays; the next `recover()` finds the payment."""
    async with serving(server, tmp_path, environment, grace=1) as (service, till):
        sale = sell(till, box)
        await box.await_call(timeout=PATIENCE)
        await service.until_stopping()
        assert await service.exit_status() == 0
        (failure,) = await asyncio.gather(sale, return_exceptions=True)
        assert isinstance(failure, httpx.RemoteProtocolError) or failure.status_code == 500  # type: ignore[union-attr]
    box.present()
    async with box.gateway(ledger=SqliteLedger(environment["LEDGER"])) as gateway:
        (recovered,) = await gateway.recover(wait=10)
    assert (recovered.api_id, recovered.outcome) == ("1001", "found")
    assert charged(box) == {"1001": 1}


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.asyncio
async def test_killed_worker(server: str, box: Sandbox, environment: dict[str, str], tmp_path: Path) -> None:
    """The new worker finds the payment of the killed one; the same request then gets it, without a second charge."""
    async with serving(server, tmp_path, environment) as (service, till):
        worker = (await till.get("/live")).json()["worker"]
        sale = sell(till, box)
        await box.await_call(timeout=PATIENCE)
        os.kill(worker, signal.SIGKILL)
        with pytest.raises(httpx.TransportError):
            await sale
        box.present()
        await until(lambda: service.count("1001, outcome found"))
        assert service.count("Application startup complete") == 3
        while (response := (await sell(till, box)).json())["status"] == "try again":
            pass  # the terminal is busy until the outcome is in the ledger
        assert response == {"sale": "1001", "status": "approved"}
        assert (await till.get("/ready")).json() == {"problems": [], "open_intents": 0, "calls_in_progress": 0}
    assert charged(box) == {"1001": 1}


@redis_only
@pytest.mark.asyncio
async def test_two_workers_use_a_terminal_one_after_the_other(
    box: Sandbox, environment: dict[str, str], tmp_path: Path
) -> None:
    async with (
        serving("uvicorn", tmp_path, environment | {"REDIS": REDIS}) as (service, till),
        AsyncExitStack() as stack,
    ):
        tills = {(await till.get("/live")).json()["worker"]: till}
        while len(tills) < 2:
            other = await stack.enter_async_context(
                httpx.AsyncClient(base_url=service.url, timeout=PATIENCE, trust_env=False)
            )
            tills[(await other.get("/live")).json()["worker"]] = other
        first, second = (sell(each, box, name) for each, name in zip(tills.values(), ("1001", "1002"), strict=True))
        shown = (await box.await_call(timeout=PATIENCE))["api_id"]
        with redis.Redis.from_url(REDIS) as store:
            await until(lambda: store.zcard(f"gateway_async:{{{box.terminal_id}}}:queue"))
        assert [len(each["waiting"]) for each in box.terminals()] == [1]
        box.present()
        assert (await (first if shown == "1001" else second)).status_code == 200
        await box.await_call(timeout=PATIENCE)
        box.present()
        assert (await first).json()["status"] == (await second).json()["status"] == "approved"
    assert charged(box) == {"1001": 1, "1002": 1}


@pytest.mark.asyncio
async def test_partial_approval(monkeypatch: pytest.MonkeyPatch) -> None:
    """The till gets the amount that the issuer approved, also if it asks again."""
    monkeypatch.syspath_prepend(ROOT / "examples")
    app = import_module("terminal_service").app
    async with (
        Sandbox(terminal_delay=0) as box,
        box.gateway() as app.state.gateway,
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://service.test") as till,
    ):
        body = {"terminal_id": box.terminal_id, "amount": "2.01"}
        for _ in range(2):
            response = await till.put("/sales/1001", json=body)
            assert response.json() == {"sale": "1001", "status": "partially approved", "amount": "1.00"}


def test_graces() -> None:
    """Each grace of the document is above the time of a terminal call, and that of a container above its server's."""
    document = read("docs/guides/deployment.md")
    server = {int(seconds) for seconds in re.findall(r"graceful-(?:shutdown|timeout)\"?,? \"?(\d+)", document)}
    container = re.findall(r"(?:terminationGracePeriodSeconds|stop_grace_period): (\d+)", document)
    call = inspect.signature(AsyncGateway).parameters["terminal_timeout"].default + LOOKUP_SECONDS + RECORDING_SECONDS
    assert len(container) == 2
    assert call < min(server) <= max(server) < min(map(int, container))
