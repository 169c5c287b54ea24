"""A sandbox with a database file that is killed while a client sends: what it acknowledged exists, once."""

from collections.abc import Mapping
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final

import anyio
import httpx

from gateway_async import AsyncGateway, UserApiKey
from tests.reliability.condition import Condition, Result
from tests.reliability.continuous_traffic import OPTIONS, ContinuousTraffic
from tests.reliability.worker_programs import serve_sandbox, start_worker
from tests.reliability.worker_protections import without
from tests.support.free_port import free_port

__all__ = ["SANDBOX_KILL_CONDITIONS"]

_WRITES: Final = 30
"""The maximum number of acknowledged writes before a kill."""

_DELAY_SECONDS: Final = 0.01
_SEED: Final = 20261123


class _Server:
    """A sandbox in a process, one after the other on the same file and port."""

    def __init__(self, folder: str) -> None:
        self._settings = (free_port(), str(Path(folder, "sandbox.db")))
        self.start()

    def start(self) -> None:
        """Start it, and wait until it serves."""
        self._worker = start_worker(serve_sandbox, *self._settings)
        self.environment: Mapping[str, str] = self._worker.receive()

    def restart(self) -> None:
        """Kill it and start the next."""
        self.kill()
        self.start()

    def kill(self) -> None:
        """Kill it."""
        self._worker.crash()

    def count_effects(self) -> dict[str, int]:
        """Return how often each integrator id was charged or stored."""
        page = httpx.get(f"{self.environment['GATEWAY_BASE_URL']}/_sandbox/ledger", trust_env=False).json()
        return {**page["charged"], **page["stored"]}


async def _kill_again_and_again(server: _Server, count: int) -> Result:
    random = Random(_SEED)  # noqa: S311  no secret
    environment = {name.removeprefix("GATEWAY_").lower(): value for name, value in server.environment.items()}
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
    return traffic.compare(await anyio.to_thread.run_sync(server.count_effects), count)


def _kill_sandbox(count: int) -> Result:
    """Kill a sandbox so often, and compare its file with the outcomes of its client."""
    with TemporaryDirectory() as folder:
        server = _Server(folder)
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
