"""Run a sandbox in a separate process, so that a benchmark measures only the client."""

import contextlib
import json
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
from cores import on_server_core

from gateway_async import AsyncGateway, UserApiKey

STOP_WITHIN = 10


@contextlib.contextmanager
def sandbox_process(*options: str) -> Iterator[dict[str, Any]]:
    """Start `gateway-async sandbox`, yield the facts that it prints, and terminate it."""
    command = [sys.executable, "-m", "gateway_async.cli", "sandbox", "--port", "0", "--json", *options]
    with on_server_core():
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())
    finally:
        process.terminate()
        process.wait(STOP_WITHIN)


def client_of(facts: dict[str, Any], **options: Any) -> AsyncGateway:
    """Make a client with the sandbox's credentials."""
    return AsyncGateway(
        facts["base_url"],
        developer_id=facts["developer_id"],
        credentials=UserApiKey(facts["user_id"], facts["user_api_key"]),
        location_id=facts["location_id"],
        **options,
    )


def control(facts: dict[str, Any], method: str, path: str, content: Any = None) -> Any:
    """Call an admin endpoint of the sandbox, and return its JSON."""
    answer = httpx.request(method, f"{facts['base_url']}/_sandbox/{path}", json=content, timeout=120)
    answer.raise_for_status()
    return answer.json() if answer.content else None


def peak_kib() -> int:
    """Return the peak memory of this process, in KiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def resident_kib() -> int:
    """Return the current memory of this process, in KiB."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1])
