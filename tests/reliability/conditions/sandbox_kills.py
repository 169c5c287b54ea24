"""A sandbox with a database file that is killed while a client sends: what it acknowledged exists, once."""

from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final

import anyio
import httpx

from gateway_async import AsyncGateway, UserApiKey
from tests.reliability.condition import Condition, Result
from tests.reliability.continuous_traffic import OPTIONS, ContinuousTraffic
from tests.reliability.worker_programs import RestartedWorker, serve_sandbox
from tests.reliability.worker_protections import without
from tests.support.free_port import free_port

_WRITES: Final = 30
"""The maximum number of acknowledged writes before a kill."""

_DELAY_SECONDS: Final = 0.01
_SEED: Final = 20261123


def _count_effects(url: str) -> dict[str, int]:
    """Return how often each integrator id was charged or stored."""
    page = httpx.get(f"{url}/_sandbox/ledger", trust_env=False).json()
    return {**page["charged"], **page["stored"]}


async def _kill_again_and_again(server: RestartedWorker, count: int) -> Result:
    random = Random(_SEED)  # noqa: S311  no secret
    environment = {name.removeprefix("GATEWAY_").lower(): value for name, value in server.report.items()}
    gateway = AsyncGateway(
        environment["base_url"],
        developer_id=environment["developer_id"],
        credentials=UserApiKey(environment["user_id"], environment["user_api_key"]),
        location_id=environment["location_id"],
        **OPTIONS,
    )
    async with gateway:
        traffic = ContinuousTraffic(gateway)
        async with traffic.running():
            for _ in range(count):
                await traffic.wait_for(random.randint(1, _WRITES))
                await anyio.sleep(random.uniform(0, _DELAY_SECONDS))
                await anyio.to_thread.run_sync(server.restart)
    return traffic.compare(await anyio.to_thread.run_sync(_count_effects, environment["base_url"]), count)


def _kill_sandbox(count: int) -> Result:
    """Kill a sandbox so often, and compare its file with the outcomes of its client."""
    with TemporaryDirectory() as folder:
        path = str(Path(folder, "sandbox.db"))
        server = RestartedWorker(serve_sandbox, free_port(), path, reports=True)
        try:
            return anyio.run(_kill_again_and_again, server, count)
        finally:
            server.kill()


SANDBOX_KILL_CONDITIONS: Final = (
    Condition(
        key="kill-sandbox",
        text="`kill -9` of a sandbox with a database file, while a client sends",
        count=250,
        short_count=5,
        run=_kill_sandbox,
        protections=without("commit-before-response"),
    ),
)
